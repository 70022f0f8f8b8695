"""Shell completion of names of methods, scores, data sets and other families.

Families take seconds to import, so names are read from their files, where each is written once; a test compares both.
Names from installed packages are completed, too.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

Family = Literal["methods", "diagnostics", "scores", "networks", "data"]

_OF_A_CLASS = r'^    name: ClassVar\[str\] = "(.+)"$'
_WRITTEN: dict[Family, tuple[str, str]] = {
    "methods": ("methods/*.py", _OF_A_CLASS),
    "diagnostics": ("diagnostics/*.py", _OF_A_CLASS),
    "scores": ("scores/*.py", _OF_A_CLASS),
    "networks": ("models/build.py", r'^        "(.+)": BackboneEntry\('),
    "data": ("data/catalogue/*.py", r'^    name="(.+)",$'),
}
"""The files of a family, and how the name of a member is written there."""

_RENDERED = ("glyphs",)


def names_of(family: Family) -> tuple[str, ...]:
    """Return the names of the built-in members of a family, by its files."""
    files, name = _WRITTEN[family]
    found = [
        one
        for file in sorted(Path(__file__).parents[1].glob(files))
        for one in re.findall(name, file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    return (*found, *_RENDERED) if family == "data" else tuple(found)


def among(*families: Family) -> Callable[[str], list[str]]:
    """Return a completer of names of these families."""

    def complete(incomplete: str) -> list[str]:
        own = [name for family in families for name in names_of(family)]
        offered = [point.name for family in families for point in entry_points(group=f"transferscope.{family}")]
        return sorted(name for name in {*own, *offered} if name.startswith(incomplete))

    return complete


Kinds = tuple[type | str, ...]
"""Settings of a table: classes, or references such as "package.module:Class" for slow imports; empty if only the reader
of the tables knows them.
"""

Tables = Mapping[str, Kinds]
"""Tables that `--set` can change, by path ("" for keys outside of tables, "NAME" for a name of the user's)."""


def loaded(kind: type | str) -> type:
    """Return the settings class of a table, importing it if only its place is known."""
    if isinstance(kind, type):
        return kind
    module, _, name = kind.partition(":")
    settings: type = getattr(import_module(module), name)
    return settings


def keys_among(tables: Tables) -> Callable[[str], list[str]]:
    """Return a completer of the keys of settings in these tables (`options.Settings`).

    For tables whose settings import slowly, the table is completed first.
    """

    def keys(incomplete: str) -> Iterator[str]:
        for table, kinds in tables.items():
            group, of_names, _ = table.partition(".NAME")
            before = f"{table}." if table else ""
            if of_names:
                yield from (f"{group}.{name}." for name in (names_of(group) if group in _WRITTEN else ("",)))
            elif before and not incomplete.startswith(before) and any(isinstance(kind, str) for kind in kinds):
                yield before
            elif before or not any(isinstance(kind, str) for kind in kinds):
                yield from (f"{before}{one.name}=" for kind in kinds for one in fields(loaded(kind)) if one.init)

    return lambda incomplete: sorted(key for key in keys(incomplete) if key.startswith(incomplete))
