"""Diagnostics as cells of a study: what they measure, on which networks, and what they do without files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from studies import tables
from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope.models.weights import read_notes
from transferscope.store import Outcome, PlannedCell
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import CHOSEN, KEEP, WorkContext
from transferscope.study.facts import load_data
from transferscope.study.fitting import task_of
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec
from transferscope.study.work import work
from transferscope.trained import load_model
from transferscope.training import PixelScale

LOOKS = {
    "weights": {"every": 4},
    "class-separation": {"part": "target_test", "at": ["start", "end"]},
    "kernel-distance": {},
}
METHODS = {"scratch": {}, "fine-tune": {}, "linear-probe": {}, "merlin": {"target_batch": 8}}

Done = dict[tuple[str, str], tuple[PlannedCell, Outcome]]


def run(study: Mapping[str, Any], folder: Path) -> Done:
    context = WorkContext(folder, device="cpu")
    cells = plan_study(parse_spec(study)).cells
    return {
        (str(cell.labels["method"]), str(cell.labels.get("diagnostic", ""))): (cell, work(cell, context))
        for cell in cells
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def done(folder: Path) -> Done:
    return run(tables(folder, methods=METHODS, diagnostics=LOOKS), folder)


def value(outcome: Outcome, name: str, step: int | None = None) -> float:
    found: list[Estimate] = [r.estimate for r in outcome.records if (r.name, r.step) == (name, step)]
    assert len(found) == 1
    return found[0].value


def test_weight_deviation_is_the_distance_between_the_files_that_are_kept(done: Done, folder: Path) -> None:
    for method in METHODS:
        key = done[method, ""][0].key
        start, end = load_file(folder / f"{key}.step0.safetensors"), load_file(folder / f"{key}.safetensors")
        distances = [float((end[name] - start[name]).double().norm()) for name in start if name.endswith("weight")]
        measured = value(done[method, "weights"][1], "weight_deviation")
        assert measured == pytest.approx(sum(distances) / np.sqrt(12), rel=1e-5)  # 12 target labels


def test_the_files_of_a_study_know_how_their_inputs_are_scaled(done: Done, folder: Path) -> None:
    for method in METHODS:
        cell = done[method, ""][0]
        train = task_of(cell, MethodRecipe.from_payload(cell.payload)).target.train
        inputs = train.inputs.astype(np.float64) / (255 if train.inputs.dtype == np.uint8 else 1)
        axes = (0, *range(2, inputs.ndim))
        for file in (f"{cell.key}.safetensors", f"{cell.key}.step0.safetensors"):
            noted = PixelScale.from_notes(read_notes(folder / file))
            np.testing.assert_allclose(noted.mean, inputs.mean(axis=axes), rtol=1e-5, atol=1e-6)
            spread = inputs.std(axis=axes)
            np.testing.assert_allclose(noted.std[spread > 1e-3], spread[spread > 1e-3], rtol=1e-4)


def test_steps_are_those_asked_for_and_the_end_has_none(done: Done) -> None:
    def steps(method: str, diagnostic: str) -> list[int | None]:
        return list(dict.fromkeys(record.step for record in done[method, diagnostic][1].records))

    assert steps("scratch", "weights") == [0, 4, 8, None]  # 10 steps of training
    assert steps("scratch", "class-separation") == [0, None]
    assert steps("linear-probe", "weights") == [0, None]  # a probe takes no steps
    assert value(done["scratch", "weights"][1], "weight_deviation", 0) == 0.0
    assert value(done["scratch", "weights"][1], "weight_deviation", 4) > 0.0


def test_the_start_is_the_pretrained_backbone(done: Done, folder: Path) -> None:
    pretrained = load_file(folder / f"{done['pretrain', ''][0].key}.safetensors")
    for method in ("fine-tune", "linear-probe"):
        start = load_file(folder / f"{done[method, ''][0].key}.step0.safetensors")
        backbone = {name: tensor for name, tensor in start.items() if name.startswith("features.")}
        assert backbone
        assert all(torch.equal(tensor, pretrained[name]) for name, tensor in backbone.items())


def test_a_diagnostic_keeps_facts(done: Done) -> None:
    notes = done["fine-tune", "class-separation"][1].notes
    assert notes["headline"] == "variance_ratio"
    assert not {"sentence", "limits", "note"} & notes.keys()  # words are made when they are shown
    assert notes["last_step"] == 10


def test_keeping_networks_changes_no_result(done: Done, tmp_path: Path) -> None:
    plain = run(tables(tmp_path, methods=METHODS), tmp_path)
    for method in METHODS:
        assert plain[method, ""][1].records == done[method, ""][1].records
    assert not list(tmp_path.glob("*.step*"))


@pytest.mark.long
def test_a_diagnostic_asked_for_later_trains_the_same_networks_again(done: Done, tmp_path: Path) -> None:
    study = tables(tmp_path, methods=METHODS)
    run(study, tmp_path)  # keeps no networks but the pretrained one
    context = WorkContext(tmp_path, device="cpu")
    for cell in plan_study(parse_spec({**study, "diagnostics": LOOKS})).cells:
        if cell.role == "diagnose":
            later = work(cell, context)
            first = done[str(cell.labels["method"]), str(cell.labels["diagnostic"])][1]
            assert repr(later.records) == repr(first.records)  # NaN is not equal to itself
    assert not list(tmp_path.glob("*.partial"))


def test_other_networks_are_kept_only_where_they_are_missing(done: Done, folder: Path) -> None:
    cell, outcome = done["scratch", "weights"]
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}
    again = work(cell, WorkContext(folder, device="cpu"))
    assert repr(again.records) == repr(outcome.records)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")} == before


def test_methods_start_from_the_checkpoints_of_pretraining(tmp_path: Path) -> None:
    study = tables(tmp_path, methods={"linear-probe": {}}, pretraining={"steps": 60, "lr": 0.1, "checkpoints": [20]})
    context = WorkContext(tmp_path, device="cpu")
    cells = plan_study(parse_spec(study)).cells
    outcomes = {cell.labels.get("pretrain_step", cell.role): (cell, work(cell, context)) for cell in cells}
    assert set(outcomes) == {"pretrain", "method", 20}
    early = replace(outcomes["method"][0], labels={**outcomes["method"][0].labels})
    file = tmp_path / f"{early.needs[0]}.step20.safetensors"
    file.replace(tmp_path / f"{early.needs[0]}.safetensors")  # the early network in the place of the last
    assert work(early, context).records == outcomes[20][1].records


@pytest.mark.parametrize(
    ("labels", "kind"), [(np.arange(24.0), "regression"), (np.arange(24)[:, None] % [2, 3] == 0, "multi-label")]
)
def test_labels_that_a_diagnostic_does_not_read_are_refused_before_anything_runs(
    labels: np.ndarray, kind: str, tmp_path: Path
) -> None:
    inputs = np.random.default_rng(0).normal(size=(24, 3))
    np.savez(tmp_path / "own.npz", x_train=inputs, y_train=labels, x_test=inputs, y_test=labels)
    target = {"data": f"npz:{tmp_path}/own.npz"}
    study = tables(tmp_path, target=target, methods={"scratch": {}}, diagnostics={"class-separation": {}})
    said = (
        rf"^\[diagnostics.class-separation\] .* needs labels of classification, but these are of {kind}; leave it out$"
    )
    with pytest.raises(DataError, match=said):
        load_data(parse_spec(study))


def fit_and_look(folder: Path, **changes: Any) -> tuple[PlannedCell, PlannedCell, WorkContext]:
    """A run from scratch and the diagnostic of its weights every four steps."""
    study = tables(folder, methods={"scratch": {}}, diagnostics={"weights": {"every": 4}}, **changes)
    fit, look = plan_study(parse_spec(study)).cells
    return fit, look, WorkContext(folder, device="cpu")


def test_networks_that_an_interrupted_diagnostic_made_again_in_part_are_made_again(tmp_path: Path) -> None:
    """The run's own network is whole, and so are the first ones on its way."""
    _, look, context = fit_and_look(tmp_path)
    expected = work(look, context).records
    context.snapshot(look.needs[-1], 8).unlink()
    assert work(look, context).records == expected
    assert {record.step for record in expected} == {0, 4, 8, None}


def test_a_diagnostic_does_not_go_on_from_a_state_whose_networks_have_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is dropped from its study after an interruption, and asked for again once that was tidied up."""
    monkeypatch.setattr("transferscope.training.loop.CHECK_EVERY", 5)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    _, look, context = fit_and_look(tmp_path)
    expected = work(look, context).records
    for taken in (True, False):
        for file in tmp_path.glob(f"{look.needs[-1]}.*"):
            file.unlink()
        if taken:
            with pytest.raises(KeyboardInterrupt):
                work(look, replace(context, progress=stop))
            assert context.checkpoint(look.key).exists()
    assert work(look, context).records == expected


def test_a_diagnostic_that_makes_networks_again_leaves_what_is_said_of_the_one_that_is_kept(tmp_path: Path) -> None:
    _, look, context = fit_and_look(tmp_path)
    (fit,) = plan_study(parse_spec(tables(tmp_path, methods={"scratch": {}}))).cells
    work(replace(fit, payload={**fit.payload, KEEP: "the study"}), context)
    file = context.network(fit.key)
    before = load_model(file).card
    work(look, context)
    assert context.snapshots(fit.key)
    assert load_model(file).card == before


def test_the_end_of_a_run_is_at_the_steps_that_were_chosen_for_it(tmp_path: Path) -> None:
    fit, look, context = fit_and_look(tmp_path, tuning={"grid": {"scratch": {"steps": [10]}}})
    chosen = work(fit, context).notes["chosen"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")}
    outcome = work(replace(look, payload={**look.payload, CHOSEN: chosen}), context)
    assert outcome.notes["last_step"] == 10
    assert {record.step for record in outcome.records} == {0, 4, 8, None}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")} == before
