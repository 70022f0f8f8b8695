"""Score of every method at one number of labels: a dot for each seed, the mean and its interval."""

import pandas as pd
from matplotlib.axes import Axes

from transferscope.report.blocks import Figure
from transferscope.report.comparison import Comparison
from transferscope.report.figures.choice import tick_name
from transferscope.report.figures.palette import Look, looks
from transferscope.report.figures.style import QUIET, drawing, new_figure
from transferscope.report.metric import Metric
from transferscope.report.results import Summary


def draw_dots(summary: Summary) -> Figure:
    """The figure; for a study with one number of labels."""
    frames, metric = summary.frames, summary.frames.metric
    ordered = sorted(summary.comparisons, key=lambda c: c.score.value, reverse=not metric.higher_is_better)
    look = looks(frames.methods, frames.baseline)
    with drawing():
        canvas = new_figure(7.4, 0.9 + 0.36 * len(ordered))
        axes = canvas.subplots()
        for row, comparison in enumerate(ordered):
            _row(axes, row, comparison, summary.runs, look[comparison.method], metric)
        _baseline(axes, ordered, metric)
        axes.set_yticks(range(len(ordered)), [candidate_tick(c) for c in ordered])
        axes.set_ylim(-0.6, len(ordered) - 0.4)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(metric.title)
    return Figure(
        name="methods",
        canvas=canvas,
        data=summary.runs,
        caption=(
            f"{metric.title} with {ordered[0].n_target:,} labels. Small dots are seeds, large marks their mean with a "
            "95 % interval; the dashed line and its band are training from scratch."
        ),
    )


def candidate_tick(comparison: Comparison) -> str:
    """A method and its source on an axis."""
    name = tick_name(comparison.method)
    return f"{name} from {comparison.source}" if comparison.source else name


def _row(axes: Axes, row: int, c: Comparison, runs: pd.DataFrame, look: Look, metric: Metric) -> None:
    own = runs[(runs["method"] == c.method) & (runs["source"] == (c.source or ""))]
    seeds = own["value"] * metric.scale
    axes.plot(seeds, [row + 0.24] * len(own), "o", color=look.colour, markersize=3, alpha=0.55)
    if c.interval:
        ends = [c.interval.low * metric.scale, c.interval.high * metric.scale]
        axes.plot(ends, [row, row], color=look.colour, linewidth=2, solid_capstyle="round")
    axes.plot(c.score.value * metric.scale, row, look.mark, color=look.colour, markersize=7)


def _baseline(axes: Axes, comparisons: list[Comparison], metric: Metric) -> None:
    for c in comparisons:
        if c.call == "baseline":
            axes.axvline(c.score.value * metric.scale, color=QUIET, linestyle="--", linewidth=1, zorder=0.5)
            if c.interval:
                low, high = c.interval.low * metric.scale, c.interval.high * metric.scale
                axes.axvspan(low, high, color=QUIET, alpha=0.15, linewidth=0, zorder=0.4)
