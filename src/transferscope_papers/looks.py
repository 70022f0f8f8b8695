"""How a figure looks: the size of its panels, a style on top of the report's, letters, and titles that end in time."""

import itertools
import string
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text

from transferscope.errors import SettingsError
from transferscope.report.blocks import Figure
from transferscope.report.figures import style as report
from transferscope.report.save import save_figure, write_table

_STYLE: ContextVar[str] = ContextVar("style of matplotlib", default="")
_COLOUR_BAR = "<colorbar>"
"""What matplotlib calls the axes of one."""
_TOGETHER = "\N{NO-BREAK SPACE}"
_FEWEST_LETTERS = 8
"""Of a line of a title: it ends beyond a panel that is narrower."""


@dataclass(frozen=True)
class Looks:
    """What a reader may choose of a drawing.

    Attributes:
        panel_inches: Width and height of a panel; None for those that the figure has by itself.
        style: A style of matplotlib by name, or a file of one, on top of the report's; "" for the report's alone.
    """

    panel_inches: tuple[float, float] | None = None
    style: str = ""


def read_looks(panel_size: str, style: str) -> Looks:
    """Looks from the options of the command.

    Args:
        panel_size: Width and height of a panel in inches, as in "3.6x3.2"; "" for the figure's own.

    Raises:
        SettingsError: The size cannot be read, or there is no such style.
    """
    _check_style(style)
    return Looks(_read_size(panel_size) if panel_size else None, style)


def _read_size(text: str) -> tuple[float, float]:
    try:
        width, height = (float(part) for part in text.split("x"))
    except ValueError:
        width = height = 0.0
    if not (1 <= width <= 20 and 1 <= height <= 20):
        raise SettingsError(
            f"--panel-size {text} cannot be used; expected WIDTHxHEIGHT in inches, from 1 to 20, as in 3.6x3.2"
        )
    return width, height


def _check_style(name: str) -> None:
    if not name or name in mpl.style.library:
        return
    if not Path(name).is_file():
        known = ", ".join(style for style in mpl.style.available if not style.startswith("_"))
        raise SettingsError(f"--style {name} is no style of matplotlib and no file; known are {known}")
    try:
        mpl.rc_params_from_file(name, use_default_template=False)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--style {name} cannot be read as a style of matplotlib: {error}") from error


@contextmanager
def in_style(name: str) -> Iterator[None]:
    """Put a style in force for what is drawn within by `drawing`, and for what `restyled` is given."""
    before = _STYLE.set(name)
    try:
        with mpl.style.context(name or []):
            yield
    finally:
        _STYLE.reset(before)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the style of the report, and on top of it in the one that is in force (`in_style`)."""
    with report.drawing(), mpl.style.context(_STYLE.get() or []):
        yield


def restyled(drawn: Figure) -> Figure:
    """A drawing of `transferscope.analyses`, which knows the report's style alone, in the one that is in force.

    Args:
        drawn: Its canvas is changed: axes, ticks, grid, labels and fonts; lines and marks keep their colours.
    """
    if not _STYLE.get():
        return drawn
    with drawing():
        style = cast(Mapping[str, Any], mpl.rcParams)
        for axes in drawn.canvas.axes:
            for side, spine in axes.spines.items():
                spine.set(edgecolor=style["axes.edgecolor"], linewidth=style["axes.linewidth"])
                spine.set_visible(style.get(f"axes.spines.{side}", spine.get_visible()))
            for axis, ticks in ((axes.xaxis, "xtick"), (axes.yaxis, "ytick")):
                axis.label.set(color=style["axes.labelcolor"], size=style["axes.labelsize"])
                axis.set_tick_params(
                    colors=style[f"{ticks}.color"],
                    labelsize=style[f"{ticks}.labelsize"],
                    **{f"grid_{name}": style[f"grid.{name}"] for name in ("color", "alpha", "linewidth", "linestyle")},
                )
        for text in drawn.canvas.findobj(Text):
            text.set_fontfamily(style["font.family"])
    return drawn


def write_drawings(drawings: Sequence[Figure], folder: Path, looks: Looks) -> tuple[Path, ...]:
    """Arrange finished drawings and write them.

    Args:
        drawings: What was drawn within the style of `looks`; their canvases are changed.
        folder: Where SVG, PDF and CSV go; made if it is missing.

    Returns:
        The SVG, the PDF and the CSV of each drawing, one after another.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for drawn in drawings:
        with in_style(looks.style):
            arrange(drawn.canvas, looks)
        numbers = folder / f"{drawn.name}.csv"
        written += [*save_figure(drawn.canvas, drawn.svg, folder, drawn.name), numbers]
        write_table(drawn.data, numbers)
    return tuple(written)


def arrange(canvas: Canvas, looks: Looks) -> None:
    """Give a finished drawing the size of its panels, letters where there are several, and titles within the panels.

    Args:
        canvas: The drawing, which is changed; its panels lie in one grid.
        looks: Its size; the style must be in force (`in_style`).
    """
    panels = [axes for axes in canvas.axes if axes.get_visible() and axes.get_label() != _COLOUR_BAR]
    place = panels[0].get_subplotspec()
    if looks.panel_inches is not None and place is not None:
        width, height = looks.panel_inches
        canvas.set_size_inches(width * place.get_gridspec().ncols, height * place.get_gridspec().nrows)
    with drawing():
        for axes, letter in zip(panels, letters(len(panels)), strict=True):
            title = _title(axes)
            title.set_text(f"{letter}{title.get_text()}".rstrip())
        fit_titles(canvas)


def letters(n_panels: int) -> tuple[str, ...]:
    """What comes before the titles of panels: "(a) ", "(b) ", ..., after "(z) " "(aa) "; nothing for a single one."""
    lower = string.ascii_lowercase
    names = itertools.chain(lower, map("".join, itertools.product(lower, repeat=2)))
    return tuple(f"({name}) " for name in itertools.islice(names, n_panels)) if n_panels > 1 else ("",)


def fit_titles(canvas: Canvas) -> None:
    """Break titles that would end beyond their panel, and texts of the figure that would end beyond it; see `_fit`.

    Args:
        canvas: The drawing, which is changed; call it within `drawing`.
    """
    layout = canvas.get_layout_engine()
    if layout is not None:
        layout.execute(canvas)  # a panel has its width only now: labels and colour bars take theirs first
    for axes in canvas.axes:
        axes.apply_aspect()
        left, right = axes.get_position().x0, axes.get_position(original=True).x1  # a map may leave room beside it
        _fit(_title(axes), float(right - left) * canvas.bbox.width)
    for text in canvas.texts:
        _fit(text, canvas.bbox.width)


def _title(axes: Axes) -> Text:
    sides: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "right")
    side = next((side for side in sides if axes.get_title(side)), mpl.rcParams["axes.titlelocation"])
    return axes.set_title(axes.get_title(side), loc=side)


def _fit(text: Text, room: float) -> None:
    """Break a text into few even lines within `room` pixels; never at a sign, within words if it must be."""
    whole = " ".join(text.get_text().split())
    whole = whole.replace(" = ", f"{_TOGETHER}={_TOGETHER}").replace(" / ", f"{_TOGETHER}/ ")
    if not whole:
        return

    def broken(letters: int) -> str:
        return textwrap.fill(whole, letters, break_on_hyphens=False).replace(_TOGETHER, " ")

    def fits(letters: int) -> bool:
        text.set_text(broken(letters))
        return bool(text.get_window_extent().width <= room)

    most = next(filter(fits, range(len(whole), _FEWEST_LETTERS, -1)), _FEWEST_LETTERS)
    least = min(most, max(map(len, whole.split(" "))))
    alike = (letters for letters in range(least, most) if broken(letters).count("\n") == broken(most).count("\n"))
    text.set_text(broken(next(alike, most)))
