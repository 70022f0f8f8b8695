"""A grid of panels: a row for each source, a column for each number of labels; sources side by side for one number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
from transferscope.report.figures.style import NARROW, MarkStyle, new_figure

_MOST_IN_A_ROW = 3


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


def multiples(
    n: int, n_columns: int, *, width: float, height: float, share_height: bool = True
) -> tuple[Figure, list[Axes]]:
    """Small panels of one kind, row by row, all on the same axes; call it within `drawing`.

    Args:
        n: How many.
        n_columns: In a row, at most.
        width: Of the figure, in inches.
        height: Of one panel, in inches.
        share_height: Whether all have one vertical axis.
    """
    n_columns = min(n, n_columns)
    n_rows = -(-n // n_columns)
    canvas = new_figure(width, 0.5 + height * n_rows)
    axes = canvas.subplots(n_rows, n_columns, sharex=True, sharey=share_height, squeeze=False)
    for spare in axes.flat[n:]:
        spare.set_visible(False)
    for lowest in axes.flat[max(0, n - n_columns) : n]:
        lowest.tick_params(labelbottom=True)
    return canvas, list(axes.flat[:n])


def new_grid(
    all_sizes: Sequence[int],
    all_sources: Sequence[str],
    *,
    height: float,
    x_title: str,
    y_title: str,
    narrow: bool = False,
) -> Grid:
    """An empty grid with titles; call it within `drawing`.

    Args:
        all_sizes: Numbers of target labels; the columns, as far as they fit.
        all_sources: What is transferred from; the rows, as far as they fit; empty for one row.
        height: Of one panel, in inches.
        x_title: Title of the horizontal axes; may be empty.
        y_title: Title of the vertical axes.
        narrow: Whether panels stand below each other, for a screen as wide as a telephone.
    """
    sizes, sources = evenly_chosen(all_sizes, MOST_SIZES), evenly_chosen(all_sources, MOST_SOURCES) or [""]
    places = [(source, size) for source in sources for size in sizes]
    n_columns = len(sizes) if len(sizes) > 1 else min(len(sources), _MOST_IN_A_ROW)
    shared: bool | Literal["col"] = "col" if len(sizes) > 1 else True
    width = 6.4 if n_columns == 1 else min(9.2, 1.0 + 2.7 * n_columns)
    if narrow:
        n_columns, width, shared = 1, NARROW, len(sizes) == 1
    n_rows = -(-len(places) // n_columns)
    canvas = new_figure(width, 0.7 + height * n_rows)
    axes = canvas.subplots(n_rows, n_columns, sharex=not narrow, sharey=shared, squeeze=False)
    panels = [Panel(drawn, *place) for drawn, place in zip(axes.flat, places, strict=False)]
    for panel in panels:
        origin = f"from {panel.source}, " if panel.source else ""
        panel.axes.set_title(f"{origin}{panel.n_target:,} labels")
    for spare in axes.flat[len(places) :]:
        spare.set_visible(False)
    for row in axes:
        row[0].set_ylabel(y_title)
    for lowest in axes.flat[max(0, len(places) - n_columns) : len(places)]:
        lowest.tick_params(labelbottom=True)
        lowest.set_xlabel(x_title)
    left_out = shown_of("numbers of labels", sizes, all_sizes) + shown_of("sources", sources, all_sources or [""])
    return Grid(canvas, tuple(panels), left_out)


def add_legend(
    canvas: Figure, styles: Mapping[str, MarkStyle], methods: Sequence[str], *, baseline: str | None
) -> None:
    """Name the colours of methods above the panels; the line of the baseline is dashed."""
    handles = [
        Line2D(
            [],
            [],
            color=styles[method].colour,
            linestyle="--" if method == baseline else "-",
            linewidth=1.6,
            label=tick_name(method),
        )
        for method in methods
    ]
    canvas.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 5))
