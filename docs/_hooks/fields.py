"""Fills in what is read of the files of a network when the site is built, from the rules that the readers obey."""

from typing import Any

from transferscope.models.fields import FIELDS

MARK = "<!-- fields -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(MARK, table()) if MARK in markdown else markdown


def table() -> str:
    """Every field of every file with its treatment, as Markdown."""
    rows = [
        f"| `{one.file}` | {'all others' if one.names == ('*',) else ', '.join(f'`{name}`' for name in one.names)} "
        f"| {one.treatment} | {one.what} |"
        for one in FIELDS
    ]
    return "\n".join(["| file | field | | |", "|---|---|---|---|", *rows])
