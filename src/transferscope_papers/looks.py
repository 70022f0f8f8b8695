"""Letters before the titles of panels, and titles that end in time."""

import itertools
import string
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from transferscope.report.blocks import Figure
from transferscope.report.figures.style import drawing
from transferscope.report.save import INSIDE, save_figure, write_table

_COLOUR_BAR = "<colorbar>"
"""What matplotlib calls the axes of one."""
_TOGETHER = "\N{NO-BREAK SPACE}"
_FEWEST_LETTERS = 8
"""Of a line of a title: it ends beyond a panel that is narrower."""


def write_drawings(drawings: Sequence[Figure], folder: Path) -> tuple[Path, ...]:
    """Arrange finished drawings and write them.

    Args:
        drawings: Their canvases are changed.
        folder: Where SVG, PDF and CSV go; made if it is missing.

    Returns:
        The SVG, the PDF and the CSV of each drawing, one after another.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for drawn in drawings:
        arrange(drawn.canvas)
        numbers = folder / f"{drawn.name}.csv"
        written += [*save_figure(drawn.canvas, drawn.svg, folder, drawn.name), numbers]
        write_table(drawn.data, numbers)
    return tuple(written)


def arrange(canvas: Canvas) -> None:
    """Give a finished drawing letters where it has several panels, and titles and labels that end within them.

    Args:
        canvas: The drawing, which is changed.
    """
    panels = [axes for axes in canvas.axes if axes.get_visible() and axes.get_label() != _COLOUR_BAR]
    with drawing():
        for axes, letter in zip(panels, letters(len(panels)), strict=True):
            title = _title(axes)
            title.set_text(f"{letter}{title.get_text()}".rstrip())
        if isinstance(engine := canvas.get_layout_engine(), ConstrainedLayoutEngine):
            engine.set(rect=INSIDE)
        _lay_out(canvas)
        for axes in canvas.axes:
            _fit(axes.xaxis.label, axes.bbox.width)
            _fit(axes.yaxis.label, axes.bbox.height, upright=True)
        _lay_out(canvas)
        for axes in canvas.axes:
            left, right = axes.get_position().x0, axes.get_position(original=True).x1  # a map may leave room beside it
            _fit(_title(axes), float(right - left) * canvas.bbox.width)
        for text in canvas.texts:
            _fit(text, canvas.bbox.width)


def letters(n_panels: int) -> tuple[str, ...]:
    """Return prefixes of panel titles: "(a) ", "(b) ", ..., after "(z) " "(aa) "; none for a single panel."""
    lower = string.ascii_lowercase
    names = itertools.chain(lower, map("".join, itertools.product(lower, repeat=2)))
    return tuple(f"({name}) " for name in itertools.islice(names, n_panels)) if n_panels > 1 else ("",)


def _lay_out(canvas: Canvas) -> None:
    """Give panels the width that their labels and colour bars leave them."""
    layout = canvas.get_layout_engine()
    if layout is not None:
        layout.execute(canvas)
    for axes in canvas.axes:
        axes.apply_aspect()


def _title(axes: Axes) -> Text:
    sides: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "right")
    side = next((side for side in sides if axes.get_title(side)), mpl.rcParams["axes.titlelocation"])
    return axes.set_title(axes.get_title(side), loc=side)


def _fit(text: Text, room: float, *, upright: bool = False) -> None:
    """Break a text into few even lines within `room` pixels; never at a sign, within words if it must be.

    Args:
        upright: Whether it runs upwards.
    """
    whole = " ".join(text.get_text().split())
    whole = whole.replace(" = ", f"{_TOGETHER}={_TOGETHER}").replace(" / ", f"{_TOGETHER}/ ")
    if not whole:
        return

    def broken(letters: int) -> str:
        return textwrap.fill(whole, letters, break_on_hyphens=False).replace(_TOGETHER, " ")

    def fits(letters: int) -> bool:
        text.set_text(broken(letters))
        extent = text.get_window_extent()
        return bool((extent.height if upright else extent.width) <= room)

    most = next(filter(fits, range(len(whole), _FEWEST_LETTERS, -1)), _FEWEST_LETTERS)
    least = min(most, max(map(len, whole.split(" "))))
    alike = (letters for letters in range(least, most) if broken(letters).count("\n") == broken(most).count("\n"))
    text.set_text(broken(next(alike, most)))
