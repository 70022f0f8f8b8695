"""Small multiples and their common legend."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from transferscope.report.figures.style import MarkStyle, new_figure


def panels(
    n: int,
    n_columns: int,
    *,
    width: float,
    height: float,
    around: float = 0.0,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with n panels, row by row; call it within `drawing`.

    Args:
        width: Width of the figure in inches.
        height: Height of one panel in inches.
        around: Height of the figure in addition to its panels, in inches.
    """
    n_columns = min(n, n_columns)
    n_rows = -(-n // n_columns)
    canvas = new_figure(width, around + height * n_rows)
    axes = canvas.subplots(n_rows, n_columns, sharex=sharex, sharey=sharey, squeeze=False)
    for spare in axes.flat[n:]:
        spare.set_visible(False)
    return canvas, list(axes.flat[:n])


def multiples(n: int, n_columns: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return small panels with shared axes; arguments as for `panels`."""
    canvas, axes = panels(n, n_columns, width=width, height=height, around=0.5, sharex=True, sharey=True)
    for lowest in axes[-n_columns:]:
        lowest.tick_params(labelbottom=True)
    return canvas, axes


def side_by_side(width: float, each: float) -> int:
    """Return how many panels of `each` inches fit side by side, at least one."""
    return max(1, int(width / each))


def add_legend(
    canvas: Figure, styles: Mapping[str, MarkStyle], names: Mapping[str, str], *, baseline: str | None
) -> None:
    """Add a legend of method colours above the panels, in the order of `names`; the baseline is dashed."""
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
