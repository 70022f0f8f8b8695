"""Every run of every method, those of one seed joined by a line: what pairing takes out."""

from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import tick_name
from transferscope.report.figures.palette import Look, looks
from transferscope.report.figures.panels import Panel, new_grid
from transferscope.report.figures.style import QUIET, drawing
from transferscope.report.results import Summary


def draw_seeds(summary: Summary) -> Figure:
    """The figure."""
    frames = summary.frames
    look = looks(frames.methods, frames.baseline)
    with drawing():
        grid = new_grid(summary, height=2.5, x_title="", y_title=frames.metric.title)
        for panel in grid.panels:
            _draw(panel, summary, look)
    return Figure(
        name="seeds",
        canvas=grid.canvas,
        data=summary.runs,
        caption=(
            "Every run. A line joins the runs of one seed, which share the target labels: parallel lines mean that the "
            f"seed matters more than chance, and that pairing pays.{grid.left_out}"
        ),
    )


def _draw(panel: Panel, summary: Summary, look: dict[str, Look]) -> None:
    rows, scale = panel.rows(summary.runs), summary.frames.metric.scale
    methods = [method for method in summary.frames.methods if (rows["method"] == method).any()]
    places = {method: i for i, method in enumerate(methods)}
    for _, runs in rows.groupby("seed"):
        joined = sorted(zip(runs["method"].map(places), runs["value"] * scale, strict=True))
        panel.axes.plot(*zip(*joined, strict=True), color=QUIET, linewidth=0.7, alpha=0.8, zorder=1)
    for method, runs in rows.groupby("method"):
        style = look[str(method)]
        x = [places[str(method)]] * len(runs)
        panel.axes.plot(x, runs["value"] * scale, style.mark, color=style.colour, markersize=4.5, alpha=0.85)
    names = [tick_name(method) for method in methods]
    panel.axes.set_xticks(range(len(methods)), names, rotation=30, ha="right", rotation_mode="anchor")
    panel.axes.set_xlim(-0.4, len(methods) - 0.6)
    panel.axes.grid(axis="x", visible=False)
