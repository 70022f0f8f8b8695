"""The report on a table of errors: one HTML page with its figures inside."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from transferscope.errors import StoreError
from transferscope.report.blocks import Section
from transferscope.report.export import write_text
from transferscope.report.html import environment


def write_page(
    sections: Sequence[Section], out: Path, *, title: str, lead: str, body: str, kicker: str = "scaling"
) -> Path:
    """Write sections as one HTML page that loads nothing, below a verdict in one sentence and its reasons.

    Raises:
        StoreError: The file cannot be written.
    """
    page = (
        environment()
        .get_template("scaling.html.j2")
        .render(kicker=kicker, title=title, lead=lead, body=body, sections=sections, version=version("transferscope"))
    )
    try:
        write_text(out, page)
    except OSError as error:
        raise StoreError(
            f"the report cannot be written to {out}: {error.strerror or error}; give another place with --out"
        ) from error
    return out
