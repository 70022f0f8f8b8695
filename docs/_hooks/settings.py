"""Fills in tables of settings when the site is built, from the classes that read them."""

import re
from importlib import import_module
from typing import Any

from transferscope.records import declared
from transferscope.study.tables import json_schema_of

MARK = re.compile(r"<!-- settings: ([\w.]+):(\w+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return MARK.sub(lambda found: table(getattr(import_module(found[1]), found[2])), markdown)


def table(kind: type) -> str:
    """The settings of a class with their ranges and defaults and what its fields say of them, as Markdown."""
    properties = json_schema_of(kind, {})["properties"]
    ranges = {name: one.range_in_words for name, one in declared(kind).items()}
    rows = [
        f"| `{name}` | {one.get('description', '').replace('|', chr(92) + '|')}{_range(ranges[name])}{_default(one)} |"
        for name, one in properties.items()
    ]
    return "\n".join(["| setting | what it says |", "|---|---|", *rows])


def _range(words: str) -> str:
    return f" {words[0].upper()}{words[1:]}." if words else ""


def _default(one: dict[str, Any]) -> str:
    default = one.get("default")
    return f" Default: `{default}`." if isinstance(default, str | int | float) and default not in ("", False) else ""
