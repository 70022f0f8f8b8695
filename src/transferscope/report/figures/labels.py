"""Score against number of labels, with bands and the from-scratch line: one panel for each source."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_SOURCES, evenly_chosen, shown_of, tick_name
from transferscope.report.figures.palette import Look, looks
from transferscope.report.figures.style import direct_labels, drawing, new_figure
from transferscope.report.results import Summary

_PANELS_IN_A_ROW = 2


def draw_labels(summary: Summary) -> Figure:
    """The figure; for a study with at least two numbers of labels."""
    frames, metric = summary.frames, summary.frames.metric
    table = summary.table.assign(
        **{name: summary.table[name] * metric.scale for name in ("mean", "low", "high")}  # to the unit of the axis
    )
    sources = evenly_chosen(frames.sources, MOST_SOURCES) or [""]
    n_columns = min(len(sources), _PANELS_IN_A_ROW)
    n_rows = -(-len(sources) // n_columns)
    look = looks(frames.methods, frames.baseline)
    with drawing():
        canvas = new_figure(4.6 * n_columns if n_columns > 1 else 6.4, 3.5 * n_rows)
        axes = canvas.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for panel, source in zip(axes.flat, sources, strict=False):
            _panel(panel, table[table["source"].isin(["", source])], look, frames.baseline)
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


def _panel(axes: Axes, table: pd.DataFrame, look: dict[str, Look], baseline: str | None) -> None:
    ends, colours = {}, {}
    for method, rows in table.groupby("method", sort=False):
        name, style = tick_name(str(method)), look[str(method)]
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
