"""Transferability of every method: the paired difference to training from scratch, seed by seed."""

import pandas as pd
from matplotlib.axes import Axes

from transferscope.report.blocks import Figure
from transferscope.report.comparison import Comparison
from transferscope.report.figures.choice import MOST_SIZES, evenly_chosen, shown_of
from transferscope.report.figures.dots import candidate_tick
from transferscope.report.figures.palette import Look, looks
from transferscope.report.figures.style import INK, PAPER, drawing, new_figure
from transferscope.report.metric import Metric
from transferscope.report.results import Summary

_RAISED = 0.24  # of the seeds above the bar, in rows


def draw_differences(summary: Summary) -> Figure | None:
    """The figure; None when nothing can be compared with training from scratch."""
    compared = [c for c in summary.comparisons if c.difference]
    if not compared:
        return None
    frames, metric = summary.frames, summary.frames.metric
    sizes = evenly_chosen(sorted({c.n_target for c in compared}), MOST_SIZES)
    names = _order(compared, sizes[-1])
    look, pairs = looks(frames.methods, frames.baseline), paired_runs(summary)
    with drawing():
        canvas = new_figure(5.2 if len(sizes) == 1 else min(9.2, 2.2 + 2.4 * len(sizes)), 0.95 + 0.33 * len(names))
        axes = canvas.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for panel, size in zip(axes, sizes, strict=True):
            for c in (c for c in compared if c.n_target == size):
                _row(panel, names.index(candidate_tick(c)), c, pairs, look[c.method], metric)
            panel.axvline(0, color=INK, linewidth=0.8, zorder=0.5)
            panel.grid(axis="y", visible=False)
            panel.set_title(f"{size:,} labels")
        axes[0].set_yticks(range(len(names)), names)
        axes[0].set_ylim(-0.6, len(names) - 0.4)
        if len(sizes) == 1:
            axes[0].set_xlabel(_axis_title(metric))
        else:
            canvas.supxlabel(_axis_title(metric), fontsize="medium", color=INK)
    return Figure(
        name="differences",
        canvas=canvas,
        data=pairs,
        caption=(
            "Difference to training from scratch on the same seed and the same labels; right of the line is better. "
            "Small dots are seeds, bars 95 % intervals of the mean. Filled marks differ from scratch after Holm's "
            "correction over the whole study, hollow ones do not."
            f"{shown_of('number of labels', sizes, sorted({c.n_target for c in compared}))}"
        ),
    )


def paired_runs(summary: Summary) -> pd.DataFrame:
    """Each run beside training from scratch on the same seed.

    Returns:
        Columns source, method, n_target, seed, value, scratch, transferability.
    """
    runs, metric = summary.runs, summary.frames.metric
    is_baseline = runs["method"] == summary.frames.baseline
    scratch = runs.loc[is_baseline, ["n_target", "seed", "value"]].rename(columns={"value": "scratch"})
    pairs = runs[~is_baseline].merge(scratch, on=["n_target", "seed"])
    gain = pairs["value"] - pairs["scratch"]
    return pairs.assign(transferability=gain if metric.higher_is_better else -gain)


def _order(compared: list[Comparison], size: int) -> list[str]:
    """Names from worst to best at one size; those without a result there first."""
    best = {candidate_tick(c): float("-inf") for c in compared}
    best |= {candidate_tick(c): c.difference.mean for c in compared if c.n_target == size and c.difference}
    return sorted(best, key=lambda name: best[name])


def _row(axes: Axes, row: int, c: Comparison, pairs: pd.DataFrame, look: Look, metric: Metric) -> None:
    assert c.difference is not None
    chosen = (pairs["method"] == c.method) & (pairs["source"] == (c.source or "")) & (pairs["n_target"] == c.n_target)
    own = pairs.loc[chosen, "transferability"] * metric.scale
    axes.plot(own, [row + _RAISED] * len(own), "o", color=look.colour, markersize=2.5, alpha=0.55)
    if c.difference_interval:
        ends = [c.difference_interval.low * metric.scale, c.difference_interval.high * metric.scale]
        axes.plot(ends, [row, row], color=look.colour, linewidth=1.6, solid_capstyle="round")
    fill = look.colour if c.call in ("positive", "negative") else PAPER
    axes.plot(c.difference.mean * metric.scale, row, look.mark, color=look.colour, markerfacecolor=fill, markersize=6.5)


def _axis_title(metric: Metric) -> str:
    return "Points above training from scratch" if metric.higher_is_better else "Squared error saved against scratch"
