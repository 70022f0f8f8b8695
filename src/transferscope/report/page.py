"""Writing sections as one self-contained HTML page.

The report of a study has four questions as headings; each analysis adds a `Part` to one of them.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files as package_files
from pathlib import Path
from typing import Literal

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from transferscope.errors import StoreError
from transferscope.report.blocks import Block, Figure, Section, Text
from transferscope.report.figures.style import inline_svg
from transferscope.report.save import PaperWidth, csv_text, save_for_paper, write_text
from transferscope.wording import capitalised, signs_shown, unit_kept

Question = Literal["whether", "which", "how much", "why"]

QUESTIONS: dict[Question, str] = {
    "whether": "Whether transfer helps",
    "which": "Which method, and from which source",
    "how much": "How much pretraining and how many labels",
    "why": "Why",
}
"""Headings of the page of a study, in order."""


@dataclass(frozen=True)
class Part:
    """The part of one analysis in the report of a study."""

    question: Question
    sentence: str
    sections: tuple[Section, ...]


def unreadable_part(question: Question, title: str, slug: str, what: str, error: Exception) -> Part:
    """Return a placeholder for an analysis whose stored document cannot be read.

    Args:
        what: Name of the stored facts, as in "The ranking that was kept".
    """
    warning = Text(f"{capitalised(str(error))}.", "warning")
    return Part(question, f"{what} cannot be shown.", (Section(title, slug, (warning,)),))


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The answer of an analysis.

    Attributes:
        outcomes: Effect of transfer by number of labels; empty if not asked.
        headline: The recommendation: one sentence, or a line for each number of labels.
        sentences: Further notes, most important first.
        lines: The answer for a terminal, at most nine lines; empty for the text of the verdict.
        run_options: Options of `transferscope run` after the study file for the next step; None without one.
    """

    outcomes: Mapping[int, str]
    headline: str
    sentences: tuple[str, ...]
    lines: tuple[str, ...] = ()
    run_options: str | None = None

    @property
    def shown(self) -> str:
        """The output of a command."""
        return "\n".join(self.lines) or str(self)

    def __repr__(self) -> str:
        return "\n".join([self.headline, *self.sentences])


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The written files.

    Attributes:
        html: The self-contained page.
        files: Figures for a paper (SVG and PDF) with their numbers (CSV), in the folder `NAME-figures` next to the
            page; empty if not requested.
    """

    html: Path
    files: tuple[Path, ...]
    verdict: Verdict = field(repr=False)


def write_page(
    sections: Sequence[Section],
    out: Path,
    *,
    kicker: str,
    title: str,
    verdict: Verdict,
    facts: str = "",
    command: str = "",
    width: PaperWidth | None = None,
    refreshed_every: int | None = None,
) -> ReportFiles:
    """Write sections as one self-contained HTML page.

    Its only script sorts and filters tables and saves figures and tables; the page allows this script alone, by its
    checksum, and shows everything without it.

    Args:
        sections: Sections in reading order, the answer first; nested ones get smaller headings.
        out: The HTML file; an existing one is replaced.
        kicker: Kind of page, shown above the title.
        verdict: The answer; its headline goes into the title of the window.
        facts: One line below the title on what was studied; may be empty.
        command: The command that writes the page again; may be empty.
        width: Width of figures for a paper, which are also written to the folder `NAME-figures` next to the page: a
            "column" (3.25 inches) or the "text" (5.5) in type of 8 points, as SVG, PDF, and the numbers as CSV.
        refreshed_every: Refresh interval of the page in seconds; None for never.

    Returns:
        The written files. All text on the page is escaped, including control characters and direction marks.

    Raises:
        StoreError: The files cannot be written.
    """
    if not out.name:
        raise StoreError(f"{str(out)!r} is a folder; give a file for the report, as in report.html")
    script = (package_files("transferscope.report") / "templates" / "report.js").read_text(encoding="utf-8")
    page = (
        _environment()
        .get_template("page.html.j2")
        .render(
            sections=sections,
            kicker=kicker,
            title=title,
            headline=verdict.headline,
            facts=facts,
            version=version("transferscope"),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
            refreshed_every=refreshed_every,
            command=command,
        )
    )
    try:
        written = [] if width is None else save_for_paper(sections, out.with_name(f"{out.stem}-figures"), width)
        write_text(out, signs_shown(page))
    except OSError as error:
        raise StoreError(
            f"the report cannot be written to {out} ({error.strerror or error}); give another file with --out"
        ) from error
    return ReportFiles(out, tuple(written), verdict)


def render_blocks(blocks: Sequence[Block]) -> str:
    """Return blocks as an HTML fragment for a notebook; every text is escaped."""
    return signs_shown(_environment().get_template("fragment.html.j2").render(blocks=blocks))


def typeset(text: str) -> Markup:
    """Return escaped text with unbreakable units, and `names` in backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(unit_kept(text)))))


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("transferscope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["typeset"] = typeset
    made.filters["kind"] = lambda block: type(block).__name__.lower()
    made.globals["svg"] = _svg
    made.globals["csv_address"] = _csv_address
    return made


def _svg(figure: Figure, *, narrow: bool = False) -> Markup:
    canvas, svg = (figure.narrow_canvas, figure.narrow_svg) if narrow else (figure.canvas, figure.svg)
    assert canvas is not None
    own = hashlib.sha256(svg.encode()).hexdigest()[:8]  # a notebook shows several figures of one name
    return Markup(inline_svg(svg, f"{figure.name}-{own}", width=canvas.get_figwidth()))


def _csv_address(table: pd.DataFrame) -> str:
    held = csv_text(table).encode("utf-8", "backslashreplace")
    return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(held).decode('ascii')}"
