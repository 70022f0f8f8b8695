"""Statements of an analysis: kinds with facts, which its template file turns into sentences.

An analysis chooses the statements and their arms; its template has a section `[kind]` for each kind with the sentence.
Facts are plain values; filters round and join them. Conditions in a template choose words, never meaning.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from transferscope.wording import (
    AS_WRITTEN,
    capitalised,
    counted,
    few,
    listed,
    probability_words,
    rough_duration,
    sizes_in_words,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: a section `kind` of the template with facts by name."""

    kind: str
    facts: Mapping[str, Any]


def state(kind: str, **facts: Any) -> Statement:
    """Return a statement of a kind with its facts."""
    return Statement(kind, MappingProxyType(facts))


class Words:
    """The sentences of one analysis.

    Args:
        package: The package of the template, as in "transferscope.analyses.compare".
        filters: Filters in addition to the common ones: `listed`, `few` (the first of them), `counted`, `of_labels`
            (numbers of
            labels), `about` (a rough duration), `chance` (a probability in percent), `number`, `numbers`, `percent`.
    """

    def __init__(self, package: str, filters: Mapping[str, Callable[..., str]] = MappingProxyType({})) -> None:
        self._sections = _sections(package)
        self._environment = Environment(loader=DictLoader(self._sections), undefined=StrictUndefined, autoescape=False)
        self._environment.filters.update(_FILTERS)
        self._environment.filters.update(filters)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of statements in the template."""
        return frozenset(self._sections)

    def say(self, statement: Statement) -> str:
        """Return the sentence of a statement, capitalised unless it begins with a user's own name."""
        sentence = self._environment.get_template(statement.kind).render(statement.facts)
        return capitalised(" ".join(sentence.split())).replace(AS_WRITTEN, "")

    def all_of(self, statements: Iterable[Statement]) -> tuple[str, ...]:
        """Return the sentences in order."""
        return tuple(self.say(statement) for statement in statements)


@cache
def _sections(package: str) -> dict[str, str]:
    text = (files(package) / "words.j2").read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    _, *parts = re.split(r"^\[([^\]\n]+)\]\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


_FILTERS: Mapping[str, Callable[..., str]] = {
    "about": rough_duration,
    "chance": probability_words,
    "counted": counted,
    "of_labels": sizes_in_words,
    "few": few,
    "listed": lambda items, last="and": listed([str(item) for item in items], last=last),
    "number": lambda n: f"{n:,}",
    "percent": lambda share: f"{100 * share:.2g} %",
    "numbers": lambda ns: listed([f"{n:,}" for n in ns]),
}
