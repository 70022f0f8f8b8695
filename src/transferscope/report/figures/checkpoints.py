"""Score after transfer against the length of pre-training."""

from collections.abc import Sequence

from transferscope.report.blocks import Figure
from transferscope.report.checkpoints import CheckpointSeries, checkpoint_runs
from transferscope.report.figures.palette import looks
from transferscope.report.figures.panels import add_legend, new_grid
from transferscope.report.figures.style import QUIET, drawing
from transferscope.report.results import Summary


def draw_checkpoints(summary: Summary, found: Sequence[CheckpointSeries]) -> Figure:
    """The figure: a panel for each source and number of labels, a line for each method, the best step marked."""
    frames, scale = summary.frames, summary.frames.metric.scale
    look = looks(frames.methods, frames.baseline)
    with drawing():
        grid = new_grid(summary, height=2.1, x_title="Steps of pre-training", y_title=frames.metric.title)
        for panel in grid.panels:
            for series in found:
                if (series.source, series.n_target) != (panel.source, panel.n_target):
                    continue
                style, table = look[series.method], series.table
                panel.axes.plot(table["step"], table["mean"] * scale, "-", color=style.colour, linewidth=1.4)
                low, high = table["low"] * scale, table["high"] * scale
                panel.axes.fill_between(table["step"], low, high, color=style.colour, alpha=0.12, linewidth=0)
                best = table[table["step"] == series.best]
                panel.axes.plot(best["step"], best["mean"] * scale, style.mark, color=style.colour, markersize=7)
            for c in summary.comparisons:
                if c.call == "baseline" and c.n_target == panel.n_target:
                    panel.axes.axhline(c.score.value * scale, color=QUIET, linestyle="--", linewidth=1)
            panel.axes.set_xlim(left=0)
        drawn = {series.method for series in found} | {str(frames.baseline)}
        add_legend(grid.canvas, summary, [method for method in frames.methods if method in drawn])
    return Figure(
        name="checkpoints",
        canvas=grid.canvas,
        data=checkpoint_runs(summary),
        caption=(
            f"{frames.metric.title} after transfer from earlier steps of one pre-training: mean over seeds with its "
            f"95 % interval; the large mark is the best step, the dashed line training from scratch.{grid.left_out}"
        ),
    )
