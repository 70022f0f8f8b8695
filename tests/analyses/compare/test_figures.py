from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from comparisons import candidate
from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.figures import (
    class_errors,
    draw_classes,
    draw_differences,
    draw_dots,
    draw_overview,
    draw_seeds,
)
from transferscope.analyses.compare.summary import Summary, summarise


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


def test_very_many_seeds_are_drawn_by_their_quantiles(tmp_path: Path) -> None:
    wanted = Fabrication(gains={"mnist": {"joint": 0.01}}, sizes=(50,), n_seeds=51, n_test=20)
    with fabricate(tmp_path / "s.sqlite", wanted) as store:
        summary = summarise(store, "usps")
    runs, differences, dots = draw_seeds(summary), draw_differences(summary), draw_dots(summary)
    assert differences is not None
    for figure, n_runs in ((runs, 102), (differences, 51), (dots, 102)):
        assert all(np.size(line.get_xdata()) <= 2 for axes in figure.canvas.axes for line in axes.lines)
        assert len(figure.data) == n_runs  # the CSV has every run
    own = 100 * summary.runs.loc[summary.runs["method"] == "joint", "value"]
    (axes,) = dots.canvas.axes
    bars = [np.asarray(line.get_xdata()).tolist() for line in axes.lines if line.get_linewidth() == 3.5]
    assert pytest.approx(np.quantile(own, [0.25, 0.75]).tolist()) in bars
    assert "the 51 seeds (thin: the middle 90 %, thick: the middle 50 %" in dots.caption
    assert runs.caption.startswith("All 102 runs, of 51 seeds: marks are medians")
