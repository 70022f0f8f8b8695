"""Blocks of a section of the report, with plain text: the template escapes it."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import pandas as pd

from transferscope.report.figures.style import NARROW, drawing, to_svg

if TYPE_CHECKING:
    import matplotlib.figure


@dataclass(frozen=True)
class Text:
    """A paragraph, or one per line; "lead" is larger, "note" smaller, and "warning" set apart."""

    text: str
    tone: Literal["plain", "lead", "note", "warning"] = "plain"


_BESIDE = 8.0
"""Largest width of a figure, in inches, with space for text beside it."""

Tone = Literal["", "positive", "negative", "undecided", "best", "baseline", "group"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        detail: A secondary line; may be empty.
        tone: Emphasis: "" for none, "positive", "negative", "undecided", "best" or "baseline"; "group" for the only
            cell of a row that heads those below it.
        value: The number to sort by, if the text does not start with it in one unit; NaN sorts last.
        shade: Relative position for the background, from -1 (below the reference) to 1 (above); 0 for none.
    """

    text: str
    detail: str = ""
    tone: Tone = ""
    value: float | None = None
    shade: float = 0.0


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, its tooltip, and whether it is right-aligned.

    Attributes:
        labels: As of `Table`.
    """

    title: str
    hint: str = ""
    numeric: bool = True
    labels: str = ""


@dataclass(frozen=True)
class Table:
    """A table: rows have one cell per column, of which the first is the heading of the row, or one "group".

    Attributes:
        labels: Its number of labels in words, if a page has one table for each, to select from.
        of_arms: Whether its rows are arms, which can be filtered.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    labels: str = ""
    of_arms: bool = False

    @property
    def sortable(self) -> bool:
        """Whether rows can be sorted: there are three or more, and none belongs to the one above it."""
        return len(self.rows) > 2 and all(row[0].text and row[0].tone != "group" for row in self.rows)

    @property
    def in_words(self) -> bool:
        """Whether no column contains numbers, so that lines may be broken."""
        return not any(column.numeric for column in self.columns)


@dataclass(frozen=True)
class Figure:
    """A figure with the numbers behind it.

    Attributes:
        name: Name of its files, such as "labels".
        narrow: Function that draws the same figure at a width in inches, for a narrow screen or a paper; call it within
            `drawing`. None if the drawing is narrow enough.
        labels: As of `Table`.
    """

    name: str
    canvas: "matplotlib.figure.Figure"
    data: pd.DataFrame
    caption: str
    narrow: "Callable[[float], matplotlib.figure.Figure] | None" = None
    labels: str = ""

    @cached_property
    def svg(self) -> str:
        """The drawing as an SVG document, created once."""
        return to_svg(self.canvas)

    @cached_property
    def narrow_canvas(self) -> "matplotlib.figure.Figure | None":
        """The drawing for narrow screens, created once; None if there is none."""
        if self.narrow is None:
            return None
        with drawing():
            return self.narrow(NARROW)

    @cached_property
    def narrow_svg(self) -> str:
        """The drawing for narrow screens as an SVG document, created once; "" if there is none."""
        return "" if self.narrow_canvas is None else to_svg(self.narrow_canvas)


@dataclass(frozen=True)
class Points:
    """A list of separate sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """A small embedded image.

    Attributes:
        alternative: Alternative text.
        width: Displayed width in pixels of the page.
    """

    png: bytes
    alternative: str
    width: int

    @property
    def address(self) -> str:
        """The image as a data URL."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


@dataclass(frozen=True)
class Gallery:
    """Small images side by side, each with a caption."""

    pictures: tuple[Picture, ...]
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """Preformatted text, such as a traceback or settings."""

    text: str


@dataclass(frozen=True)
class Folded:
    """Collapsed blocks below a heading."""

    title: str
    blocks: "tuple[Text | Table | Listing | Points | Figure, ...]"


@dataclass(frozen=True)
class Card:
    """One of several cards side by side."""

    title: str
    blocks: "tuple[Text | Table | Listing | Points | Picture, ...]"


@dataclass(frozen=True)
class Cards:
    """Cards side by side, or below each other on narrow screens."""

    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Answer:
    """One question with its answer; the slug links to more of it, or is ""."""

    title: str
    sentence: str
    slug: str


@dataclass(frozen=True)
class Overview:
    """The first screen of a page: outcome, sentence, picture, answers and next step."""

    outcome: str
    tone: Tone
    headline: str
    picture: Figure | Table | None
    answers: tuple[Answer, ...]
    next_step: str = ""
    command: str = ""
    points: tuple[str, ...] = ()

    @property
    def is_broad(self) -> bool:
        """Whether the picture takes the width of the page, with the answers below it."""
        if isinstance(self.picture, Figure):
            return bool(self.picture.canvas.get_figwidth() > _BESIDE)
        return self.picture is not None


Block = Text | Table | Figure | Listing | Folded | Points | Picture | Gallery | Cards | Overview


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        slug: Its anchor in the page, such as "methods".
        files: Tables embedded as CSV, by name.
        folded: Whether it is collapsed at first.
    """

    title: str
    slug: str
    blocks: tuple[Block, ...]
    files: dict[str, pd.DataFrame] = field(default_factory=dict)
    sections: "tuple[Section, ...]" = ()
    folded: bool = False

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its figures, including collapsed ones."""
        inner = (
            block.blocks if isinstance(block, Folded) else (block.picture,) if isinstance(block, Overview) else (block,)
            for block in self.blocks
        )
        return tuple(block for blocks in inner for block in blocks if isinstance(block, Figure))
