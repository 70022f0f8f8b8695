"""Records of a cell's outcome, plain and frozen, as stored. No torch, no NumPy."""

import hashlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from transferscope.errors import SettingsError
from transferscope.estimate import Estimate

Count = Annotated[int, Ge(1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]

Role = Literal["pretrain", "method", "command", "diagnose", "theory"]
"""Kinds of work of a cell."""


@dataclass(frozen=True, slots=True)
class Says:
    """The meaning of a setting, in the type of its field: `steps: Annotated[Count, Says("Optimiser steps")]`.

    Attributes:
        phrase: Description without choices, range and default, which are in its type and value.
        detail: Further sentences for writers of study files; may be empty.
    """

    phrase: str
    detail: str = ""


def check_settings(settings: object) -> None:
    """Refuse settings that violate the declarations of their fields, as for a study file.

    Args:
        settings: A dataclass; a field whose type holds `Literal` texts takes no other text, and one of
            `Annotated[int, Ge(1)]` no smaller number, nor `tuple[Annotated[int, Ge(1)], ...]` a smaller one among its.
    """
    wrong = [
        f"{name} {f'= {one!r}' if one is value else f'holds {one!r}, which'} {why}"
        for name, field in declared(type(settings)).items()  # type: ignore[arg-type]
        for value in [getattr(settings, name)]
        for one in _numbers_of(value)
        if (why := field.refusal(one))
    ]
    if wrong:
        raise SettingsError("; ".join(dict.fromkeys(wrong)))


class Checked:
    """Base of settings that are within the declarations of their fields; see `check_settings`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_settings(self)


def _numbers_of(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for one in value:
            yield from _numbers_of(one)
    else:
        yield value


@dataclass(frozen=True, slots=True)
class Declared:
    """The range and meaning of a setting, declared in its type.

    Attributes:
        choices: Allowed texts; empty for any.
    """

    choices: tuple[str, ...]
    bounds: tuple[Ge | Gt | Le | Lt, ...]
    says: Says = Says("")

    @property
    def range_in_words(self) -> str:
        """The range of a number, as in "at least 1 and at most 9"; empty if undeclared."""
        words = ((_BOUNDS[type(bound)], bound) for bound in self.bounds)
        return " and ".join(f"{said} {getattr(bound, name)}" for (name, said, _), bound in words)

    def refusal(self, value: object) -> str:
        """Explain why a value is invalid, as in "is out of range; expected at least 1"; empty if it is valid."""
        if isinstance(value, str):
            wrong = bool(self.choices) and value not in self.choices
            return f"is unknown; expected {', '.join(map(repr, self.choices))}" if wrong else ""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return ""
        if math.isnan(value):
            return "is not a number"
        limits = ((_BOUNDS[type(bound)], bound) for bound in self.bounds)
        within = (holds(value, getattr(bound, name)) for (name, _, holds), bound in limits)
        if self.bounds and not (math.isfinite(value) and all(within)):
            return f"is out of range; expected {' or '.join([self.range_in_words, *map(repr, self.choices)])}"
        return ""


@lru_cache
def declared(kind: type[Any]) -> Mapping[str, Declared]:
    """Return the declarations of each field of a dataclass."""
    hints, found = get_type_hints(kind, include_extras=True), {}
    for name in (item.name for item in fields(kind)):
        choices: list[str] = []
        bounds: list[Ge | Gt | Le | Lt] = []
        says = Says("")
        waiting = [hints[name]]
        while waiting:
            hint = waiting.pop()
            if get_origin(hint) is Literal:
                choices += [value for value in get_args(hint) if isinstance(value, str)]
                continue
            for one in getattr(hint, "__metadata__", ()):
                says = one if isinstance(one, Says) else says
                bounds += [one] if isinstance(one, Ge | Gt | Le | Lt) else []
            waiting += get_args(hint)
        found[name] = Declared(tuple(choices), tuple(bounds), says)
    return found


_BOUNDS: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    Ge: ("ge", "at least", operator.ge),
    Gt: ("gt", "above", operator.gt),
    Le: ("le", "at most", operator.le),
    Lt: ("lt", "below", operator.lt),
}
"""By kind of bound: number, words, and check."""


HEADLINES = ("balanced_accuracy", "macro_f1", "matthews", "accuracy", "average_precision", "r2")
"""Records of metrics, higher is better: of one class of each input (the first three
only where they are asked for), of several labels, of numbers."""


@dataclass(frozen=True, slots=True)
class Record:
    """One named number of one cell, measured or predicted by theory.

    Attributes:
        name: What it is, in the field's words: "accuracy", "loss", "weight_deviation/features.conv1".
        part: The data it was measured on: "target_test", "target_train", "source_test", or "" for none.
        step: The training step it belongs to; None for the final value.
    """

    name: str
    estimate: Estimate
    part: str = "target_test"
    step: int | None = None


FailureKind = Literal[
    "exception", "non_finite", "out_of_memory", "disk_full", "timeout", "lost", "bad_input", "missing", "untrusted"
]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The words of a diagnostic for its headline, stored with its numbers.

    Attributes:
        heading: What it measures, as in "largest Hessian eigenvalue".
        lower: Property of a network with a lower value, as in "a flatter loss"; empty if unknown.
        higher: Property of a network with a higher value.
        expected: Expected side of good transfer; empty for neither.
        share: Whether the value is a fraction, shown in percent.
        limits: Its limitations, a sentence.
    """

    heading: str
    lower: str = ""
    higher: str = ""
    expected: Literal["lower", "higher", ""] = ""
    share: bool = False
    limits: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a cell has no outcome.

    Attributes:
        kind: "exception", "non_finite" (the loss diverged), "out_of_memory", "disk_full", "timeout", "lost" (its
            process died), "bad_input" (invalid data or settings of this cell), "missing" (the machine lacks data or a
            package) or "untrusted" (code that is not allowed).
        details: The traceback; may be empty.
    """

    kind: FailureKind
    message: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an outcome.

    Attributes:
        seconds: Wall-clock seconds of the work itself, resumed parts included.
        peak_memory: Largest resident memory of the process (CPU) or allocated memory (GPU) in bytes; 0 if unknown.
        trained_parameters: Number of trainable parameters.
        examples_seen: Number of training examples processed, with repetition.
        steps: Number of optimiser steps; 0 for a closed form.
    """

    seconds: float = 0.0
    peak_memory: int = 0
    trained_parameters: int = 0
    examples_seen: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class FinishedRuns:
    """The finished method cells of a study, and an order-independent digest of their keys to detect changes."""

    count: int
    digest: str

    @classmethod
    def of(cls, keys: Iterable[str]) -> Self:
        """Return the finished runs with these keys."""
        ordered = sorted(keys)
        return cls(len(ordered), hashlib.blake2b("\n".join(ordered).encode(), digest_size=16).hexdigest())
