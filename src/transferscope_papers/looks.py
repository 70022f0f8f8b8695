"""Letters before the titles of panels, and titles that fit their panel."""

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
"""Label of the axes of a colour bar in matplotlib."""
_TOGETHER = "\N{NO-BREAK SPACE}"
_FEWEST_LETTERS = 8
"""Least letters per line of a title, which may exceed a narrower panel."""


def write_drawings(drawings: Sequence[Figure], folder: Path) -> tuple[Path, ...]:
    """Arrange finished drawings and write them.

    Args:
        drawings: Their canvases are changed.
        folder: Folder of SVG, PDF and CSV; created if missing.

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
    """Add letters to a drawing with several panels, and wrap titles and labels to fit.

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
            left, right = axes.get_position().x0, axes.get_position(original=True).x1  # maps may be narrower
            _fit(_title(axes), float(right - left) * canvas.bbox.width)
        for text in canvas.texts:
            _fit(text, canvas.bbox.width)


def letters(n_panels: int) -> tuple[str, ...]:
    """Return prefixes of panel titles: "(a) ", "(b) ", ..., after "(z) " "(aa) "; none for a single panel."""
    lower = string.ascii_lowercase
    names = itertools.chain(lower, map("".join, itertools.product(lower, repeat=2)))
    return tuple(f"({name}) " for name in itertools.islice(names, n_panels)) if n_panels > 1 else ("",)


def _lay_out(canvas: Canvas) -> None:
    """Set the width of panels to the space beside labels and colour bars."""
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
    """Break a text into few even lines within `room` pixels; never at a sign, within words if necessary.

    Args:
        upright: Whether the text is vertical.
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
