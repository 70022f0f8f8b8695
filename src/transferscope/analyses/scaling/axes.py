"""Common parts of the figures of scaling laws: panels with logarithmic axes, points and fitted lines."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from transferscope.report.figures.panels import panels, side_by_side
from transferscope.report.figures.style import QUIET, MarkStyle, drawing
from transferscope.wording import large_count

T = TypeVar("T")

MOST_IN_A_ROW = 3
LINE_POINTS = 120
"""Number of sizes at which a law is drawn."""
LEAST_SPAN = 1.6
"""Below this factor a logarithmic axis looks about the same as a linear one, and has too few round numbers."""


def in_panels(
    draw: Callable[[Canvas, list[Axes]], T], count: int, *, width: float = 3.1, height: float = 2.6
) -> tuple[Canvas, Callable[[float], Canvas], T]:
    """Draw `count` panels, at most three in a row.

    Args:
        draw: Draws on a canvas and its panels; called again for a narrow drawing.
        width: Width of a panel in inches; a single panel is wider.
        height: Height of a panel in inches.

    Returns:
        The canvas, a function that draws them again at a width in inches (`Figure.narrow`), and what `draw` returned.
    """

    def narrow(inches: float) -> Canvas:
        columns = min(count, side_by_side(inches, 2.6))
        canvas, axes = panels(count, columns, width=inches, height=height, around=0.4)
        draw(canvas, axes)
        return canvas

    with drawing():
        canvas, axes = new_panels(count, width=width, height=height)
        return canvas, narrow, draw(canvas, axes)


def new_panels(count: int, *, width: float = 3.1, height: float = 2.6) -> tuple[Canvas, list[Axes]]:
    """Return a canvas with `count` panels, at most three in a row; call it within `drawing`."""
    columns = 2 if count == 4 else min(count, MOST_IN_A_ROW)
    if count == 1:
        width, height = max(width, 5.2), max(height, 3.1)
    return panels(count, columns, width=width * columns, height=height, around=0.4)


def log_axes(axes: Axes, *, x_title: str, y_title: str, strictly: bool = False, linear: bool = False) -> None:
    """Make both axes logarithmic; the second one linear if asked, or under LEAST_SPAN unless `strictly` logarithmic."""
    axes.set(xscale="log", xlabel=x_title, ylabel=y_title)
    log_ticks(axes.xaxis, axes.get_xlim(), FuncFormatter(short_size))
    low, high = axes.get_ylim()
    if linear or (not strictly and low > 0 and high < LEAST_SPAN * low):
        return
    axes.set_yscale("log")
    log_ticks(axes.yaxis, axes.get_ylim(), FuncFormatter(lambda value, _: f"{value:g}"))


def log_ticks(axis: Axis, ends: tuple[float, float], write: FuncFormatter) -> None:
    """Set round tick labels along a logarithmic axis with these ends, in plain text."""
    span = ends[1] / ends[0]
    if span < LEAST_SPAN:
        axis.set_major_locator(MaxNLocator(4))
        axis.set_minor_locator(NullLocator())
    elif span < 3:
        axis.set_major_locator(LogLocator(subs=(1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)))
    elif span < 8:
        axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)))
    elif span < 150:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(write)
    axis.set_minor_formatter(NullFormatter())


def short_size(value: float, _: int | None = None) -> str:
    """Return "1k", "64k", "1.28M": a short size (mathematical text is off in the report's style)."""
    return f"{value:g}" if value < 1000 else large_count(value, "B").replace(" ", "")


def dashes(styles: Mapping[str, MarkStyle], name: str) -> Literal["-", "--"]:
    """Return the line style of a series: dashed if its colour was used before."""
    before = list(styles)[: list(styles).index(name)]
    return "--" if any(styles[other].colour == styles[name].colour for other in before) else "-"


def add_legend(
    canvas: Canvas,
    styles: Mapping[str, MarkStyle],
    *,
    title: str = "",
    lines: Mapping[str, Literal["-", "--"]] | None = None,
) -> None:
    """Add one legend above all panels, where it covers no point.

    Args:
        title: Title of the legend.
        lines: Line styles by meaning, shown in grey after the series.
    """
    handles = [
        Line2D(
            [], [], color=one.colour, marker=one.mark, markersize=4, linewidth=1.1, ls=dashes(styles, name), label=name
        )
        for name, one in styles.items()
    ]
    for name, style in (lines or {}).items():
        handles.append(Line2D([], [], color=QUIET, linewidth=1.4, linestyle=style, label=name))
    room = canvas.get_figwidth() / (0.75 + 0.075 * max(len(str(handle.get_label())) for handle in handles))
    columns = max(1, min(len(handles), int(room)))
    canvas.legend(
        handles=handles,
        loc="outside upper left",
        ncols=columns,
        fontsize=8,
        title=title or None,
        title_fontsize=8,
        alignment="left",
    )


def mark_extrapolated(axes: Axes, start: float, end: float) -> None:
    """Shade sizes beyond those measured."""
    axes.axvspan(start, end, color=QUIET, alpha=0.12, linewidth=0)
    axes.axvline(start, color=QUIET, linewidth=0.8, linestyle=":")
