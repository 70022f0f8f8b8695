"""Folded figures: every run as a dot, and gain against time."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from transferscope.analyses.compare.comparison import gain_over_baseline
from transferscope.analyses.compare.grid import arm_rows
from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis
from transferscope.report.figures.style import INK, PAPER, RECOMMENDED, WITH_SOURCE, WITHOUT, drawing, new_figure, tip
from transferscope.study.measure import Measure
from transferscope.wording import duration, rough_duration, sizes_in_words

OF_RUNS = "Each dot is one seed, and each line the mean of an arm; transfer arms are blue."
OF_TIMES = (
    "Filled marks are joined: no other arm is both faster and better. The star is the recommended arm; bars are the "
    "intervals of gains over the best baseline, cut at the edge of the picture."
)
"""How the pictures are read."""

MOST_DOTS = 2000
"""Runs per number of labels above which dots are not drawn: they would overlap, and the page would load slowly."""

_ROW, _AROUND = 0.22, 0.7  # inches
_WIDE = 7.6
_LETTERS = 6
"""Letters of a name beside a mark for each inch of the figure, so that it keeps to its half."""
_TIMES = [m * 10**e for e in (-3, -2, -1) for m in (1, 2, 5)] + [1, 2, 5, 10, 20, 30]
_TIMES += [60 * m for m in (1, 2, 5, 10, 20, 30)] + [3600 * h for h in (1, 2, 5, 10, 24, 48, 96, 240)]
"""Seconds that an axis of time may have a tick at."""


def draw_runs(summary: Summary) -> Iterator[Figure]:
    """Draw the score of every run as a dot, and the mean of each arm as a line.

    Returns:
        One figure per number of labels with at most `MOST_DOTS` runs.
    """
    metric = summary.frames.metric.judged
    final = summary.frames.final(metric.record)
    runs = final.loc[final["role"] == "method", ["source", "method", "n_target", "seed", "value"]]
    runs = runs.assign(score=metric.scale * runs["value"]).drop(columns="value")
    with_source = {c.arm: c.facts.with_source for c in summary.comparisons}
    rows = [(summary.frames.name_of(*arm), arm) for _, arm in arm_rows(summary)[0] if arm is not None]
    for size, own in runs.groupby("n_target"):
        if len(own) > MOST_DOTS:
            continue
        of_arm = {(str(source), str(method)): one for (source, method), one in own.groupby(["source", "method"])}
        shown = [(name, of_arm[arm], with_source.get(arm, False)) for name, arm in rows if arm in of_arm]
        labels = sizes_in_words([int(str(size))])
        caption = f"Every run with {labels}."
        yield _figure(f"runs-{size}", partial(_dots, metric, shown, labels), own, caption, labels)


def _figure(name: str, drawn: Callable[[float], Canvas], data: pd.DataFrame, caption: str, labels: str) -> Figure:
    with drawing():
        wide = drawn(_WIDE)
    return Figure(name, wide, data, caption, narrow=drawn, labels=labels)


def _dots(metric: Measure, shown: Sequence[tuple[str, pd.DataFrame, bool]], labels: str, width: float) -> Canvas:
    canvas = new_figure(width, _AROUND + _ROW * len(shown))
    axes = canvas.subplots()
    for at, (name, one, transfers) in enumerate(shown):
        colour = WITH_SOURCE if transfers else WITHOUT
        (dots,) = axes.plot(one["score"], [at] * len(one), "o", color=colour, markersize=4.5, alpha=0.6)
        said = (metric.shown(score / metric.scale) for score in one["score"])
        tip(dots, *(f"{name}, seed {seed}: {score}" for seed, score in zip(one["seed"], said, strict=True)))
        axes.plot([one["score"].mean()] * 2, [at - 0.35, at + 0.35], color=colour, linewidth=2)
    axes.set_yticks(range(len(shown)), [beside_axis(name, width=26 if width < _WIDE else 38) for name, *_ in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(metric.title)
    axes.set_title(labels)
    return canvas


def draw_times(summary: Summary) -> Iterator[Figure]:
    """Draw the gain over the best baseline against the time of a run; none if no time was measured."""
    metric = summary.frames.metric
    for size, decision in summary.decided.items():
        arms = [
            (c, gain_over_baseline(c.facts, decision))
            for c in summary.comparisons
            if c.n_target == size and c.facts.mean is not None and c.cost.total > 0
        ]
        if len(arms) < 2 or decision.best_baseline is None:
            continue
        rows = pd.DataFrame(
            [
                {
                    "source": c.source or "",
                    "method": c.method,
                    "n_target": size,
                    "seconds": c.cost.total,
                    "gain": metric.shown_points(gain),
                    "low": math.nan if low is None else metric.shown_points(low),
                    "high": math.nan if high is None else metric.shown_points(high),
                    "with_source": c.facts.with_source,
                    "recommended": c.facts.name == decision.recommended,
                }
                for c, (gain, low, high) in arms
            ]
        )
        order = rows.sort_values(["seconds", "gain"], ascending=[True, False])
        front = order[order["gain"] > order["gain"].cummax().shift(fill_value=-np.inf)]
        rows["on_front"] = rows.index.isin(front.index)
        named = rows.assign(
            said=[metric.gain(gain) for _, (gain, *_) in arms],
            name=[summary.frames.name_of(*c.arm) for c, _ in arms],
        )
        labels = sizes_in_words([size])
        caption = f"Time against gain with {labels}."
        yield _figure(f"time-{size}", partial(_times, metric, named, front, labels), rows, caption, labels)


def _times(metric: Measure, rows: pd.DataFrame, front: pd.DataFrame, labels: str, width: float) -> Canvas:
    canvas = new_figure(width, 3.4)
    axes = canvas.subplots()
    axes.axhline(0.0, color=INK, linewidth=0.9, zorder=0.5)
    axes.plot(front["seconds"], front["gain"], "-", color=INK, linewidth=0.8, alpha=0.5, zorder=1)
    for one in rows.to_dict("records"):
        colour = WITH_SOURCE if one["with_source"] else WITHOUT
        axes.plot([one["seconds"]] * 2, [one["low"], one["high"]], color=colour, linewidth=1.2, alpha=0.35)
        mark = RECOMMENDED if one["recommended"] else "o" if one["with_source"] else "s"
        (drawn_mark,) = axes.plot(
            one["seconds"],
            one["gain"],
            mark,
            color=colour,
            markerfacecolor=colour if one["on_front"] else PAPER,
            markersize=12 if one["recommended"] else 6,
        )
        tip(drawn_mark, f"{one['name']}: {one['said']}, {duration(one['seconds'])}")
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    for one in rows[rows["on_front"] | rows["recommended"]].to_dict("records"):
        side = -1 if one["seconds"] ** 2 > low * high else 1  # towards the middle, where there is room
        axes.annotate(
            beside_axis(one["name"], width=int(_LETTERS * width)),
            (one["seconds"], one["gain"]),
            (6 * side, 4),
            textcoords="offset points",
            horizontalalignment="left" if side > 0 else "right",
            fontsize=8,
            color=INK,
        )
    ticks = [one for one in _TIMES if low <= one <= high]
    axes.set_xticks(ticks, [rough_duration(one) if one >= 1 else f"{one:g} s" for one in ticks])
    axes.set_xticks([], minor=True)
    least, most = min(rows["gain"].min(), 0.0), max(rows["gain"].max(), 0.0)
    room = 0.3 * max(rows["gain"].max() - rows["gain"].min(), abs(metric.shown_points(1.0)))
    axes.set_ylim(least - room, most + room)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}".replace("-", "−")))
    axes.set_xlabel("Time of a run with its pretraining")
    axes.set_ylabel(f"{metric.points_name} over the best baseline")
    axes.set_title(labels)
    return canvas
