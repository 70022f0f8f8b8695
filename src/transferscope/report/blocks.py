"""What a section of the report is made of. Text stays text here: escaping is the template's business."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.report.figures.style import to_svg


@dataclass(frozen=True)
class Text:
    """A paragraph.

    Attributes:
        text: Plain text.
        tone: How it is set: "plain", "lead" (larger), "note" (smaller), "warning" (set apart).
    """

    text: str
    tone: Literal["plain", "lead", "note", "warning"] = "plain"
    kind: Literal["text"] = "text"


Tone = Literal["", "positive", "negative", "undecided", "best", "baseline"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: Plain text.
        detail: A second, quieter line; may be empty.
        tone: Emphasis: "" for none, "positive", "negative", "undecided", "best" or "baseline".
    """

    text: str
    detail: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading.
        hint: What it means, shown on hovering; may be empty.
        numeric: Whether it is set flush right.
    """

    title: str
    hint: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        columns: Its columns.
        rows: Its rows, each with one cell for each column; the first cell of a row is its heading.
        caption: What it shows; may be empty.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Figure:
    """A figure with the numbers behind it.

    Attributes:
        name: Name of its files, such as "labels".
        canvas: The drawing.
        data: The numbers it shows.
        caption: What it shows and what its marks mean.
    """

    name: str
    canvas: Canvas
    data: pd.DataFrame
    caption: str
    kind: Literal["figure"] = "figure"

    @cached_property
    def svg(self) -> str:
        """The drawing as an SVG document, made once."""
        return to_svg(self.canvas)


@dataclass(frozen=True)
class Listing:
    """Preformatted text, such as a traceback or settings."""

    text: str
    kind: Literal["listing"] = "listing"


@dataclass(frozen=True)
class Folded:
    """Blocks behind a heading that opens on a click."""

    title: str
    blocks: "tuple[Text | Table | Listing, ...]"
    kind: Literal["folded"] = "folded"


Block = Text | Table | Figure | Listing | Folded


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        title: Its heading.
        slug: Its address within the page, such as "methods".
        blocks: What it holds, in the order of reading.
        files: Tables to keep beside the page, by name.
        sections: What stands below it, each with its own heading.
    """

    title: str
    slug: str
    blocks: tuple[Block, ...]
    files: dict[str, pd.DataFrame] = field(default_factory=dict)
    sections: "tuple[Section, ...]" = ()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its own figures."""
        return tuple(block for block in self.blocks if isinstance(block, Figure))
