from dataclasses import replace

import pytest
from sklearn.metrics import confusion_matrix

from comparisons import candidate
from transferscope.analyses.compare.figures import class_errors, draw_classes, draw_overview
from transferscope.analyses.compare.summary import Summary


def test_errors_by_class_are_those_of_the_confusion_matrix(summary: Summary) -> None:
    frames = summary.frames
    errors = class_errors(frames)
    cells = frames.method_cells
    chosen = cells[(cells["method"] == "joint") & (cells["source"] == "mnist") & (cells["n_target"] == 50)]
    per_seed = [confusion_matrix(frames.test_labels, frames.predictions[key]) for key in chosen["key"]]
    expected = sum(1 - matrix.diagonal() / matrix.sum(axis=1) for matrix in per_seed) / len(per_seed)
    own = errors[(errors["method"] == "joint") & (errors["source"] == "mnist") & (errors["n_target"] == 50)]
    assert own["error"].tolist() == pytest.approx(expected.tolist())


def test_class_errors_weighted_by_class_give_the_error(summary: Summary) -> None:
    errors = class_errors(summary.frames)
    own = errors[(errors["method"] == "scratch") & (errors["n_target"] == 200)]
    scratch = next(c for c in summary.comparisons if c.call == "baseline" and c.n_target == 200)
    weighted = (own["error"] * own["n_examples"]).sum() / own["n_examples"].sum()
    assert weighted == pytest.approx(1 - scratch.score.value)


def test_without_predictions_there_is_no_figure(summary: Summary) -> None:
    assert draw_classes(replace(summary, frames=replace(summary.frames, predictions={}))) is None
    assert draw_classes(replace(summary, frames=replace(summary.frames, test_labels=None))) is None


def test_a_control_far_below_is_a_number_at_the_edge_and_stretches_nothing(summary: Summary) -> None:
    *ways, last = [c for c in summary.comparisons if c.n_target == 50 and c.difference]
    far = replace(last, is_control=True, difference=candidate("do-nothing", -0.6, "negative").difference)
    near, both = (draw_overview(replace(summary, comparisons=tuple(found))) for found in (ways, [*ways, far]))
    assert near is not None
    assert both is not None
    (without,), (beside,) = near.canvas.axes, both.canvas.axes
    assert beside.get_xlim() == without.get_xlim()
    assert "◂ −60.0" in {text.get_text() for text in beside.texts}
    assert not any(text.get_text().startswith("◂") for text in without.texts)


def test_controls_alone_are_drawn_however_bad_they_are(summary: Summary) -> None:
    last = [c for c in summary.comparisons if c.n_target == 50 and c.difference][-1]
    far = replace(last, is_control=True, difference=candidate("raw", -0.6, "negative").difference)
    drawn = draw_overview(replace(summary, comparisons=(far,)))
    assert drawn is not None
    (axes,) = drawn.canvas.axes
    assert axes.get_xlim()[0] < -60 < axes.get_xlim()[1]
