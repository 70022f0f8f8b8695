"""Fills in tables of settings when the site is built, from the classes that read them."""

import re
from importlib import import_module
from typing import Any

from transferscope.cli.complete import loaded
from transferscope.cli.options import OF_STUDIES
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import METHODS
from transferscope.records import declared
from transferscope.study.tables import json_schema_of

ALL = "<!-- all settings -->"
MARK = re.compile(r"<!-- settings: ([\w.]+):(\w+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    markdown = markdown.replace(ALL, all_settings()) if ALL in markdown else markdown
    return MARK.sub(lambda found: table(getattr(import_module(found[1]), found[2])), markdown)


def all_settings() -> str:
    """The settings of a study file by their keys, those of every method and diagnostic included."""
    families = {"methods": METHODS, "diagnostics": DIAGNOSTICS}
    rows = []
    for place, kinds in OF_STUDIES.items():
        of = {place: tuple(map(loaded, kinds))}
        if (family := families.get(place.partition(".")[0])) is not None:
            of = {f"{place.partition('.')[0]}.{name}": (family[name],) for name in family.own}
        rows += [
            row.replace("| `", f"| `{at}." if at else "| `", 1)
            for at, own in of.items()
            for kind in own
            for row in table(kind).splitlines()[2:]
        ]
    return "\n".join(["| key | what it says |", "|---|---|", *rows])


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
