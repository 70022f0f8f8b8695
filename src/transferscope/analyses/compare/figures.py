"""The figures of a comparison: scores, differences to training from scratch, every run, curves, errors by class."""

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.frames import StudyFrames
from transferscope.analyses.compare.metric import Metric
from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import (
    MOST_CLASSES,
    MOST_SIZES,
    MOST_SOURCES,
    evenly_chosen,
    short,
    shown_of,
    tick_name,
)
from transferscope.report.figures.palette import MarkStyle, mark_styles
from transferscope.report.figures.panels import Panel, add_legend, new_grid
from transferscope.report.figures.style import INK, PAPER, QUIET, direct_labels, drawing, new_figure

_PANELS_IN_A_ROW = 2
_RAISED = 0.24  # of the seeds above the bar, in rows
_COLOURS = "YlOrBr"


def draw_dots(summary: Summary) -> Figure:
    """The figure; for a study with one number of labels."""
    frames, metric = summary.frames, summary.frames.metric
    ordered = sorted(summary.comparisons, key=lambda c: c.score.value, reverse=not metric.higher_is_better)
    styles = mark_styles(frames.methods, frames.baseline)
    with drawing():
        canvas = new_figure(7.4, 0.9 + 0.36 * len(ordered))
        axes = canvas.subplots()
        for row, comparison in enumerate(ordered):
            _dots_row(axes, row, comparison, summary.runs, styles[comparison.method], metric)
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


def _dots_row(axes: Axes, row: int, c: Comparison, runs: pd.DataFrame, style: MarkStyle, metric: Metric) -> None:
    own = runs[(runs["method"] == c.method) & (runs["source"] == (c.source or ""))]
    seeds = own["value"] * metric.scale
    axes.plot(seeds, [row + 0.24] * len(own), "o", color=style.colour, markersize=3, alpha=0.55)
    if c.interval:
        ends = [c.interval.low * metric.scale, c.interval.high * metric.scale]
        axes.plot(ends, [row, row], color=style.colour, linewidth=2, solid_capstyle="round")
    axes.plot(c.score.value * metric.scale, row, style.mark, color=style.colour, markersize=7)


def _baseline(axes: Axes, comparisons: list[Comparison], metric: Metric) -> None:
    for c in comparisons:
        if c.call == "baseline":
            axes.axvline(c.score.value * metric.scale, color=QUIET, linestyle="--", linewidth=1, zorder=0.5)
            if c.interval:
                low, high = c.interval.low * metric.scale, c.interval.high * metric.scale
                axes.axvspan(low, high, color=QUIET, alpha=0.15, linewidth=0, zorder=0.4)


def draw_labels(summary: Summary) -> Figure:
    """The figure; for a study with at least two numbers of labels."""
    frames, metric = summary.frames, summary.frames.metric
    table = summary.table.assign(
        **{name: summary.table[name] * metric.scale for name in ("mean", "low", "high")}  # to the unit of the axis
    )
    sources = evenly_chosen(frames.sources, MOST_SOURCES) or [""]
    n_columns = min(len(sources), _PANELS_IN_A_ROW)
    n_rows = -(-len(sources) // n_columns)
    styles = mark_styles(frames.methods, frames.baseline)
    with drawing():
        canvas = new_figure(4.6 * n_columns if n_columns > 1 else 6.4, 3.5 * n_rows)
        axes = canvas.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for panel, source in zip(axes.flat, sources, strict=False):
            _labels_panel(panel, table[table["source"].isin(["", source])], styles, frames.baseline)
            panel.set_title(f"from {source}" if source else "")
        for panel in axes.flat[len(sources) :]:
            panel.set_visible(False)
        for panel in axes[:, 0]:
            panel.set_ylabel(metric.title)
        for panel in axes.flat[max(0, len(sources) - n_columns) : len(sources)]:
            panel.set_xlabel("Labelled target examples")
    return Figure(
        name="labels",
        canvas=canvas,
        data=summary.table[["source", "method", "n_target", "n_seeds", "mean", "low", "high", "interval_over"]],
        caption=(
            f"{metric.title} against the number of target labels: mean over seeds, with 95 % intervals as bands. "
            "The dashed grey line is training from scratch."
            f"{shown_of('source', sources, frames.sources or [''])}"
        ),
    )


def _labels_panel(axes: Axes, table: pd.DataFrame, styles: dict[str, MarkStyle], baseline: str | None) -> None:
    ends, colours = {}, {}
    for method, rows in table.groupby("method", sort=False):
        name, style = tick_name(str(method)), styles[str(method)]
        x = rows["n_target"].to_numpy()
        dashes = "--" if method == baseline else "-"
        axes.plot(x, rows["mean"], dashes, color=style.colour, marker=style.mark, markersize=4, linewidth=1.6)
        axes.fill_between(x, rows["low"], rows["high"], color=style.colour, alpha=0.15, linewidth=0)
        ends[name], colours[name] = float(rows["mean"].iloc[-1]), style.colour
    sizes = np.unique(table["n_target"])
    if sizes[-1] >= 5 * sizes[0] > 0:
        axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    direct_labels(axes, float(sizes[-1]), ends, colours, gap=0.065 * float(np.ptp(axes.get_ylim())))


def draw_differences(summary: Summary) -> Figure | None:
    """The figure; None when nothing can be compared with training from scratch."""
    compared = [c for c in summary.comparisons if c.difference]
    if not compared:
        return None
    frames, metric = summary.frames, summary.frames.metric
    sizes = evenly_chosen(sorted({c.n_target for c in compared}), MOST_SIZES)
    names = _worst_to_best(compared, sizes[-1])
    styles, pairs = mark_styles(frames.methods, frames.baseline), paired_runs(summary)
    with drawing():
        canvas = new_figure(5.2 if len(sizes) == 1 else min(9.2, 2.2 + 2.4 * len(sizes)), 0.95 + 0.33 * len(names))
        axes = canvas.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for panel, size in zip(axes, sizes, strict=True):
            for c in (c for c in compared if c.n_target == size):
                _difference_row(panel, names.index(candidate_tick(c)), c, pairs, styles[c.method], metric)
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
            "Small dots are seeds, bars 95 % intervals of the mean. Filled marks are better or worse than scratch by "
            "the p-value that is adjusted over the whole study, hollow ones are not known to be."
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


def _worst_to_best(compared: list[Comparison], size: int) -> list[str]:
    """Names from worst to best at one size; those without a result there first."""
    best = {candidate_tick(c): float("-inf") for c in compared}
    best |= {candidate_tick(c): c.difference.mean for c in compared if c.n_target == size and c.difference}
    return sorted(best, key=lambda name: best[name])


def _difference_row(axes: Axes, row: int, c: Comparison, pairs: pd.DataFrame, style: MarkStyle, metric: Metric) -> None:
    assert c.difference is not None
    chosen = (pairs["method"] == c.method) & (pairs["source"] == (c.source or "")) & (pairs["n_target"] == c.n_target)
    own = pairs.loc[chosen, "transferability"] * metric.scale
    axes.plot(own, [row + _RAISED] * len(own), "o", color=style.colour, markersize=2.5, alpha=0.55)
    if c.difference.interval:
        ends = [c.difference.interval.low * metric.scale, c.difference.interval.high * metric.scale]
        axes.plot(ends, [row, row], color=style.colour, linewidth=1.6, solid_capstyle="round")
    fill = style.colour if c.call in ("positive", "negative") else PAPER
    axes.plot(
        c.difference.mean * metric.scale, row, style.mark, color=style.colour, markerfacecolor=fill, markersize=6.5
    )


def _axis_title(metric: Metric) -> str:
    return "Points above training from scratch" if metric.higher_is_better else "Squared error saved against scratch"


def draw_seeds(summary: Summary) -> Figure:
    """The figure."""
    frames = summary.frames
    styles = mark_styles(frames.methods, frames.baseline)
    with drawing():
        grid = new_grid(frames.sizes, frames.sources, height=2.5, x_title="", y_title=frames.metric.title)
        for panel in grid.panels:
            _draw_runs(panel, summary, styles)
    return Figure(
        name="seeds",
        canvas=grid.canvas,
        data=summary.runs,
        caption=(
            "Every run. A line joins the runs of one seed, which share the target labels: parallel lines mean that the "
            f"seed matters more than chance, and that pairing pays.{grid.left_out}"
        ),
    )


def _draw_runs(panel: Panel, summary: Summary, styles: dict[str, MarkStyle]) -> None:
    rows, scale = panel.rows(summary.runs), summary.frames.metric.scale
    methods = [method for method in summary.frames.methods if (rows["method"] == method).any()]
    places = {method: i for i, method in enumerate(methods)}
    for _, runs in rows.groupby("seed"):
        joined = sorted(zip(runs["method"].map(places), runs["value"] * scale, strict=True))
        panel.axes.plot(*zip(*joined, strict=True), color=QUIET, linewidth=0.7, alpha=0.8, zorder=1)
    for method, runs in rows.groupby("method"):
        style = styles[str(method)]
        x = [places[str(method)]] * len(runs)
        panel.axes.plot(x, runs["value"] * scale, style.mark, color=style.colour, markersize=4.5, alpha=0.85)
    names = [tick_name(method) for method in methods]
    panel.axes.set_xticks(range(len(methods)), names, rotation=30, ha="right", rotation_mode="anchor")
    panel.axes.set_xlim(-0.4, len(methods) - 0.6)
    panel.axes.grid(axis="x", visible=False)


def draw_curves(summary: Summary) -> Figure | None:
    """The figure; None when the study keeps no curves."""
    frames = summary.frames
    curves = _over_seeds(frames.curves(frames.metric.record))
    if curves.empty:
        return None
    styles = mark_styles(frames.methods, frames.baseline)
    drawn = [method for method in frames.methods if (curves["method"] == method).any()]
    with drawing():
        grid = new_grid(frames.sizes, frames.sources, height=2.1, x_title="Training step", y_title=frames.metric.title)
        for panel in grid.panels:
            _draw_curves(panel, curves, styles, summary)
        add_legend(grid.canvas, styles, drawn, baseline=frames.baseline)
    return Figure(
        name="curves",
        canvas=grid.canvas,
        data=curves,
        caption=(
            "Training curves: mean over seeds, with the range from the lowest to the highest seed as a band. "
            f"The test set is only watched here; nothing was chosen by it.{grid.left_out}"
        ),
    )


def _over_seeds(curves: pd.DataFrame) -> pd.DataFrame:
    grouped = curves.groupby(["source", "method", "n_target", "step"], sort=False)["value"]
    return grouped.agg(["mean", "min", "max", "count"]).reset_index()


def _draw_curves(panel: Panel, curves: pd.DataFrame, styles: dict[str, MarkStyle], summary: Summary) -> None:
    scale = summary.frames.metric.scale
    for method, rows in panel.rows(curves).groupby("method", sort=False):
        style = styles[str(method)]
        dashes = "--" if method == summary.frames.baseline else "-"
        panel.axes.plot(rows["step"], rows["mean"] * scale, dashes, color=style.colour, linewidth=1.4)
        low, high = rows["min"] * scale, rows["max"] * scale
        panel.axes.fill_between(rows["step"], low, high, color=style.colour, alpha=0.12, linewidth=0)


def draw_classes(summary: Summary) -> Figure | None:
    """The figure at the largest number of labels; None without classes or predictions."""
    errors = class_errors(summary.frames)
    if errors.empty:
        return None
    n_target = int(errors["n_target"].max())
    wide = _wide(errors[errors["n_target"] == n_target])
    n_classes = wide.shape[1]
    worst = wide.mean().sort_values(ascending=False).index[:MOST_CLASSES]
    wide = wide.loc[:, [name for name in wide.columns if name in set(worst)]]
    with drawing():
        canvas = new_figure(min(9.2, 2.6 + 0.52 * wide.shape[1]), 1.3 + 0.3 * len(wide))
        _heat_map(canvas.subplots(), wide)
    left_out = (
        f" Shown are the {MOST_CLASSES} classes with most errors of {n_classes}." if n_classes > MOST_CLASSES else ""
    )
    return Figure(
        name="classes",
        canvas=canvas,
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
    if labels is None or frames.classes is None or frames.metric.record != "accuracy":
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


def _wide(errors: pd.DataFrame) -> pd.DataFrame:
    """A row for each method, best first; a column for each class. Values in percent."""
    names = [
        f"{tick_name(method)} from {source}" if source else tick_name(method)
        for method, source in zip(errors["method"], errors["source"], strict=True)
    ]
    wide = errors.assign(row=names).pivot(index="row", columns="class", values="error")[errors["class"].unique()]
    return 100 * wide.loc[wide.mean(axis=1).sort_values().index]


def _heat_map(axes: Axes, wide: pd.DataFrame) -> None:
    values = wide.to_numpy(dtype=np.float64)
    top = max(float(values.max()), 1.0)
    edges = [np.arange(n + 1) - 0.5 for n in (values.shape[1], values.shape[0])]
    axes.pcolormesh(*edges, values, cmap=colormaps[_COLOURS], vmin=0, vmax=top)
    axes.invert_yaxis()
    for i, j in np.ndindex(*values.shape):
        colour = "white" if values[i, j] > 0.6 * top else "black"
        axes.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", color=colour, fontsize="small")
    names = [short(str(name)) for name in wide.columns]
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(wide)), [str(name) for name in wide.index])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
