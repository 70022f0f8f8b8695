"""A number with its standard error and its interval, as a result and as JSON."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from transferscope.numerics.intervals import Interval
from transferscope.records import Estimate


@dataclass(frozen=True, slots=True)
class Ranged:
    """A number with its interval.

    Attributes:
        estimate: The number; NaN with a status where there is none.
        interval: Where it lies with the interval's level; None when nothing can be said.
    """

    estimate: Estimate
    interval: Interval | None = None

    @property
    def value(self) -> float:
        """The number itself."""
        return self.estimate.value

    @property
    def sign(self) -> int:
        """1 or -1 when the whole interval is on that side of 0, else 0."""
        if self.interval is None or not self.interval.excludes(0.0):
            return 0
        return 1 if self.interval.low > 0 else -1

    def ends(self, shown: Callable[[float], str]) -> str:
        """The interval as "LOW to HIGH", "" without one.

        Args:
            shown: Writes a number; it must never write a larger one as a smaller. Write the value with the same one:
                then what is read always lies within what is read of the interval, however coarse the rounding.
        """
        return f"{shown(self.interval.low)} to {shown(self.interval.high)}" if self.interval else ""

    def shown(self, shown: Callable[[float], str], *, unit: str = "") -> str:
        """The number with its unit and its interval in brackets; see `ends`."""
        value = f"{shown(self.value)}{unit}"
        return f"{value} ({self.ends(shown)})" if self.interval else value


def as_json(value: Any) -> Any:
    """JSON values of what `dataclasses.asdict` gives; "inf", "-inf" and "nan", which JSON lacks, are text."""
    if isinstance(value, Mapping):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def ranged_from_json(found: Mapping[str, Any]) -> Ranged:
    """The number of which `as_json(asdict(number))` is `found`."""
    estimate, ends = found["estimate"], found["interval"]
    return Ranged(
        Estimate(float(estimate["value"]), maybe_number(estimate["stderr"]), estimate["n"], estimate["status"]),
        None if ends is None else Interval(float(ends["low"]), float(ends["high"]), float(ends["level"])),
    )


def maybe_number(value: float | str | None) -> float | None:
    """A number that may be text, or absent."""
    return None if value is None else float(value)
