"""A number with its uncertainty: of a mean, pairs, draws or a fit. Plain Python, no NumPy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Status = Literal[
    "ok", "converged", "max_steps", "non_finite", "at_bound", "not_identified", "too_few", "unbounded", "undefined"
]
"""Status of a number: "ok" and "converged" can be used; every other one is a reason not to.

max_steps: an iteration stopped at its budget. non_finite: overflow or NaN on the way. at_bound: an optimum on the edge
of its range. not_identified: the data do not determine it. too_few: fewer samples than it needs. unbounded: it is
infinite in the model. undefined: it does not exist (no variance, an empty class).
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval with its nominal coverage `level`, in (0, 1)."""

    low: float
    high: float
    level: float = 0.95

    def clipped(self, low: float, high: float) -> "Interval":
        """Return the interval within the range of the quantity; the coverage is unchanged."""
        return Interval(min(max(self.low, low), high), min(max(self.high, low), high), self.level)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty.

    Attributes:
        value: The number; NaN if the status says so, infinite only when "unbounded".
        stderr: Standard error in the unit of `value`; None if unknown (one sample); 0 for an exact value such as a
            closed form.
        n: Number of samples; 0 for a closed form.
        status: Status of the computation.
        interval: CI with its level; None if not computed or unknown. Not stored with records.
    """

    value: float
    stderr: float | None = None
    n: int = 1
    status: Status = "ok"
    interval: Interval | None = None

    @classmethod
    def missing(cls, status: Status, n: int) -> "Estimate":
        """Return an estimate without a value; `status`, neither "ok" nor "converged", says why."""
        return cls(math.nan, None, n, status)

    @classmethod
    def without_error(cls, value: float, n: int) -> "Estimate":
        """Return a number without standard error; missing as "undefined" if it is not finite."""
        return cls(value, None, n) if math.isfinite(value) else cls.missing("undefined", n)

    @property
    def usable(self) -> bool:
        """Whether the number may be used without checking the status."""
        return self.status in ("ok", "converged")

    @property
    def low(self) -> float:
        """The lower end of the interval; NaN without one."""
        return math.nan if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        """The upper end of the interval; NaN without one."""
        return math.nan if self.interval is None else self.interval.high

    @property
    def sd(self) -> float:
        """The standard deviation of the samples of a mean, stderr sqrt(n); NaN without a standard error."""
        return math.nan if self.stderr is None else self.stderr * math.sqrt(self.n)

    def clipped(self, low: float, high: float) -> "Estimate":
        """Return the estimate with its interval, if any, within the range of the quantity."""
        return self if self.interval is None else replace(self, interval=self.interval.clipped(low, high))

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval is on that side of 0, otherwise 0."""
        return (self.low > 0) - (self.high < 0)


def as_json(value: Any, *, nan: str | None = "nan") -> Any:
    """Return JSON values of a result of `dataclasses.asdict`; infinities become "inf" and "-inf".

    Args:
        nan: Replacement of NaN: text that can be parsed, or None.
    """
    if isinstance(value, Mapping):
        return {name: as_json(inner, nan=nan) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(inner, nan=nan) for inner in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return nan if math.isnan(value) else str(value)
