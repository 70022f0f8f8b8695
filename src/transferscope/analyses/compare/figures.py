"""The figures behind a comparison: learning curves over labels, every run, training curves, errors by class."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import (
    MOST_CLASSES,
    beside_axis,
    evenly_chosen,
    short,
    tick_name,
)
from transferscope.report.figures.panels import Grid, Panel, multiples, new_grid
from transferscope.report.figures.style import (
    BASELINE_COLOUR,
    INK,
    NARROW,
    QUIET,
    MarkStyle,
    drawing,
    mark_styles,
    new_figure,
    tip,
)
from transferscope.study.frames import StudyFrames
from transferscope.study.metric import Metric
from transferscope.wording import listed

MOST_CONFUSED = 20
"""Classes in a picture of the best way."""

MOST_NARROW = 12
"""Classes that have room beside each other on a telephone."""

_HEAT, _MOST_HEAT = "#d55e00", 0.6  # so strong at most that text stays legible on light and dark paper
_MOST_ARMS = 12
_MOST_ROWS, _ROWS_OF_MORE = 30, 12
_MOST_SEEDS = 50  # that are drawn one by one
_QUANTILES = (0.05, 0.25, 0.75, 0.95)
_CLIMB = 0.1  # of the training steps, in which all curves climb


def candidate_tick(comparison: Comparison) -> str:
    """A method and its source on an axis."""
    name = tick_name(comparison.method)
    return f"{name} from {comparison.source}" if comparison.source else name


def _quantile_bars(axes: Axes, values: pd.Series, at: float, style: MarkStyle, *, upright: bool = False) -> None:
    """Very many runs: a thin bar from the 5 % to the 95 % quantile, and a thick one from the 25 % to the 75 %."""
    quantiles = np.quantile(values, _QUANTILES).tolist()
    for ends, width in (((quantiles[0], quantiles[3]), 1.0), ((quantiles[1], quantiles[2]), 3.5)):
        places = ([at, at], ends) if upright else (ends, [at, at])
        axes.plot(*places, color=style.colour, linewidth=width, alpha=0.55, solid_capstyle="butt")


def _most_rows(summary: Summary, compared: Sequence[Comparison]) -> tuple[list[Comparison], str]:
    """Comparisons of the best ways and of the baseline, as many as a figure has rows; a sentence on the others."""
    arms = [arm for arm in summary.arms if arm in {(c.source or "", c.method) for c in compared}]
    if len(arms) <= _MOST_ROWS:
        return list(compared), ""
    shown = {*arms[:_ROWS_OF_MORE], ("", summary.frames.baseline)}
    said = f" Shown are the best {_ROWS_OF_MORE} of {len(arms):,} ways; all are in the CSV."
    return [c for c in compared if (c.source or "", c.method) in shown], said


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
    left_out = f" Shown are the best {_MOST_ARMS} of {len(arms)} ways." if len(arms) > len(shown) else ""
    return Figure(
        name="labels",
        canvas=wide,
        narrow=lambda: drawn(2, NARROW),
        data=summary.table[["source", "method", "n_target", "n_seeds", "mean", "low", "high", "interval_over"]],
        caption=(
            f"{metric.title} against the number of target labels, a panel for each way, best first: mean over seeds, "
            "with the 95 % interval as a band (one that ends at the edge goes on). The dashed line is training from "
            f"scratch, thin lines are the other arms.{left_out}"
        ),
    )


def _of_arm(table: pd.DataFrame, arm: tuple[str, str]) -> pd.DataFrame:
    return table[(table["source"] == arm[0]) & (table["method"] == arm[1])]


def _thin_lines(axes: Axes, arms: Sequence[pd.DataFrame], x: str, scale: float) -> None:
    """The means of all ways in grey, as one broken line."""
    broken = [pd.concat([arm[[x, "mean"]], pd.DataFrame({x: [np.nan], "mean": [np.nan]})]) for arm in arms]
    lines = pd.concat(broken)
    axes.plot(lines[x], lines["mean"] * scale, color=QUIET, linewidth=0.7, alpha=0.5, zorder=1)


def _labels_line(axes: Axes, rows: pd.DataFrame, style: MarkStyle | None, name: str, metric: Metric) -> None:
    """One learning curve with its band; training from scratch is dashed."""
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


def draw_seeds(summary: Summary) -> Figure:
    """Every run; of more than _MOST_SEEDS seeds the quantiles."""
    frames = summary.frames
    styles = mark_styles(frames.methods, frames.baseline)
    several = len(frames.seeds) <= _MOST_SEEDS
    said = (
        "Every run. A line joins the runs of one seed, which share the target labels: parallel lines mean that the "
        "seed matters more than chance, and that pairing pays."
        if several
        else f"All {len(summary.runs):,} runs, of {len(frames.seeds):,} seeds: marks are medians, thin bars hold the "
        "middle 90 % of the runs, thick ones the middle 50 %. Every run is in the CSV."
    )
    kept, left_out = _most_rows(summary, summary.comparisons)
    arms = {(c.source or "", c.method) for c in kept}
    runs = summary.runs
    if left_out:
        runs = runs[[arm in arms for arm in zip(runs["source"], runs["method"], strict=True)]]

    def drawn(*, narrow: bool) -> Grid:
        y_title = frames.metric.title
        grid = new_grid(frames.sizes, frames.sources, height=2.5, x_title="", y_title=y_title, narrow=narrow)
        for panel in grid.panels:
            _draw_runs(panel, runs, summary, styles, one_by_one=several)
        return grid

    with drawing():
        wide = drawn(narrow=False)
    return Figure(
        name="seeds",
        canvas=wide.canvas,
        narrow=lambda: drawn(narrow=True).canvas,
        data=summary.runs,
        caption=f"{said}{left_out}{wide.left_out}",
    )


def _draw_runs(
    panel: Panel, runs: pd.DataFrame, summary: Summary, styles: dict[str, MarkStyle], *, one_by_one: bool
) -> None:
    rows, metric = panel.rows(runs), summary.frames.metric
    found = set(zip(rows["source"], rows["method"], strict=True))
    methods = [method for source, method in summary.arms if (source, method) in found]
    places = {method: i for i, method in enumerate(methods)}
    for _, of_seed in rows.groupby("seed") if one_by_one else ():
        joined = sorted(zip(of_seed["method"].map(places), of_seed["value"] * metric.scale, strict=True))
        panel.axes.plot(*zip(*joined, strict=True), color=QUIET, linewidth=0.7, alpha=0.8, zorder=1)
    for method, own in rows.groupby("method"):
        style, at, name = styles[str(method)], places[str(method)], tick_name(str(method))
        values = own["value"] * metric.scale
        if not one_by_one:
            _quantile_bars(panel.axes, values, at, style, upright=True)
        shown = values if one_by_one else [values.median()]
        (marks,) = panel.axes.plot([at] * len(shown), shown, style.mark, color=style.colour, markersize=4.5, alpha=0.85)
        if one_by_one:
            of_seeds = zip(own["seed"], own["value"], strict=True)
            tip(marks, *(f"{name}, seed {seed}: {metric.shown(value)}" for seed, value in of_seeds))
        else:
            tip(marks, f"{name}: median {metric.shown(own['value'].median())} of {len(own):,} runs")
    names = [tick_name(method) for method in methods]
    panel.axes.set_xticks(range(len(methods)), names, rotation=30, ha="right", rotation_mode="anchor")
    panel.axes.set_xlim(-0.4, len(methods) - 0.6)
    panel.axes.grid(axis="x", visible=False)


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
    left_out = f" Shown are the best {len(shown)} of {len(arms)} ways." if len(arms) > len(shown) else ""
    with_labels = f" with {listed([f'{size:,}' for size in sizes])} labels" if len(sizes) > 1 else ""
    return Figure(
        name="curves",
        canvas=wide,
        narrow=lambda: drawn(2, NARROW),
        data=curves,
        caption=(
            f"Training curves{with_labels}, a panel for each way, best first: mean over seeds, with the range from the "
            "lowest to the highest seed as a band. The dashed line is training from scratch, thin lines are the other "
            "ways. The axes leave out the first climb. The test set is only watched here; "
            f"nothing was chosen by it.{left_out}"
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


def draw_classes(summary: Summary) -> Figure | None:
    """The figure at the largest number of labels; None without classes or predictions."""
    errors = class_errors(summary.frames)
    if errors.empty:
        return None
    n_target = int(errors["n_target"].max())
    own = errors[errors["n_target"] == n_target]
    arms = [summary.name_of(*arm) for arm in summary.arms]
    rows = [summary.name_of(source, method) for source, method in zip(own["source"], own["method"], strict=True)]
    wide = 100 * own.assign(row=rows).pivot(index="row", columns="class", values="error")[own["class"].unique()]
    best = [arm for arm in arms if arm in wide.index]
    shown = best if len(best) <= _MOST_ROWS else best[:_ROWS_OF_MORE]
    wide = wide.loc[shown]
    n_classes = wide.shape[1]
    worst = set(wide.mean().sort_values(ascending=False).index[:MOST_CLASSES])
    wide = wide.loc[:, [name for name in wide.columns if name in worst]]

    def drawn(width: float) -> Canvas:
        canvas = new_figure(width, 1.3 + 0.3 * len(wide))
        heat_map(canvas.subplots(), wide, "{row}, {column}: {value:.1f} % wrong")
        return canvas

    with drawing():
        canvas = drawn(min(9.2, 2.6 + 0.52 * wide.shape[1]))
    left_out = (
        f" Shown are the {MOST_CLASSES} classes with most errors of {n_classes}." if n_classes > MOST_CLASSES else ""
    )
    left_out += f" Shown are the best {len(shown)} of {len(best):,} ways." if len(shown) < len(best) else ""
    return Figure(
        name="classes",
        canvas=canvas,
        narrow=(lambda: drawn(NARROW)) if wide.shape[1] <= MOST_NARROW else None,
        data=errors,
        caption=f"Errors by class with {n_target:,} labels, in percent of the test examples of the class.{left_out}",
    )


def class_errors(frames: StudyFrames) -> pd.DataFrame:
    """Error rate of each method on each class, over all seeds.

    Returns:
        Columns source, method, n_target, class, n_examples, error (mean over seeds, a fraction); empty for a regression
        or when predictions or labels were not kept.
    """
    columns = ["source", "method", "n_target", "class", "n_examples", "error"]
    labels = frames.test_labels
    if labels is None or frames.classes is None or not frames.metric.is_of_classes:
        return pd.DataFrame(columns=columns)
    counts = np.bincount(labels, minlength=len(frames.classes))
    rows = []
    kept = frames.method_cells[frames.method_cells["key"].isin(frames.predictions.keys())]
    for group, cells in kept.groupby(["source", "method", "n_target"], sort=False):
        wrong = np.mean([frames.predictions[key] != labels for key in cells["key"]], axis=0)
        errors = np.bincount(labels, weights=wrong, minlength=len(counts)) / np.maximum(counts, 1)
        rows += [
            (*group, name, int(n), float(error))
            for name, n, error in zip(frames.classes, counts, errors, strict=True)
            if n
        ]
    return pd.DataFrame(rows, columns=columns)


def heat_map(axes: Axes, table: pd.DataFrame, words: str) -> None:
    """A table as coloured cells with their numbers; the colour is see-through, so that it suits light and dark paper.

    Args:
        axes: Where to draw.
        table: Numbers of at least 0, NaN for an empty cell; row and column names go to the axes.
        words: What hovering over a cell says, with {row}, {column} and {value}.
    """
    values = table.to_numpy(dtype=np.float64)
    top = max(float(np.nanmax(values, initial=0.0)), 1.0)
    for i, j in np.ndindex(*values.shape):
        if np.isnan(values[i, j]):
            continue
        alpha = _MOST_HEAT * values[i, j] / top
        cell = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=_HEAT, alpha=alpha, linewidth=0)
        axes.add_patch(cell)
        tip(cell, words.format(row=table.index[i], column=table.columns[j], value=values[i, j]))
        axes.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", color=INK, fontsize="small")
    axes.set_xlim(-0.5, values.shape[1] - 0.5)
    axes.set_ylim(values.shape[0] - 0.5, -0.5)
    names = [short(str(name)) for name in table.columns]
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(table)), [beside_axis(str(name), width=30) for name in table.index])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
