"""A grid of panels: a row for each source, a column for each number of labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from transferscope.report.figures.choice import (
    MOST_SIZES,
    MOST_SOURCES,
    evenly_chosen,
    shown_of,
    tick_name,
)
from transferscope.report.figures.palette import looks
from transferscope.report.figures.style import new_figure
from transferscope.report.results import Summary


@dataclass(frozen=True)
class Panel:
    """One panel of a grid.

    Attributes:
        axes: Where to draw.
        source: The source of its row; "" when the study has none.
        n_target: The number of labels of its column.
    """

    axes: Axes
    source: str
    n_target: int

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of `frame` that belong here: this size, and this source or none."""
        return frame.loc[(frame["n_target"] == self.n_target) & frame["source"].isin(["", self.source])]


@dataclass(frozen=True)
class Grid:
    """The panels of a figure.

    Attributes:
        canvas: The figure.
        panels: Row by row.
        left_out: A sentence on what does not fit; may be empty.
    """

    canvas: Figure
    panels: tuple[Panel, ...]
    left_out: str


def new_grid(summary: Summary, *, height: float, y_title: str) -> Grid:
    """An empty grid with titles; call it within `drawing`.

    Args:
        summary: The study.
        height: Of one panel, in inches.
        y_title: Title of the vertical axes.
    """
    frames = summary.frames
    sizes, sources = evenly_chosen(frames.sizes, MOST_SIZES), evenly_chosen(frames.sources, MOST_SOURCES) or [""]
    canvas = new_figure(6.4 if len(sizes) == 1 else min(9.2, 1.0 + 2.7 * len(sizes)), 0.7 + height * len(sources))
    axes = canvas.subplots(len(sources), len(sizes), sharex=True, sharey="col", squeeze=False)
    panels = [Panel(axes[i, j], source, size) for i, source in enumerate(sources) for j, size in enumerate(sizes)]
    for panel in panels:
        origin = f"from {panel.source}, " if panel.source else ""
        panel.axes.set_title(f"{origin}{panel.n_target:,} labels")
    for row in axes:
        row[0].set_ylabel(y_title)
    left_out = shown_of("number of labels", sizes, frames.sizes) + shown_of("source", sources, frames.sources or [""])
    return Grid(canvas, tuple(panels), left_out)


def add_legend(canvas: Figure, summary: Summary, methods: Sequence[str]) -> None:
    """Name the colours of methods above the panels."""
    look = looks(summary.frames.methods, summary.frames.baseline)
    handles = [
        Line2D(
            [],
            [],
            color=look[method].colour,
            linestyle="--" if method == summary.frames.baseline else "-",
            linewidth=1.6,
            label=tick_name(method),
        )
        for method in methods
    ]
    canvas.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 5))
