"""Selection of the items that fit in a figure, and short names for them."""

import re
import textwrap
from collections.abc import Sequence
from typing import TypeVar

from transferscope.wording import NO_BREAK, listed

Item = TypeVar("Item")

MOST_SIZES = 4
MOST_SOURCES = 6
MOST_CLASSES = 20


def evenly_chosen(items: Sequence[Item], at_most: int) -> list[Item]:
    """Return at most `at_most` items, evenly spaced, including the first and the last."""
    if len(items) <= at_most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (at_most - 1))] for i in range(at_most)]


def shown_of(kind: str, shown: Sequence[object], everything: Sequence[object]) -> str:
    """Return a note on what was left out; empty if nothing was. `kind` is a plural, such as "sources"."""
    if len(shown) == len(everything):
        return ""
    return f" Shown are {len(shown)} of {len(everything):,} {kind} ({listed([str(s) for s in shown])})."


def short(name: str, *, width: int = 18) -> str:
    """Return a name that fits beside an axis."""
    return name if len(name) <= width else f"{name[: width - 1]}…"


def beside_axis(name: str, *, width: int = 18) -> str:
    """Return a name for an axis or panel title, in two lines of at most `width` characters if it is longer.

    Text in brackets is kept together if it fits in one line. Names too long for two lines lose their middle, since
    similar names often differ at their ends.
    """
    if len(name) <= width:
        return name
    kept = re.sub(r"\([^()]*\)", lambda m: m[0].replace(" ", NO_BREAK) if len(m[0]) <= width else m[0], name)
    first, *others = textwrap.wrap(kept, width) or [name]
    if not re.search(r"[\s-]", name) and (at := 1 + max(name.rfind(one, 0, width) for one in "_/.")):
        first, others = name[:at], [name[at:]]  # as names of networks are written
    second = " ".join(others)
    return f"{first}\n{second if len(second) <= width else f'…{second[1 - width :]}'}" if second else first
