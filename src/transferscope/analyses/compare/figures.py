"""The figures behind a comparison: learning curves over labels, and training curves."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis, evenly_chosen, tick_name
from transferscope.report.figures.panels import multiples
from transferscope.report.figures.style import (
    BASELINE_COLOUR,
    INK,
    NARROW,
    QUIET,
    MarkStyle,
    drawing,
    mark_styles,
    tip,
)
from transferscope.study.metric import Metric
from transferscope.wording import sizes_in_words

_MOST_ARMS = 12
_CLIMB = 0.1  # of the training steps, in which all curves climb


def draw_labels(summary: Summary) -> Figure:
    """The figure; for a study with at least two numbers of labels."""
    frames, metric = summary.frames, summary.frames.metric
    table = summary.table.assign(
        **{name: summary.table[name] * metric.scale for name in ("mean", "low", "high")}  # to the unit of the axis
    )
    arms = [arm for arm in summary.arms if arm[1] != frames.baseline] or list(summary.arms)
    shown, sizes = arms[:_MOST_ARMS], np.unique(table["n_target"])
    styles = mark_styles(frames.methods, frames.baseline)
    scratch = table[table["method"] == frames.baseline]

    def drawn(n_columns: int, width: float) -> Canvas:
        canvas, panels = multiples(len(shown), n_columns, width=width, height=1.75)
        for axes, (source, method) in zip(panels, shown, strict=True):
            _thin_lines(axes, [_of_arm(table, other) for other in shown], "n_target", 1.0)
            _labels_line(axes, scratch, styles[frames.baseline] if frames.baseline else None, "From scratch", metric)
            name = summary.name_of(source, method)
            _labels_line(axes, _of_arm(table, (source, method)), styles[method], name, metric)
            axes.set_title(beside_axis(name, width=26), fontsize=8.5)
            if sizes[-1] >= 5 * sizes[0] > 0:
                axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.minorticks_off()
        low, high = table["mean"].min(), table["mean"].max()
        room = 0.35 * (high - low) or 1.0
        panels[0].set_ylim(
            max(low - room, min(table["low"].min(), low)), min(high + room, max(table["high"].max(), high))
        )
        canvas.supxlabel("Labelled target examples", fontsize="medium", color=INK)
        canvas.supylabel(metric.title, fontsize="medium", color=INK)
        return canvas

    with drawing():
        wide = drawn(4, 9.2)
    left_out = f" Shown are the best {_MOST_ARMS} of {len(arms)} arms." if len(arms) > len(shown) else ""
    return Figure(
        name="labels",
        canvas=wide,
        narrow=lambda: drawn(2, NARROW),
        data=summary.table[["source", "method", "n_target", "n_seeds", "mean", "low", "high", "interval_over"]],
        caption=(
            "A panel for each arm, best first: mean over seeds with its 95 % interval, beside training from scratch "
            f"(dashed) and the other arms (thin).{left_out}"
        ),
    )


def _of_arm(table: pd.DataFrame, arm: tuple[str, str]) -> pd.DataFrame:
    return table[(table["source"] == arm[0]) & (table["method"] == arm[1])]


def _thin_lines(axes: Axes, arms: Sequence[pd.DataFrame], x: str, scale: float) -> None:
    broken = [pd.concat([arm[[x, "mean"]], pd.DataFrame({x: [np.nan], "mean": [np.nan]})]) for arm in arms]
    lines = pd.concat(broken)
    axes.plot(lines[x], lines["mean"] * scale, color=QUIET, linewidth=0.7, alpha=0.5, zorder=1)


def _labels_line(axes: Axes, rows: pd.DataFrame, style: MarkStyle | None, name: str, metric: Metric) -> None:
    if style is None or rows.empty:
        return
    x, dashed = rows["n_target"].to_numpy(), style.colour == BASELINE_COLOUR
    mark = "" if dashed else style.mark
    dashes = "--" if dashed else "-"
    (line,) = axes.plot(x, rows["mean"], dashes, color=style.colour, linewidth=1.6, marker=mark, markersize=4)
    axes.fill_between(x, rows["low"], rows["high"], color=style.colour, alpha=0.1 if dashed else 0.22, linewidth=0)
    values = [
        f"{name}, {n:,} labels: {metric.shown(mean / metric.scale)}"
        for n, mean in zip(rows["n_target"], rows["mean"], strict=True)
    ]
    tip(line, *(values if not dashed else [name]))


def draw_curves(summary: Summary) -> Figure | None:
    """The figure; None when the study keeps no curves."""
    frames, metric = summary.frames, summary.frames.metric.along
    curves = _over_seeds(frames.curves(metric.record))
    if curves.empty:
        return None
    sizes = evenly_chosen(sorted(curves["n_target"].unique().tolist()), 2)
    known = set(zip(curves["source"], curves["method"], strict=True))
    arms = [arm for arm in summary.arms if arm in known and arm[1] != frames.baseline]
    arms = arms or [arm for arm in summary.arms if arm in known]
    shown = arms[: _MOST_ARMS if len(sizes) == 1 else 8]
    styles = mark_styles(frames.methods, frames.baseline)
    climb = _CLIMB * float(curves["step"].max())

    def drawn(n_columns: int, width: float) -> Canvas:
        n_columns = -(-len(shown) // -(-len(shown) // n_columns))  # rows of equal length, as far as they can be
        spare: list[tuple[str, str] | None] = [None] * (-len(shown) % n_columns)  # every number of labels begins a row
        places = [(size, arm) for size in sizes for arm in [*shown, *spare]]
        canvas, panels = multiples(len(places), n_columns, width=width, height=1.6, share_height=False)
        for axes, (size, arm) in zip(panels, places, strict=True):
            if arm is None:
                axes.set_visible(False)
                continue
            source, method = arm
            own = curves[
                (curves["n_target"] == size) & curves["method"].isin([m for _, m in shown] + [frames.baseline])
            ]
            _thin_lines(axes, [_of_arm(own, other) for other in shown], "step", metric.scale)
            if frames.baseline is not None:
                _curve(axes, _of_arm(own, ("", frames.baseline)), styles[frames.baseline], "--", metric)
            _curve(axes, _of_arm(own, arm), styles[method], "-", metric)
            after = own[own["step"] >= climb] if (own["step"] >= climb).any() else own
            low, high = metric.scale * after["mean"].min(), metric.scale * after["mean"].max()
            room = 0.08 * (high - low) or 1.0
            axes.set_ylim(low - room, high + room)
            inside = own[(own["mean"] * metric.scale).between(low - room, high + room)]
            axes.set_xlim(left=float(inside["step"].min()))
            labels = f", {size:,}" if len(sizes) > 1 else ""
            axes.set_title(f"{beside_axis(summary.name_of(source, method), width=22)}{labels}", fontsize=8)
        canvas.supxlabel("Training step", fontsize="medium", color=INK)
        canvas.supylabel(metric.title, fontsize="medium", color=INK)
        return canvas

    with drawing():
        wide = drawn(4, 9.2)
    left_out = f" Shown are the best {len(shown)} of {len(arms)} arms." if len(arms) > len(shown) else ""
    return Figure(
        name="curves",
        canvas=wide,
        narrow=lambda: drawn(2, NARROW),
        data=curves,
        caption=(
            f"Test scores along the training with {sizes_in_words(sizes)}, which nothing was chosen by: mean over "
            f"seeds, with the range of all seeds. Dashed: training from scratch; thin: the other arms.{left_out}"
        ),
    )


def _curve(axes: Axes, rows: pd.DataFrame, style: MarkStyle, dashes: str, metric: Metric) -> None:
    if rows.empty:
        return
    (line,) = axes.plot(rows["step"], rows["mean"] * metric.scale, dashes, color=style.colour, linewidth=1.4)
    low, high = rows["min"] * metric.scale, rows["max"] * metric.scale
    axes.fill_between(rows["step"], low, high, color=style.colour, alpha=0.08 if dashes == "--" else 0.2, linewidth=0)
    last = rows.iloc[-1]
    tip(line, f"{tick_name(str(last['method']))}: {metric.shown(last['mean'])} after {last['step']:,.0f} steps")


def _over_seeds(curves: pd.DataFrame) -> pd.DataFrame:
    grouped = curves.groupby(["source", "method", "n_target", "step"], sort=False)["value"]
    return grouped.agg(["mean", "min", "max", "count"]).reset_index()
