"""One forecast: what is expected of a run, where it lies, how far beyond what was measured, and what that rests on."""

from dataclasses import dataclass
from typing import Literal

from transferscope.estimate import Interval

LEVEL = 0.9
"""Nominal coverage of the intervals of forecasts."""

SEVERAL = 3.0
"""From this multiple of the largest measured size on, an answer names the multiple."""

Basis = Literal["within", "beyond", "few sizes", "at zero"]
"""What the interval rests on. "within": measurements left out among the others; "beyond": the largest sizes left out.
"few sizes": nothing, there is no interval. "at zero": the error has come to 0 (`Observations.zero_from`)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of a run.

    Attributes:
        sizes: Of the run: (n,), (n, s), or parameters and tokens.
        error: The expected error.
        interval: Where it lies (LEVEL); NaN with too few sizes for one.
        ahead: Each size over the largest measured one.
        basis: What the interval rests on.
        cost: What the run costs; None without costs.
    """

    sizes: tuple[float, ...]
    error: float
    interval: Interval
    ahead: tuple[float, ...]
    basis: Basis
    cost: float | None = None

    @property
    def n(self) -> float:
        """The first size."""
        return self.sizes[0]

    @property
    def s(self) -> float | None:
        """The second size; None of a curve."""
        return self.sizes[1] if len(self.sizes) > 1 else None
