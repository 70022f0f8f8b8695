"""Training curves: score on the target test set while a method trains."""

import pandas as pd

from transferscope.report.blocks import Figure
from transferscope.report.figures.palette import Look, looks
from transferscope.report.figures.panels import Panel, add_legend, new_grid
from transferscope.report.figures.style import drawing
from transferscope.report.results import Summary


def draw_curves(summary: Summary) -> Figure | None:
    """The figure; None when the study keeps no curves."""
    frames = summary.frames
    curves = _over_seeds(frames.curves(frames.metric.record))
    if curves.empty:
        return None
    look = looks(frames.methods, frames.baseline)
    drawn = [method for method in frames.methods if (curves["method"] == method).any()]
    with drawing():
        grid = new_grid(summary, height=2.1, x_title="Training step", y_title=frames.metric.title)
        for panel in grid.panels:
            _draw(panel, curves, look, summary)
        add_legend(grid.canvas, summary, drawn)
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


def _draw(panel: Panel, curves: pd.DataFrame, look: dict[str, Look], summary: Summary) -> None:
    scale = summary.frames.metric.scale
    for method, rows in panel.rows(curves).groupby("method", sort=False):
        style = look[str(method)]
        dashes = "--" if method == summary.frames.baseline else "-"
        panel.axes.plot(rows["step"], rows["mean"] * scale, dashes, color=style.colour, linewidth=1.4)
        low, high = rows["min"] * scale, rows["max"] * scale
        panel.axes.fill_between(rows["step"], low, high, color=style.colour, alpha=0.12, linewidth=0)
