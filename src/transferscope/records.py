"""What a cell leaves behind, plain and frozen, as the store keeps it. No torch, no NumPy."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
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


def check_settings(settings: object) -> None:
    """Refuse settings that are not what their fields declare, as reading a study file does.

    Args:
        settings: A dataclass; a field whose type holds `Literal` texts takes no other text, and one of
            `Annotated[int, Ge(1)]` no smaller number, nor `tuple[Annotated[int, Ge(1)], ...]` a smaller one among its.

    Raises:
        SettingsError: A text is none of the choices, or a number is NaN or out of its range; all that are wrong.
    """
    wrong = []
    for name, (choices, bounds) in _declared(type(settings)).items():  # type: ignore[arg-type]
        value = getattr(settings, name)
        if isinstance(value, str) and choices and value not in choices:
            wrong.append(f"{name} = {value!r} is unknown; expected {', '.join(map(repr, choices))}")
        for number in value if isinstance(value, tuple) else (value,):
            if not isinstance(number, int | float) or isinstance(number, bool):
                continue
            if math.isnan(number):
                wrong.append(f"{name} = nan is no number")
            elif bounds and not (math.isfinite(number) and all(holds(number) for _, holds in bounds)):
                holds_it = "" if number is value else f"{name} holds {number}, which"
                wanted = " or ".join([range_in_words(type(settings), name), *map(repr, choices)])
                wrong.append(f"{holds_it or f'{name} = {number}'} is out of range; expected {wanted}")
    if wrong:
        raise SettingsError("; ".join(dict.fromkeys(wrong)))


def range_in_words(kind: type, name: str) -> str:
    """What a number of a field must be, as in "at least 1 and at most 9"; empty where nothing is declared."""
    return " and ".join(words for words, _ in _declared(kind)[name][1])


_Bound = tuple[str, Callable[[float], bool]]


@lru_cache
def _declared(kind: type[Any]) -> Mapping[str, tuple[tuple[str, ...], tuple[_Bound, ...]]]:
    """The texts that each field of a dataclass may be, where it has any, and the bounds of its numbers."""
    hints, declared = get_type_hints(kind, include_extras=True), {}
    for name in (item.name for item in fields(kind)):
        choices: list[str] = []
        bounds: list[_Bound] = []
        waiting = [hints[name]]
        while waiting:
            hint = waiting.pop()
            if get_origin(hint) is Literal:
                choices += [value for value in get_args(hint) if isinstance(value, str)]
                continue
            bounds += [bound for one in getattr(hint, "__metadata__", ()) if (bound := _bound(one)) is not None]
            waiting += get_args(hint)
        declared[name] = tuple(choices), tuple(bounds)
    return declared


def _bound(declared: object) -> _Bound | None:
    match declared:
        case Ge(ge=least):
            return f"at least {least}", lambda number: number >= least
        case Gt(gt=below):
            return f"above {below}", lambda number: number > below
        case Le(le=most):
            return f"at most {most}", lambda number: number <= most
        case Lt(lt=above):
            return f"below {above}", lambda number: number < above
    return None


HEADLINES = ("balanced_accuracy", "macro_f1", "matthews", "accuracy", "average_precision", "r2")
"""Records that a run is judged by, more is better: of one class of each input (the first three
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
    """The words of a diagnostic for its headline, as they are kept with its numbers.

    Attributes:
        heading: What it measures, as in "largest Hessian eigenvalue".
        lower: What a network of a lower value has, as in "a flatter loss"; empty where nothing is known.
        higher: What one of a higher value has.
        expected: The side on which good transfer is expected; empty for neither.
        share: Whether the value is a share of 1, shown in per cent.
        limits: What it cannot tell, a sentence.
    """

    heading: str
    lower: str = ""
    higher: str = ""
    expected: Literal["lower", "higher", ""] = ""
    share: bool = False
    limits: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a cell has no outcome.

    Attributes:
        kind: "exception", "non_finite" (the loss stopped being a number), "out_of_memory", "disk_full", "timeout" (it
            took longer than a cell may), "lost" (its process died), "bad_input" (the data or settings of this one cell
            cannot be used), "missing" (the machine lacks data or a package) or "untrusted" (it may not run the code).
        details: The traceback, for whoever mends it; may be empty.
    """

    kind: FailureKind
    message: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What an outcome took.

    Attributes:
        seconds: Wall-clock seconds of the work itself, resumed parts included.
        peak_memory: Largest resident memory of the process (CPU) or allocated memory (GPU) in bytes; 0 if unknown.
        trained_parameters: Number of scalars that the optimiser could change.
        examples_seen: Training examples passed forward and backward, counted with repetition.
        steps: 0 for a closed form.
    """

    seconds: float = 0.0
    peak_memory: int = 0
    trained_parameters: int = 0
    examples_seen: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class FinishedRuns:
    """The method cells of a study that were done, and a digest of their keys in any order: equal if nothing changed."""

    count: int
    digest: str

    @classmethod
    def of(cls, keys: Iterable[str]) -> Self:
        """Those with these keys."""
        ordered = sorted(keys)
        return cls(len(ordered), hashlib.blake2b("\n".join(ordered).encode(), digest_size=16).hexdigest())
