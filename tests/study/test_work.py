"""Real cells, on small data: what one leaves behind."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies import tables
from transferscope.data.task import TransferTask
from transferscope.errors import CorruptDataError
from transferscope.methods import FineTune, FitOptions, Fitted
from transferscope.methods.scratch import Scratch
from transferscope.models.network import Network
from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import CHOSEN, WorkContext
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec
from transferscope.study.work import work


def run(study: Mapping[str, Any], folder: Path) -> dict[str, tuple[PlannedCell, Outcome]]:
    plan = plan_study(parse_spec(study))
    context = WorkContext(folder, device="cpu")
    return {str(cell.labels["method"]): (cell, work(cell, context)) for cell in plan.cells}


def scratch(folder: Path, **changes: Any) -> Outcome:
    """What training from scratch leaves in such a study."""
    return run(tables(folder, methods={"scratch": {}}, **changes), folder)["scratch"][1]


def searched(**axes: list[float]) -> dict[str, Any]:
    """A search of training from scratch."""
    return {"grid": {"scratch": axes}}


def final(outcome: Outcome) -> dict[tuple[str, str], float]:
    return {(r.name, r.part): r.estimate.value for r in outcome.records if r.step is None}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[PlannedCell, Outcome]]:
    """The cells of a study with what they left."""
    folder = tmp_path_factory.mktemp("work")
    return run(tables(folder), folder)


def test_a_study_cell_by_cell(done: dict[str, tuple[PlannedCell, Outcome]]) -> None:
    assert set(done) == {"pretrain", "scratch", "linear-probe", "joint"}
    labels = np.arange(40, 60) % 3
    for name in ("scratch", "linear-probe", "joint"):
        _, outcome = done[name]
        numbers, predictions = final(outcome), outcome.arrays["predictions"]
        assert {("accuracy", "target_test"), ("loss", "target_test"), ("accuracy", "target_train")} <= set(numbers)
        assert predictions.dtype == np.int32
        assert numbers["accuracy", "target_test"] == np.mean(predictions == labels)
        assert outcome.notes["budget"] == {"steps": 10, "batch_size": 64}
    assert ("accuracy", "source_test") not in final(done["scratch"][1])


def test_a_frozen_network_keeps_what_pretraining_learnt(done: dict[str, tuple[PlannedCell, Outcome]]) -> None:
    before, after = final(done["pretrain"][1]), final(done["linear-probe"][1])
    assert after["accuracy", "source_test"] == before["accuracy", "source_test"] > 0.8
    assert after["accuracy", "source_test/same"] == before["accuracy", "source_test"]


def test_a_cell_done_twice_has_one_answer_and_leaves_no_checkpoint(
    done: dict[str, tuple[PlannedCell, Outcome]], tmp_path: Path
) -> None:
    assert run(tables(tmp_path), tmp_path)["joint"][1].records == done["joint"][1].records
    assert not list(tmp_path.glob("*.partial"))


def test_a_search_leaves_its_trials_in_the_notes_its_time_in_the_cost_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each training is said to take two seconds."""
    fit = Scratch.fit

    def timed(self: Scratch, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        fitted = fit(self, task, network, options)
        return replace(fitted, cost=replace(fitted.cost, seconds=2.0))

    monkeypatch.setattr(Scratch, "fit", timed)
    assert scratch(tmp_path, training={"steps": 90}).cost.seconds == 2
    outcome = scratch(tmp_path, tuning=searched(lr=[1e-6, 0.1, 1e-7]), training={"steps": 90})
    assert outcome.notes["chosen"] == outcome.notes["trials"][0]["settings"] == {"lr": 0.1}
    assert [trial["risk"]["n"] for trial in outcome.notes["trials"]] == [3, 2, 1]
    assert outcome.notes["tuning_cost"]["steps"] == 6 * 30
    assert outcome.notes["tuning_cost"]["seconds"] > 0
    assert outcome.cost.seconds == 2 + outcome.notes["tuning_cost"]["seconds"]
    assert not list(tmp_path.glob("*.trials"))


def test_settings_that_diverge_on_all_labels_give_way_to_the_next_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, rates = Scratch.fit, []

    def diverging(self: Scratch, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        fitted = fit(self, task, network, options)
        if options.checkpoint is None:  # a trial
            return fitted
        rates.append(options.training.lr)
        return replace(fitted, status="non_finite") if options.training.lr >= 0.1 else fitted

    monkeypatch.setattr(Scratch, "fit", diverging)
    found = scratch(tmp_path, tuning=searched(lr=[0.1, 0.05, 1e-7, 1e-6]), training={"steps": 90})
    monkeypatch.undo()
    alone = scratch(tmp_path, training={"steps": 90, "lr": 0.05})
    assert rates == [0.1, 0.05]
    assert (found.notes["chosen"], found.notes["diverged"]) == ({"lr": 0.05}, [{"lr": 0.1}])
    assert np.array_equal(found.arrays["predictions"], alone.arrays["predictions"])
    assert found.notes["tuning_cost"]["steps"] == (4 + 2 + 1) * 30 + 90


def test_the_next_best_settings_do_not_go_on_from_the_training_that_diverged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run keeps its state on the way, and methods may differ in a setting of their own alone."""
    fit = FineTune.fit

    def diverging(self: FineTune, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        fitted = fit(self, task, network, options)
        return replace(fitted, status="non_finite") if options.checkpoint is not None and self.lr_scale == 1 else fitted

    asked: dict[str, Any] = {"training": {"steps": 30}, "diagnostics": {"weights": {"every": 8}}}
    tuning = {"grid": {"fine-tune": {"lr_scale": [1.0, 0.01]}}}
    context = WorkContext(tmp_path, device="cpu")
    given = plan_study(parse_spec(tables(tmp_path, methods={"fine-tune": {"lr_scale": 0.01}}, **asked)))
    alone = {cell.role: work(cell, context) for cell in given.cells}
    monkeypatch.setattr("transferscope.study.fitting.FitOptions", partial(FitOptions, checkpoint_seconds=-1.0))
    monkeypatch.setattr(FineTune, "fit", diverging)
    study = parse_spec(tables(tmp_path, methods={"fine-tune": {}}, tuning=tuning, **asked))
    _, fit_cell, look = plan_study(study).cells
    found = work(fit_cell, context)
    assert found.notes["diverged"] == [{"lr_scale": 1.0}]
    assert np.array_equal(found.arrays["predictions"], alone["method"].arrays["predictions"])
    assert not list(tmp_path.glob("*.partial"))
    monkeypatch.setattr(FineTune, "fit", fit)
    looked = work(replace(look, payload={**look.payload, CHOSEN: found.notes["chosen"]}), context)
    assert looked.records == alone["diagnose"].records


def test_a_network_whose_last_step_made_its_outputs_infinite_has_failed(tmp_path: Path) -> None:
    found = scratch(tmp_path, training={"steps": 1, "lr": 1e30})
    assert found.notes["status"] == "non_finite"  # the one loss, before the step, is finite


def with_other_labels(path: Path) -> np.ndarray:
    """Change the labels of the test examples in a file; the labels before."""
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "y_test": (arrays["y_test"] + 1) % 3})
    labels: np.ndarray = arrays["y_test"]
    return labels


@pytest.mark.long
def test_settings_are_chosen_without_a_look_at_the_test_labels(tmp_path: Path) -> None:
    study = tables(tmp_path, tuning=searched(lr=[0.01, 0.001, 0.1]), methods={"scratch": {}}, training={"steps": 90})
    before = run(study, tmp_path)["scratch"][1]
    with_other_labels(tmp_path / "target.npz")
    after = run(study, tmp_path)["scratch"][1]
    assert final(after)["accuracy", "target_test"] != final(before)["accuracy", "target_test"]
    assert after.notes["trials"] == before.notes["trials"]
    assert np.array_equal(after.arrays["predictions"], before.arrays["predictions"])


def test_too_few_labels_for_a_search_are_noted(tmp_path: Path) -> None:
    target = {"data": f"npz:{tmp_path / 'target.npz'}", "labels": [11]}
    found, usual = scratch(tmp_path, target=target, tuning=searched(lr=[0.01, 0.1])), scratch(tmp_path, target=target)
    assert (found.notes["labels_needed"], found.notes["chosen"], found.notes["trials"]) == (12, {}, [])
    assert np.array_equal(found.arrays["predictions"], usual.arrays["predictions"])


def test_a_network_file_as_source(tmp_path: Path) -> None:
    cell, _ = run(tables(tmp_path), tmp_path)["pretrain"]
    sources = {"mine": {"network": str(tmp_path / f"{cell.key}.safetensors")}}
    done = run(tables(tmp_path, sources=sources, methods={"linear-probe": {}, "fine-tune": {}}), tmp_path)
    assert set(done) == {"linear-probe", "fine-tune"}
    assert done["linear-probe"][0].labels["source"] == "mine"


def test_an_unknown_role_is_refused(tmp_path: Path) -> None:
    cell = PlannedCell("key", "theory", {}, {})
    with pytest.raises(ValueError, match=r"^a cell has the role 'theory'; expected one of pretrain, method, diagnose$"):
        work(cell, WorkContext(tmp_path))


def test_a_data_file_that_has_changed_is_read_again_in_the_same_process(tmp_path: Path) -> None:
    study = tables(tmp_path, methods={"scratch": {}}, pretraining={"steps": 1})
    before = run(study, tmp_path)["scratch"]
    labels = with_other_labels(tmp_path / "target.npz")
    after = run(study, tmp_path)["scratch"]
    assert after[0].key != before[0].key
    accuracies = [final(outcome)["accuracy", "target_test"] for _, outcome in (before, after)]
    predictions = [outcome.arrays["predictions"] for _, outcome in (before, after)]
    assert accuracies == pytest.approx([np.mean(predictions[0] == labels), np.mean(predictions[1] == (labels + 1) % 3)])


@pytest.mark.parametrize("name", ["target", "source"])
def test_data_that_change_after_a_study_was_planned_are_refused(tmp_path: Path, name: str) -> None:
    """As where a worker reads a file again that somebody has overwritten meanwhile."""
    plan = plan_study(parse_spec(tables(tmp_path)))
    (cell,) = [one for one in plan.cells if one.labels["method"] == ("scratch" if name == "target" else "pretrain")]
    arrays = dict(np.load(tmp_path / f"{name}.npz"))
    arrays["x_train"][0, 0] += 1.0
    np.savez(tmp_path / f"{name}.npz", **arrays)
    with pytest.raises(CorruptDataError, match=f"{name}.npz have changed since the study was planned with them"):
        work(cell, WorkContext(tmp_path, device="cpu"))
