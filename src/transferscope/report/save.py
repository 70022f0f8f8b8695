"""Atomic writing of figures and tables as SVG, PDF and CSV, with safe names and without spreadsheet formulas."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from transferscope.errors import unknown_name
from transferscope.files import written_whole
from transferscope.report.blocks import Figure, Section
from transferscope.report.figures.style import drawing, to_svg

if TYPE_CHECKING:
    import matplotlib.figure

_LONGEST_NAME = 100
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def file_name(name: str) -> str:
    """Return a name as part of a file name: characters other than letters, digits, ".", "_" and "-" become "_"."""
    return re.sub(r"[^\w.-]|^\.+", "_", name)[:_LONGEST_NAME] or "_"


def write_text(path: Path, text: str) -> None:
    """Write a page or an image as UTF-8; halves of surrogate pairs are escaped.

    Raises:
        OSError: It cannot be written; what was there before stays.
    """
    with written_whole(path) as unfinished:
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV.

    Spreadsheets treat a cell that begins with = + - or @ as a formula, so such names get an apostrophe as a prefix.
    Numbers are unchanged.
    """
    harmless = table.rename(columns=_harmless)
    for position, kind in enumerate(harmless.dtypes):
        column = harmless.iloc[:, position]
        if isinstance(kind, pd.StringDtype):  # by its different texts
            places, distinct = pd.factorize(column)
            harmless.isetitem(position, np.array([*map(_harmless, distinct), None], dtype=object)[places])
        elif not pd.api.types.is_numeric_dtype(kind):
            harmless.isetitem(position, column.astype(object).map(_harmless).to_numpy())
    return harmless.to_csv(index=False, lineterminator="\n")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV; see `csv_text`.

    Raises:
        OSError: It cannot be written; what was there before stays.
    """
    write_text(path, csv_text(table))


def write_parquet(table: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet.

    Raises:
        OSError: It cannot be written; what was there before stays.
    """
    with written_whole(path) as unfinished:
        table.to_parquet(unfinished, engine="pyarrow", index=False)


def save_figure(figure: "matplotlib.figure.Figure", svg: str, folder: Path, name: str) -> list[Path]:
    """Write the figure as SVG, identical to `to_svg`, and as PDF."""
    paths = [folder / f"{name}.{ending}" for ending in ("svg", "pdf")]
    write_text(paths[0], svg)
    with drawing(), written_whole(paths[1]) as unfinished:
        figure.savefig(unfinished, metadata={"CreationDate": None})
    return paths


PaperWidth = Literal["column", "text"]

INCHES: dict[PaperWidth, float] = {"column": 3.25, "text": 5.5}
INSIDE = (0.02, 0.0, 0.96, 1.0)
"""Area of a figure for its layout: constrained layout lets labels exceed the edge by up to half a letter."""

_TYPE = 8  # points
_MOST_SHRUNK = 1.45
"""Largest ratio of the width of a figure to the page at which its layout is kept; wider ones are drawn again."""


def save_for_paper(sections: Sequence[Section], folder: Path, width: PaperWidth) -> list[Path]:
    """Write every figure of a page as SVG and PDF at the width of a paper, and its numbers as CSV.

    Args:
        folder: Output folder, created if missing.

    Raises:
        UnknownNameError: The width is unknown.
    """
    if width not in INCHES:
        raise unknown_name("width of figures", width, INCHES)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for section in sections:
        for figure in section.figures:
            canvas = drawn_for_paper(figure, INCHES[width])
            written += save_figure(canvas, to_svg(canvas), folder, figure.name)
            written.append(folder / f"{figure.name}.csv")
            write_table(figure.data, written[-1])
        written += save_for_paper(section.sections, folder, width)
    return written


def drawn_for_paper(figure: Figure, inches: float) -> "matplotlib.figure.Figure":
    """Lay out the drawing again for a width; it can no longer be used for the page."""
    from matplotlib.text import Text

    canvas = figure.canvas
    if figure.narrow is not None and canvas.get_figwidth() > _MOST_SHRUNK * inches:
        with drawing():
            canvas = figure.narrow(inches)
    canvas.set_layout_engine("constrained", rect=INSIDE)
    canvas.set_size_inches(inches, canvas.get_figheight())
    for axes in canvas.axes:
        axes.tick_params(labelsize=_TYPE)
    for text in canvas.findobj(Text):
        text.set_fontsize(_TYPE)
    return canvas


def _harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")  # what a spreadsheet may take for the end of a row
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
