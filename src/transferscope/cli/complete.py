"""What the shell completes beside commands, options and files: names of members of the families.

Families take seconds to import, so that names are read from their files, where each is written once; a test compares
both. Names that installed packages offer are completed too.
"""

import re
from collections.abc import Callable
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

_RENDERED = ("glyphs", "scenes")


def names_of(family: Family) -> tuple[str, ...]:
    """The names of transferscope's own members of a family, by its files."""
    files, name = _WRITTEN[family]
    found = [
        one
        for file in sorted(Path(__file__).parents[1].glob(files))
        for one in re.findall(name, file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    return (*found, *_RENDERED) if family == "data" else tuple(found)


def among(*families: Family) -> Callable[[str], list[str]]:
    """What completes a word to a name of these families."""

    def complete(incomplete: str) -> list[str]:
        own = [name for family in families for name in names_of(family)]
        offered = [point.name for family in families for point in entry_points(group=f"transferscope.{family}")]
        return sorted(name for name in {*own, *offered} if name.startswith(incomplete))

    return complete
