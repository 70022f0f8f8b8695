"""The figures behind a comparison: learning curves over labels, and training curves."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis, evenly_chosen
from transferscope.report.figures.panels import multiples, side_by_side
from transferscope.report.figures.style import INK, QUIET, RECOMMENDED, WITH_SOURCE, WITHOUT, drawing, tip
from transferscope.study.frames import StudyFrames
from transferscope.wording import sizes_in_words

_MOST_ARMS = 8
_CLIMB = 0.1  # of the training steps, in which all curves climb


def draw_labels(summary: Summary) -> Figure | None:
    """Scores over numbers of labels, beside those of the best without a source; None without one, or without others."""
    metric, decided = summary.frames.metric, summary.decided
    line = {
        n: next(arm.mean or 0.0 for arm in one.arms if arm.name == one.best_without)
        for n, one in decided.items()
        if one.best_without is not None
    }
    by_arm = {(c.source or "", c.method, c.n_target): c for c in summary.comparisons if c.facts.gain is not None}
    arms = [arm for arm in summary.frames.arms if any((*arm, n) in by_arm for n in line)]
    if len(line) < 2 or not arms:
        return None
    shown, sizes = arms[:_MOST_ARMS], list(line)

    def panel(axes: Axes, arm: tuple[str, str]) -> None:
        axes.plot(sizes, list(line.values()), "s-", color=WITHOUT, markersize=4, linewidth=1.2)
        own = [by_arm[*arm, n] for n in sizes if (*arm, n) in by_arm]
        axes.plot([c.n_target for c in own], [c.facts.mean or 0.0 for c in own], color=WITH_SOURCE, linewidth=1.4)
        for c in own:
            n, mean, gain = c.n_target, c.facts.mean or 0.0, c.facts.gain
            if gain is not None and gain.low is not None and gain.high is not None:
                axes.plot([n, n], [line[n] + gain.low, line[n] + gain.high], color=WITH_SOURCE, linewidth=1.8)
            recommended = c.facts.name == decided[n].recommended
            mark = RECOMMENDED if recommended else "o"
            (drawn,) = axes.plot(n, mean, mark, color=WITH_SOURCE, markersize=11 if recommended else 4.5)
            tip(drawn, f"{c.facts.name}, {n:,} labels: {metric.level(mean)}")
        axes.set_title(beside_axis(summary.frames.name_of(*arm), width=26), fontsize=8.5)
        if sizes[-1] >= 5 * sizes[0] > 0:
            axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: metric.level(value).replace(".0 %", " %"))

    def drawn(n_columns: int, width: float) -> Canvas:
        canvas, panels = multiples(len(shown), n_columns, width=width, height=1.9)
        for axes, arm in zip(panels, shown, strict=True):
            panel(axes, arm)
        own = [by_arm[*arm, n].facts.mean or 0.0 for arm in shown for n in sizes if (*arm, n) in by_arm]
        means = [*line.values(), *own]
        room = 0.35 * (max(means) - min(means)) or 1.0
        low, high = panels[0].get_ylim()
        panels[0].set_ylim(max(low, min(means) - room), min(high, max(means) + room))
        canvas.supxlabel("Labelled target examples", fontsize="medium", color=INK)
        canvas.supylabel(f"{metric.name}, better →", fontsize="medium", color=INK)
        return canvas

    with drawing():
        wide = drawn(4, 9.2)
    left_out = f" Shown are the best {_MOST_ARMS} of {len(arms)} arms." if len(arms) > len(shown) else ""
    return Figure(
        name="labels",
        canvas=wide,
        narrow=lambda inches: drawn(side_by_side(inches, 1.6), inches),
        data=summary.table[["source", "method", "n_target", "n_seeds", "mean", "low", "high", "interval_over"]],
        caption=(
            "A panel for each arm with a source, best first. Grey: the best without one at each number of labels; an "
            f"interval clear of it is called better or worse. Star: the arm to use.{left_out}"
        ),
    )


def _of_arm(table: pd.DataFrame, arm: tuple[str, str]) -> pd.DataFrame:
    return table[(table["source"] == arm[0]) & (table["method"] == arm[1])]


def _thin_lines(axes: Axes, arms: Sequence[pd.DataFrame], scale: float) -> None:
    broken = [pd.concat([arm[["step", "mean"]], pd.DataFrame({"step": [np.nan], "mean": [np.nan]})]) for arm in arms]
    lines = pd.concat(broken)
    axes.plot(lines["step"], lines["mean"] * scale, color=QUIET, linewidth=0.5, zorder=1)


def draw_curves(summary: Summary) -> Figure | None:
    """The figure; None when the study keeps no curves."""
    frames, metric = summary.frames, summary.frames.metric.along
    curves = _over_seeds(frames.curves(metric.record))
    if curves.empty:
        return None
    sizes = evenly_chosen(sorted(curves["n_target"].unique().tolist()), 2)
    known = set(zip(curves["source"], curves["method"], strict=True))
    arms = [arm for arm in summary.frames.arms if arm in known and arm[1] != frames.baseline]
    arms = arms or [arm for arm in summary.frames.arms if arm in known]
    shown = arms[: _MOST_ARMS if len(sizes) == 1 else 4]
    with_source = {(c.source or "", c.method) for c in summary.comparisons if c.facts.with_source}
    used = {(c.source or "", c.method, n) for n in sizes for c in summary.comparisons
            if c.n_target == n and c.facts.name == summary.decided[n].recommended}  # fmt: skip
    climb = _CLIMB * float(curves["step"].max())

    def drawn(n_columns: int, width: float) -> Canvas:
        n_columns = -(-len(shown) // -(-len(shown) // n_columns))  # rows of equal length, as far as they can be
        spare: list[tuple[str, str] | None] = [None] * (-len(shown) % n_columns)  # every number of labels begins a row
        places = [(size, arm) for size in sizes for arm in [*shown, *spare]]
        canvas, panels = multiples(len(places), n_columns, width=width, height=1.25, share_height=False)
        for axes, (size, arm) in zip(panels, places, strict=True):
            if arm is None:
                axes.set_visible(False)
                continue
            source, method = arm
            own = curves[
                (curves["n_target"] == size) & curves["method"].isin([m for _, m in shown] + [frames.baseline])
            ]
            _thin_lines(axes, [_of_arm(own, other) for other in shown], metric.scale)
            if frames.baseline is not None:
                _curve(axes, _of_arm(own, ("", frames.baseline)), WITHOUT, "--", frames)
            _curve(axes, _of_arm(own, arm), WITH_SOURCE if arm in with_source else WITHOUT, "-", frames)
            after = own[own["step"] >= climb] if (own["step"] >= climb).any() else own
            low, high = metric.scale * after["mean"].min(), metric.scale * after["mean"].max()
            room = 0.08 * (high - low) or 1.0
            axes.set_ylim(low - room, high + room)
            inside = own[(own["mean"] * metric.scale).between(low - room, high + room)]
            axes.set_xlim(left=float(inside["step"].min()))
            labels = f", {size:,}" if len(sizes) > 1 else ""
            star = "★ " if (source, method, size) in used else ""
            axes.set_title(f"{star}{beside_axis(summary.frames.name_of(source, method), width=22)}{labels}", fontsize=8)
        canvas.supxlabel("Training step", fontsize="medium", color=INK)
        canvas.supylabel(metric.title, fontsize="medium", color=INK)
        return canvas

    with drawing():
        wide = drawn(4, 9.2)
    left_out = f" Shown are the best {len(shown)} of {len(arms)} arms." if len(arms) > len(shown) else ""
    return Figure(
        name="curves",
        canvas=wide,
        narrow=lambda inches: drawn(side_by_side(inches, 1.6), inches),
        data=curves,
        caption=(
            f"Test scores along the training with {sizes_in_words(sizes)}, which nothing was chosen by: mean and range "
            f"of all seeds; blue: with a source. Dashed: training from scratch; thin: the other arms.{left_out}"
        ),
    )


def _curve(axes: Axes, rows: pd.DataFrame, colour: str, dashes: str, frames: StudyFrames) -> None:
    if rows.empty:
        return
    metric = frames.metric.along
    (line,) = axes.plot(rows["step"], rows["mean"] * metric.scale, dashes, color=colour, linewidth=1.4)
    low, high = rows["min"] * metric.scale, rows["max"] * metric.scale
    axes.fill_between(rows["step"], low, high, color=colour, alpha=0.08 if dashes == "--" else 0.2, linewidth=0)
    last = rows.iloc[-1]
    tip(line, f"{frames.tick_name(str(last['method']))}: {metric.shown(last['mean'])} after {last['step']:,.0f} steps")


def _over_seeds(curves: pd.DataFrame) -> pd.DataFrame:
    grouped = curves.groupby(["source", "method", "n_target", "step"], sort=False)["value"]
    return grouped.agg(["mean", "min", "max", "count"]).reset_index()
