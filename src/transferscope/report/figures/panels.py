"""Small panels of one kind, and the legend of what they share."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from transferscope.report.figures.style import MarkStyle, new_figure


def multiples(n: int, n_columns: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Small panels of one kind, row by row, all on the same axes; call it within `drawing`.

    Args:
        width: Of the figure, in inches.
        height: Of one panel, in inches.
    """
    n_columns = min(n, n_columns)
    n_rows = -(-n // n_columns)
    canvas = new_figure(width, 0.5 + height * n_rows)
    axes = canvas.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    for spare in axes.flat[n:]:
        spare.set_visible(False)
    for lowest in axes.flat[max(0, n - n_columns) : n]:
        lowest.tick_params(labelbottom=True)
    return canvas, list(axes.flat[:n])


def side_by_side(width: float, each: float) -> int:
    """How many panels of `each` inches fit beside each other, one at least."""
    return max(1, int(width / each))


def add_legend(
    canvas: Figure, styles: Mapping[str, MarkStyle], names: Mapping[str, str], *, baseline: str | None
) -> None:
    """Name the colours of methods above the panels, as `names` has them; the line of the baseline is dashed."""
    handles = [
        Line2D(
            [],
            [],
            color=styles[method].colour,
            linestyle="--" if method == baseline else "-",
            linewidth=1.6,
            label=name,
        )
        for method, name in names.items()
    ]
    canvas.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 5))
