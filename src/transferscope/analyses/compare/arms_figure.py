"""The picture of a comparison: every arm beside the best that needs no source, grouped by kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_SIZES, beside_axis, evenly_chosen, shown_of
from transferscope.report.figures.style import INK, NARROW, PAPER, QUIET, drawing, new_figure, tip
from transferscope.wording import duration, sizes_in_words

WITH_SOURCE, WITHOUT = "#0072b2", "#6b7079"
"""Colours of arms with and without a source."""

_MOST_ARMS = 16
_NAME_WIDTH = 26
_CALLED = ("better", "worse")


@dataclass(frozen=True)
class _Row:
    """A heading, or one arm at all numbers of labels."""

    name: str
    arm: tuple[str, str] | None = None


def draw_arms(summary: Summary) -> Figure | None:
    """What every arm gains over the best without a source at each number of labels, by kind, best on top.

    None where no arm without a source has a run, so that there is no line to beat.
    """
    decided = {n: one for n, one in summary.decided.items() if one.best_without is not None}
    if not decided:
        return None
    sizes = evenly_chosen(list(decided), MOST_SIZES)
    rows, left_out = _rows(summary)
    reach = _reach(summary, sizes, rows)

    def drawn(n_columns: int, width: float) -> Canvas:
        last = min(n_columns, len(sizes)) - 1  # the panel of each row with the times
        n_rows = -(-len(sizes) // n_columns)
        canvas = new_figure(width, n_rows * (0.8 + 0.27 * len(rows)))
        axes = canvas.subplots(n_rows, n_columns, sharex=True, squeeze=False)
        for i, (panel, size) in enumerate(zip(axes.flat, sizes, strict=False)):
            _panel(panel, summary, size, rows, reach=reach, named=i % n_columns == 0, timed=i % n_columns == last)
        axes.flat[0].set_xlim(*reach)
        for spare in axes.flat[len(sizes) :]:
            spare.set_visible(False)
        unit = summary.frames.metric.points_name
        canvas.supxlabel(f"{unit} over the best without a source, better →", fontsize="medium", color=INK)
        return canvas

    with drawing():
        n_columns = len(sizes) if len(sizes) < 4 else 2
        wide = drawn(n_columns, min(7.8, 3.2 + 2.0 * n_columns))
    return Figure(
        name="arms",
        canvas=wide,
        narrow=lambda: drawn(1, NARROW),
        data=_data(summary),
        caption=(
            "Line: the best without a source. Star: the arm to use. Blue: arms with a source; their intervals hold "
            "for all at once; filled marks are called better or worse. Grey: arms without, with their own intervals. "
            f"On the right: score, and time of a run with its pre-training.{left_out}"
            f"{shown_of('numbers of labels', sizes, list(decided))}"
        ),
    )


def _rows(summary: Summary) -> tuple[list[_Row], str]:
    """Arms under a heading for each source, those without first; of very many the best."""
    shown = list(summary.arms)
    if len(shown) > _MOST_ARMS:
        kept = {(c.source or "", c.method) for c in summary.comparisons if c.facts.name in _named(summary)}
        shown = [arm for i, arm in enumerate(shown) if i < _MOST_ARMS or arm in kept]
    rows: list[_Row] = []
    unnamed = summary.frames.source_unnamed
    groups = {"No source": [arm for arm in shown if not arm[0] and arm[1] not in unnamed]}
    groups["With a source"] = [arm for arm in shown if not arm[0] and arm[1] in unnamed]
    groups |= {f"From {source}": [arm for arm in shown if arm[0] == source] for source in summary.frames.sources}
    for heading, own in groups.items():
        if own:
            rows += [_Row(heading), *(_Row(summary.name_of("", arm[1]), arm) for arm in own)]
    left_out = len(summary.arms) - len(shown)
    return rows, f" {left_out:,} arms that score lower are in the CSV." if left_out else ""


def _named(summary: Summary) -> set[str]:
    found = [(one.recommended, one.best_with, one.best_without) for one in summary.decided.values()]
    return {name for names in found for name in names if name is not None}


def _panel(
    axes: Axes,
    summary: Summary,
    size: int,
    rows: Sequence[_Row],
    *,
    reach: tuple[float, float],
    named: bool,
    timed: bool,
) -> None:
    metric, decision = summary.frames.metric, summary.decided[size]
    by_arm = {(c.source or "", c.method): c for c in summary.comparisons if c.n_target == size}
    right = axes.get_yaxis_transform()
    axes.axvline(0.0, color=INK, linewidth=0.9, zorder=0.5)
    least = reach[0]
    for at, row in enumerate(rows):
        c = by_arm.get(row.arm) if row.arm else None
        if c is None or c.facts.mean is None:
            continue
        value, low, high = _beside(c, summary)
        colour = WITH_SOURCE if c.facts.with_source else WITHOUT
        if low is not None and high is not None:
            axes.plot([low, high], [at, at], color=colour, linewidth=2, solid_capstyle="round")
        called = c.facts.call in _CALLED or not c.facts.with_source
        recommended = c.facts.name == decision.recommended
        mark = "*" if recommended else "o" if c.facts.with_source else "s"
        (drawn,) = axes.plot(
            value,
            at,
            mark,
            color=colour,
            markerfacecolor=colour if called else PAPER,
            markersize=13 if recommended else 6.5,
        )
        tip(drawn, f"{c.facts.name}: {metric.level(c.facts.mean)}, {metric.gain(value)} ({_call(c)})")
        if value < least:
            beyond = f"◂ {metric.points(value)}"
            axes.text(0.02, at, beyond, transform=right, va="center", fontsize="small", color=INK)
        text = metric.level(c.facts.mean) + (f"   {duration(c.cost.total)}" if timed else "")
        axes.text(1.03, at, text, transform=right, va="center", fontsize="small", color=INK)
    names = [row.name if row.arm is None else beside_axis(row.name, width=_NAME_WIDTH) for row in rows]
    axes.set_yticks(range(len(rows)), names if named else [""] * len(rows))
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row.arm is None else "normal")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(labelbottom=True, left=False)
    axes.spines["left"].set_color(QUIET)
    axes.set_title(sizes_in_words([size]))


def _beside(c: Comparison, summary: Summary) -> tuple[float, float | None, float | None]:
    """Points over the best without a source, and the ends of the interval to draw."""
    facts, decision = c.facts, summary.decided[c.n_target]
    assert facts.mean is not None
    if facts.gain is not None:
        return facts.gain.value, facts.gain.low, facts.gain.high
    line = next(arm.mean for arm in decision.arms if arm.name == decision.best_without)
    assert line is not None
    ends = [None if end is None else end - line for end in (facts.low, facts.high)]
    return facts.mean - line, ends[0], ends[1]


def _call(c: Comparison) -> str:
    if not c.facts.with_source:
        return "no source"
    return f"not called: {c.facts.why}" if c.facts.why else c.facts.call


def _reach(summary: Summary, sizes: Sequence[int], rows: Sequence[_Row]) -> tuple[float, float]:
    """An axis that neither the widest of intervals nor arms far below everything else stretch."""
    arms = {row.arm for row in rows}
    found = [
        _beside(c, summary)
        for c in summary.comparisons
        if c.n_target in sizes and (c.source or "", c.method) in arms and c.facts.mean is not None
    ]
    values = [value for value, *_ in found]
    middle, top = min(float(np.median(values)), 0.0), max(*values, 0.0)
    spread = max(top - middle, 1.0)
    lowest, highest = middle - 1.5 * spread, top + 1.5 * spread
    ends = [end for _, low, high in found for end in (low, high) if end is not None]
    low = max(min([0.0, *values, *ends]), lowest)
    high = min(max([0.0, *values, *ends]), highest)
    return low - 0.05 * (high - low or 1.0), high + 0.05 * (high - low or 1.0)


def _data(summary: Summary) -> pd.DataFrame:
    rows = []
    for c in summary.comparisons:
        if c.facts.mean is None or summary.decided[c.n_target].best_without is None:
            continue
        value, low, high = _beside(c, summary)
        rows.append(
            {
                "source": c.source or "",
                "method": c.method,
                "n_target": c.n_target,
                "with_source": c.facts.with_source,
                "score": c.facts.mean,
                "over_best_without": value,
                "low": low,
                "high": high,
                "call": c.facts.call,
                "recommended": c.facts.name == summary.decided[c.n_target].recommended,
                "seconds": c.cost.total,
            }
        )
    return pd.DataFrame(rows)
