"""Settings that the first seed has chosen are those of all seeds, whose runs are those of a study without a search."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec

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
        "trials": 2,
        "folds": 2,
        "grid": {"scratch": {"lr": [0.001, 0.05]}, "fine-tune": {"lr_scale": [0.01, 1.0]}},
    },
}


def spec(tmp_path: Path, **tables: object) -> StudySpec:
    return parse_spec({**SPEC, "store": str(tmp_path / "s.sqlite"), **tables}, place="the test")


def predictions(store: Store, name: str) -> dict[tuple[str, int], np.ndarray]:
    found = store.arrays(name, "predictions")
    cells = [one.cell for one in store.cells(name) if one.cell.role == "method"]
    return {(str(cell.labels["method"]), int(str(cell.labels["seed"]))): found[cell.key] for cell in cells}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, float]]]:
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
    searched: tuple[Path, dict[str, dict[str, float]]], tmp_path: Path
) -> None:
    folder, chosen = searched
    given = spec(tmp_path, name="given", tuning={"trials": 1, "grid": {}})
    given = replace(
        given,
        training=replace(given.training, lr=chosen["scratch"]["lr"]),
        methods={"scratch": given.methods["scratch"]},
    )
    with Store.open(tmp_path / "given.sqlite") as other, Store.open(folder / "s.sqlite") as store:
        run_study(given, other)
        once, outright = predictions(store, "once"), predictions(other, "given")
        for seed in (0, 1, 2):
            np.testing.assert_array_equal(once["scratch", seed], outright["scratch", seed])


def test_every_seed_chooses_for_itself_where_that_is_asked_for(tmp_path: Path) -> None:
    tuning = {"trials": 2, "folds": 2, "draw": "each", "grid": {"scratch": {"lr": [0.001, 0.05]}}}
    with Store.open(tmp_path / "s.sqlite") as store:
        run_study(spec(tmp_path, tuning=tuning, methods={"scratch": {}}), store)
        assert all("chosen" in one.notes for one in store.cells("once"))
        assert all(not one.cell.needs for one in store.cells("once"))
