"""The figure of a comparison: the gain of every arm over the best baseline."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import blended_transform_factory

from transferscope.analyses.compare.comparison import gain_over_baseline
from transferscope.analyses.compare.grid import Row, arm_rows
from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_SIZES, beside_axis, evenly_chosen, shown_of
from transferscope.report.figures.panels import panels, side_by_side
from transferscope.report.figures.style import (
    INK,
    NARROW,
    ON_PAPER,
    PAPER,
    RECOMMENDED,
    WITH_SOURCE,
    WITHOUT,
    drawing,
    tip,
)
from transferscope.wording import duration, probability_words, sizes_in_words

_MOST_ARMS = 14
_NARROW_NAME, _NAME_WIDTH, _LONG_NAME = 20, 26, 38
_CALLED = ("better", "worse")
_HEAD, _TIGHT, _APART = 0.6, 0.2, 0.27  # inches of a panel without its rows, and of a row
_HIGHEST = 9.0  # inches of a column of a paper
_SPACE = "\u2002\u2002"  # which SVG does not collapse
_ASIDE = 8  # points from a panel to the numbers beside it, which arrows and stars at its edge do not reach


def draw_arms(summary: Summary) -> Figure | None:
    """Draw the gain of every arm over the best baseline at each number of labels, by kind, best on top.

    None if no baseline has a run.
    """
    decided = {n: one for n, one in summary.decided.items() if one.best_baseline is not None}
    if not decided:
        return None
    sizes = evenly_chosen(list(decided), MOST_SIZES)
    timed = any(not np.isnan(c.cost.total) for c in summary.comparisons)

    def drawn(n_columns: int, width: float) -> Canvas:
        n_rows = -(-len(sizes) // n_columns)
        of_paper = width < NARROW
        rows, _ = arm_rows(summary, int((_HIGHEST / n_rows - _HEAD) / _TIGHT) - 2 if of_paper else _MOST_ARMS)
        reach = _reach(summary, sizes, rows)
        room = _NARROW_NAME if width <= NARROW else _LONG_NAME if n_columns > 2 else _NAME_WIDTH
        names = ["" if arm is None else beside_axis(name, width=room) for name, arm in rows]
        n_lines = [1 + name.count("\n") for name in names]
        most_lines = max(map(sum, pairwise([*n_lines, 1])))  # of two names, one above the other
        height = (_APART if width > NARROW and n_columns == len(sizes) else _TIGHT) + {2: 0.0, 3: 0.09}.get(
            most_lines, 0.14
        )
        canvas, axes = panels(len(sizes), n_columns, width=width, height=_HEAD + height * len(rows), sharex=True)
        for i, (panel, size) in enumerate(zip(axes, sizes, strict=True)):
            is_last = (i + 1) % n_columns == 0 or i + 1 == len(sizes)
            _panel(panel, summary, size, rows, reach=reach, timed=timed and is_last and not of_paper)
            panel.set_yticks(range(len(rows)), [""] * len(rows) if i % n_columns else names)
            if not i % n_columns:
                _headings(panel, rows)
        axes[0].set_xlim(*reach)
        unit, shown = summary.frames.metric.points_name, summary.frames.metric.shown_points
        axes[0].xaxis.set_major_formatter(FuncFormatter(lambda points, _: f"{shown(points):.6g}".replace("-", "−")))
        canvas.supxlabel(f"{unit} over the best baseline, better →", fontsize="medium", color=INK)
        return canvas

    with drawing():
        wide = drawn(len(sizes), 3.3 + 1.9 * len(sizes))
    left_out, confidence = arm_rows(summary, _MOST_ARMS)[1], min(one.confidence for one in decided.values())
    return Figure(
        name="arms",
        canvas=wide,
        narrow=lambda inches: drawn(min(len(sizes), side_by_side(inches, 2.6)), inches),
        data=_data(summary),
        caption=(
            "Line: best baseline. Star: recommended. Filled: significant (simultaneous "
            f"{probability_words(confidence)} CIs). Right: score{', time' if timed else ''}.{left_out}"
            f"{shown_of('numbers of labels', [f'{n:,}' for n in sizes], list(decided))}"
        ),
    )


def _headings(axes: Axes, rows: Sequence[Row]) -> None:
    """Write headings from the left edge of the drawing, over the space of arm names."""
    canvas = axes.get_figure()
    assert canvas is not None
    place = blended_transform_factory(canvas.transFigure, axes.transData)
    for at, (name, arm) in enumerate(rows):
        if arm is None:
            heading = axes.text(0.01, at, name, transform=place, va="center", fontweight="bold", color=INK)
            heading.set_bbox(ON_PAPER)
            heading.set_in_layout(False)


def _panel(
    axes: Axes, summary: Summary, size: int, rows: Sequence[Row], *, reach: tuple[float, float], timed: bool
) -> None:
    metric, decision = summary.frames.metric, summary.decided[size]
    by_arm = {c.arm: c for c in summary.comparisons if c.n_target == size}
    right = axes.get_yaxis_transform()
    axes.axvline(0.0, color=INK, linewidth=0.9, zorder=0.5)
    for at, (_, arm) in enumerate(rows):
        c = by_arm.get(arm) if arm else None
        if c is None or c.facts.mean is None:
            continue
        value, low, high = gain_over_baseline(c.facts, decision)
        colour = WITH_SOURCE if c.facts.with_source else WITHOUT
        if low is not None and high is not None:
            axes.plot([low, high], [at, at], color=colour, linewidth=2, solid_capstyle="round")
            for edge, arrow, goes_on in ((reach[0], "<", low < reach[0]), (reach[1], ">", high > reach[1])):
                if goes_on:
                    axes.plot(edge, at, arrow, color=colour, markersize=7, clip_on=False)
        called = c.facts.call in _CALLED or not c.facts.with_source
        recommended = c.facts.name == decision.recommended
        (drawn,) = axes.plot(
            value,
            at,
            RECOMMENDED if recommended else "o" if c.facts.with_source else "s",
            color=colour,
            markerfacecolor=colour if called else PAPER,
            markersize=13 if recommended else 6.5,
            clip_on=value < reach[0],
        )
        call = f"not tested: {c.facts.why}" if c.facts.why else c.facts.call
        call = call if c.facts.with_source else "baseline"
        level = metric.level(c.facts.mean)
        tip(drawn, f"{c.facts.name}: {level}, {metric.gain(value)} ({call})")
        if value < reach[0]:
            beyond = f"◂ {metric.points(value)}"
            axes.text(0.04, at, beyond, transform=right, va="center", fontsize=8, color=INK, bbox=ON_PAPER)
        time = f"{_SPACE}{duration(c.cost.total)}" if timed and not np.isnan(c.cost.total) else ""
        axes.annotate(
            f"{level}{time}",
            (1.0, at),
            (_ASIDE, 0),
            xycoords=right,
            textcoords="offset points",
            annotation_clip=False,
            va="center",
            fontsize=8,
            color=INK,
        )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(labelbottom=True, left=False)
    axes.spines["left"].set_visible(False)
    assert decision.baseline_level is not None
    axes.set_title(f"{sizes_in_words([size])}: beat {metric.level(decision.baseline_level)}")


def _reach(summary: Summary, sizes: Sequence[int], rows: Sequence[Row]) -> tuple[float, float]:
    """Return axis limits that hold at least half of the intervals, and that outlying arms do not stretch."""
    arms = {arm for _, arm in rows}
    reached = [
        gain_over_baseline(c.facts, summary.decided[c.n_target])
        for c in summary.comparisons
        if c.n_target in sizes and c.arm in arms and c.facts.mean is not None
    ]
    values = [value for value, *_ in reached]
    middle, top = min(float(np.median(values)), 0.0), max(*values, 0.0)
    spread = max(top - middle, 1.0)
    lows, highs = ([end for end in ends if end is not None] for ends in list(zip(*reached, strict=True))[1:])
    lowest = min(middle - 1.5 * spread, float(np.median(lows or [0.0])))
    highest = max(top + 1.5 * spread, float(np.median(highs or [0.0])))
    low = max(min([0.0, *values, *lows]), lowest)
    high = min(max([0.0, *values, *highs]), highest)
    if high - low < (margin := min(summary.decided[size].margin for size in sizes)):
        low, high = -margin, margin  # differences that do not matter look small
    return low - 0.05 * (high - low or 1.0), high + 0.05 * (high - low or 1.0)


def _data(summary: Summary) -> pd.DataFrame:
    rows = []
    for c in summary.comparisons:
        decision = summary.decided[c.n_target]
        if c.facts.mean is None or decision.best_baseline is None:
            continue
        metric, (value, low, high) = summary.frames.metric, gain_over_baseline(c.facts, decision)
        rows.append(
            {
                "source": c.source or "",
                "method": c.method,
                "n_target": c.n_target,
                "with_source": c.facts.with_source,
                "score": metric.shown_level(c.facts.mean),
                "gain": metric.shown_points(value),
                "low": None if low is None else metric.shown_points(low),
                "high": None if high is None else metric.shown_points(high),
                "call": c.facts.call,
                "recommended": c.facts.name == decision.recommended,
                "seconds": c.cost.total,
            }
        )
    return pd.DataFrame(rows)
