"""Settings that the first seed has chosen are those of all seeds, whose runs are those of a study without a search."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transferscope.records import Failure
from transferscope.store import Store, StudyCounts
from transferscope.study.export import export
from transferscope.study.plan import plan_study
from transferscope.study.run import plan_into, run_study, work_on
from transferscope.study.spec import StudySpec, parse_spec
from transferscope.study.status import edited_plan

SPEC = {
    "name": "once",
    "seeds": 3,
    "target": {"data": "digits", "labels": [40]},
    "sources": {"glyphs": {"data": "glyphs?n_train=200&size=8"}},
    "network": {"name": "mlp"},
    "pretraining": {"steps": 10},
    "training": {"steps": 20, "lr": 0.01},
    "methods": {"scratch": {}, "fine-tune": {}},
    "engine": {"workers": 0},
    "tuning": {
        # two of four each, in another order than that of the alphabet, in which stored tables come back
        "grid": {name: {"weight_decay": [0.0, 0.1], "lr": [0.001, 0.05]} for name in ("scratch", "fine-tune")},
    },
}


def spec(tmp_path: Path, **tables: object) -> StudySpec:
    return parse_spec({**SPEC, "store": str(tmp_path / "s.sqlite"), **tables}, place="the test")


def predictions(store: Store, name: str) -> dict[tuple[str, int], np.ndarray]:
    found = store.arrays(name, "predictions")
    cells = [one.cell for one in store.cells(name) if one.cell.role == "method"]
    return {(str(cell.labels["method"]), int(str(cell.labels["seed"]))): found[cell.key] for cell in cells}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    """A study that has been run, and what the first seed of each method has chosen."""
    folder = tmp_path_factory.mktemp("once")
    with Store.open(folder / "s.sqlite") as store:
        run_study(spec(folder), store)
        cells = [one for one in store.cells("once") if one.cell.role == "method"]
        chosen = {str(one.cell.labels["method"]): one.notes["chosen"] for one in cells if "chosen" in one.notes}
        assert all(("chosen" in one.notes) == (one.cell.labels["seed"] == 0) for one in cells)
        assert all(one.state == "done" for one in cells)
    return folder, chosen


def test_other_seeds_are_those_of_a_study_with_these_settings(
    searched: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    folder, chosen = searched
    given = spec(tmp_path, name="given", tuning={"grid": {}})
    given = replace(
        given,
        training=replace(given.training, **chosen["scratch"]),
        methods={"scratch": given.methods["scratch"]},
    )
    with Store.open(tmp_path / "given.sqlite") as other, Store.open(folder / "s.sqlite") as store:
        run_study(given, other)
        once, outright = predictions(store, "once"), predictions(other, "given")
        for seed in (0, 1, 2):
            np.testing.assert_array_equal(once["scratch", seed], outright["scratch", seed])


@pytest.mark.parametrize("keep", ["all", "none"])
def test_runners_that_read_cells_from_the_store_and_exports_start_from_the_same_networks(
    searched: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path, keep: str
) -> None:
    """A run of another seed needs its pretraining and the run of the first seed, which was planned before that."""
    study = spec(tmp_path, engine={"workers": 0, "keep": keep})
    with Store.open(searched[0] / "s.sqlite") as store:
        expected = predictions(store, "once")
    with Store.open(tmp_path / "s.sqlite") as store:
        planned = plan_study(study)
        plan_into(planned, store)
        assert [one.cell.needs for one in store.cells("once")] == [cell.needs for cell in planned.cells]
        work_on("once", store, engine=study.engine)
        found = predictions(store, "once")
    for run, own in expected.items():
        np.testing.assert_array_equal(found[run], own)
    exported = export(tmp_path / "s.sqlite", tmp_path / "network", method="fine-tune", seed=2)
    assert exported.trained_again == (keep == "none")
    assert exported.n_equal == exported.n_test


def test_a_diagnostic_asked_for_later_measures_networks_with_the_settings_of_their_runs(tmp_path: Path) -> None:
    grid = {"scratch": {"lr": [0.04, 0.05, 0.06, 0.07, 0.09, 0.1]}}  # of which each seed would choose another
    asked: dict[str, Any] = {"tuning": {"grid": grid}, "methods": {"scratch": {}}}
    found = []
    planned: dict[str, list[dict[str, Any]]] = {"together": [{"weights": {}}], "later": [{}, {"weights": {}}]}
    for name, parts in planned.items():
        with Store.open(tmp_path / f"{name}.sqlite") as store:
            for diagnostics in parts:
                run_study(spec(tmp_path, diagnostics=diagnostics, **asked), store)
            measured = {one.cell.key for one in store.cells("once") if one.cell.role == "diagnose"}
            records = store.records("once")
            found.append([pair for pair in zip(records.key, records.value, strict=True) if pair[0] in measured])
    assert found[0] == found[1]
    assert len(measured) == 3


def test_what_waits_for_a_run_that_cannot_be_done_is_counted_as_the_store_counts_it(tmp_path: Path) -> None:
    """Without its pretraining the first seed chooses nothing, for which those of other seeds wait."""
    with Store.open(tmp_path / "s.sqlite") as store:
        planned = plan_study(spec(tmp_path, seeds=2))
        plan_into(planned, store)
        store.fail(planned.cells[0].key, Failure("exception", "odd"))
        edited = edited_plan(spec(tmp_path), store)
        larger = plan_study(spec(tmp_path))
        store.plan(larger.study, larger.cells)
        assert edited.counts == store.counts("once") == StudyCounts(planned=5, failed=1, blocked=3)
