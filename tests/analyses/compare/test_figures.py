from pathlib import Path

import numpy as np
import pytest

from fabricate import fabricate_regression
from made_up import made_up
from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.more_figures import MOST_DOTS, draw_runs, draw_times
from transferscope.analyses.compare.summary import Summary, summarise, summarise_frames


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
    means = {"fine-tune": 0.75, "joint": 0.73, "l2-sp": 0.76, "merlin": 0.74}
    arms = {("scratch", ""): 0.7, **{(method, "a"): mean for method, mean in means.items()}}
    near = {(arm, 50): mean + rng.normal(0, 0.005, 4) for arm, mean in arms.items()}
    far = {**near, (("do-nothing", "a"), 50): np.full(4, 0.1) + rng.normal(0, 0.005, 4)}
    spans = []
    for scores in (near, far):
        figure = draw_arms(summarise_frames(made_up(scores)))
        low, high = figure.canvas.axes[0].get_xlim()
        spans.append(high - low)
    assert spans[1] < 3 * spans[0]


def test_a_regression_has_one_unit_on_axis_label_headline_and_csv(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        summary = summarise(store, "numbers")
    (own,) = (one for one in summary.comparisons if one.facts.gain is not None)
    baseline = next(one for one in summary.comparisons if one.facts.gain is None)
    gained = own.score.value - baseline.score.value  # on the same seeds
    row = summary.table.set_index("method").loc["fine-tune"]
    figure = draw_arms(summary)
    drawn = figure.data.set_index("method").loc["fine-tune"]
    assert row["gain"] == pytest.approx(gained)
    assert (drawn["gain"], drawn["low"], drawn["high"]) == pytest.approx(tuple(row[["gain", "gain_low", "gain_high"]]))
    assert drawn["score"] == pytest.approx(row["mean"])
    assert (row["mean"], row["mse"]) == pytest.approx((1 - row["mse"], 1 - row["mean"]))  # the labels have variance 1
    assert row["low"] < row["mean"] < row["high"] <= 1
    figure.canvas.draw_without_rendering()
    axes = figure.canvas.axes[0]
    for place, tick in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        assert float(tick.get_text().replace("−", "-")) == pytest.approx(place / 100)
    assert f"+{gained:.3f} of R²" in summary.verdict.headline


def test_most_intervals_end_within_the_axis(summary: Summary) -> None:
    """Two seeds: intervals of tens of points around gains of one or two."""
    rng = np.random.default_rng(0)
    arms = {("scratch", ""): 0.70, ("fine-tune", "a"): 0.72, ("l2-sp", "a"): 0.71, ("joint", "a"): 0.715}
    wide = summarise_frames(made_up({(arm, 50): mean + rng.normal(0, 0.02, 3) for arm, mean in arms.items()}))
    for one in (summary, wide):
        figure = draw_arms(one)
        low, high = figure.canvas.axes[0].get_xlim()
        known = figure.data.dropna(subset=["low", "high"])
        inside = (known["low"] >= low) & (known["high"] <= high)
        assert inside.mean() >= 0.5


@pytest.mark.drawn
def test_every_run_is_a_dot_at_its_score(summary: Summary) -> None:
    runs = summary.frames.runs
    figures = list(draw_runs(summary))
    assert [figure.labels for figure in figures] == ["50 labels", "200 labels", "600 labels"]
    for figure, n in zip(figures, (50, 200, 600), strict=True):
        dots = [line for line in figure.canvas.axes[0].lines if line.get_marker() == "o"]
        drawn = sorted(np.concatenate([np.asarray(line.get_xdata()) for line in dots]))
        assert drawn == pytest.approx(sorted(100 * runs.loc[runs["n_target"] == n, "value"]))
        assert figure.svg.count("seed 0: ") == len(dots)
        names = [tick.get_text() for tick in figure.canvas.axes[0].get_yticklabels()]
        assert len(set(names)) == len(dots)


def test_thousands_of_runs_are_no_dots() -> None:
    rng = np.random.default_rng(0)
    means = {(arm, n): 0.7 for arm in (("scratch", ""), ("fine-tune", "a")) for n in (50, 200)}
    runs = {key: mean + rng.normal(0, 0.02, MOST_DOTS // 2 + (key[1] == 200)) for key, mean in means.items()}
    assert [figure.labels for figure in draw_runs(summarise_frames(made_up(runs)))] == ["50 labels"]


def test_arms_that_none_beats_in_time_and_gain_are_joined(summary: Summary) -> None:
    for figure, n in zip(draw_times(summary), (50, 200, 600), strict=True):
        arms = [(c.cost.total, c.facts.mean) for c in summary.comparisons if c.n_target == n]
        unbeaten = {a for a in arms if not any(b[0] <= a[0] and b[1] >= a[1] and b != a for b in arms)}
        assert figure.data["on_front"].sum() == len(unbeaten)
        assert set(figure.data.loc[figure.data["on_front"], "seconds"]) == {seconds for seconds, _ in unbeaten}
