import numpy as np
import pytest

from made_up import made_up
from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.summary import Summary, summarise_frames


def test_the_picture_fills_what_is_called_and_stars_what_to_use(summary: Summary) -> None:
    figure = draw_arms(summary)
    for axes, n in zip(figure.canvas.axes, (50, 200, 600), strict=True):
        decision = summary.decided[n]
        marks = [line for line in axes.lines if line.get_marker() not in ("None", "")]
        assert len(marks) == sum(arm.mean is not None for arm in decision.arms)
        called = [arm for arm in decision.arms if arm.call in ("better", "worse") or not arm.with_source]
        filled = [line for line in marks if line.get_markerfacecolor() == line.get_color()]
        assert len(filled) == len(called)
        (star,) = [line for line in marks if line.get_marker() == "*"]
        gain = next(arm.gain for arm in decision.arms if arm.name == decision.recommended)
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
        low, high = figure.canvas.axes[0].get_xlim()
        spans.append(high - low)
    assert spans[1] < 3 * spans[0]
