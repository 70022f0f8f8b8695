from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from fabricate import Fabrication, fabricate
from made_up import made_up
from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.figures import (
    class_errors,
    draw_classes,
    draw_seeds,
)
from transferscope.analyses.compare.summary import Summary, summarise, summarise_frames


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
    scratch = next(c for c in summary.comparisons if c.is_baseline and c.n_target == 200)
    weighted = (own["error"] * own["n_examples"]).sum() / own["n_examples"].sum()
    assert weighted == pytest.approx(1 - scratch.score.value)


def test_without_predictions_there_is_no_figure(summary: Summary) -> None:
    assert draw_classes(replace(summary, frames=replace(summary.frames, predictions={}))) is None
    assert draw_classes(replace(summary, frames=replace(summary.frames, test_labels=None))) is None


def test_the_picture_fills_what_is_called_and_stars_what_to_use(summary: Summary) -> None:
    figure = draw_arms(summary)
    assert figure is not None
    for axes, n in zip(figure.canvas.axes, (50, 200, 600), strict=True):
        decision = summary.decided[n]
        marks = [line for line in axes.lines if line.get_marker() not in ("None", "")]
        assert len(marks) == sum(arm.mean is not None for arm in decision.arms)
        called = [arm for arm in decision.arms if arm.call in ("better", "worse") or not arm.with_source]
        filled = [line for line in marks if line.get_markerfacecolor() == line.get_color()]
        assert len(filled) == len(called)
        (star,) = [line for line in marks if line.get_marker() == "*"]
        gain = next(arm.gain for arm in decision.arms if arm.name == decision.recommended)
        assert gain is not None
        assert star.get_xdata()[0] == pytest.approx(gain.value)  # type: ignore[index]


def test_an_arm_far_below_stretches_nothing() -> None:
    rng = np.random.default_rng(0)
    arms = {
        ("scratch", ""): 0.7,
        ("fine-tune", "a"): 0.75,
        ("joint", "a"): 0.73,
        ("l2-sp", "a"): 0.76,
        ("merlin", "a"): 0.74,
    }
    near = {(arm, 50): mean + rng.normal(0, 0.005, 4) for arm, mean in arms.items()}
    far = {**near, (("do-nothing", "a"), 50): np.full(4, 0.1) + rng.normal(0, 0.005, 4)}
    spans = []
    for scores in (near, far):
        figure = draw_arms(summarise_frames(made_up(scores)))
        assert figure is not None
        low, high = figure.canvas.axes[0].get_xlim()
        spans.append(high - low)
    assert spans[1] < 3 * spans[0]


def test_very_many_seeds_are_drawn_by_their_quantiles(tmp_path: Path) -> None:
    wanted = Fabrication(gains={"mnist": {"joint": 0.01}}, sizes=(50,), n_seeds=51, n_test=20)
    with fabricate(tmp_path / "s.sqlite", wanted) as store:
        summary = summarise(store, "usps")
    figure = draw_seeds(summary)
    assert all(np.size(line.get_xdata()) <= 2 for axes in figure.canvas.axes for line in axes.lines)
    assert len(figure.data) == 102  # the CSV has every run
    own = 100 * summary.runs.loc[summary.runs["method"] == "joint", "value"]
    bars = [
        np.asarray(line.get_ydata()).tolist()
        for axes in figure.canvas.axes
        for line in axes.lines
        if line.get_linewidth() == 3.5
    ]
    assert any(bar == pytest.approx(np.quantile(own, [0.25, 0.75]).tolist()) for bar in bars)
