"""From sections to one HTML page that loads nothing."""

import re
from collections.abc import Sequence
from importlib.metadata import version

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from transferscope.report.blocks import Block, Figure, Section
from transferscope.report.figures.style import inline_svg
from transferscope.report.results import Summary


def render_page(summary: Summary, sections: Sequence[Section], *, files_folder: str) -> str:
    """The page.

    Args:
        summary: The study.
        sections: Its parts in the order of reading.
        files_folder: Name of the folder beside the page that holds figures and tables.

    Returns:
        HTML; every text that comes from the study is escaped.
    """
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            summary=summary,
            study=summary.frames.study,
            sections=sections,
            files_folder=files_folder,
            version=version("transferscope"),
        )
    )


def render_blocks(blocks: Sequence[Block]) -> str:
    """Blocks as a piece of HTML without a page around it, as a notebook shows it; every text is escaped."""
    return environment().get_template("fragment.html.j2").render(blocks=blocks)


def environment() -> Environment:
    """Where the templates are, with what they use."""
    made = Environment(
        loader=PackageLoader("transferscope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["typeset"] = typeset
    made.globals["svg"] = _svg
    return made


def typeset(text: str) -> Markup:
    """Escaped text in which numbers keep their unit on the line, and `names` in backticks are set as code."""
    escaped = str(escape(text))
    escaped = re.sub(r"(\d) (%|points\b|labels?\b|seeds?\b)", "\\1\u00a0\\2", escaped)
    escaped = re.sub(r"([<>]|&lt;|&gt;) (\d)", "\\1\u00a0\\2", escaped)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))


def _svg(figure: Figure) -> Markup:
    return Markup(inline_svg(figure.svg, figure.name, width=figure.canvas.get_figwidth()))
