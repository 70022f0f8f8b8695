"""Forecasts of the error of a run, and of the size for an error, with intervals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from transferscope.estimate import Interval

LEVEL = 0.9
"""Nominal coverage of the intervals of forecasts."""

SEVERAL = 3.0
"""Multiple of the largest measured size from which an answer gives the multiple."""

Basis = Literal["within", "beyond", "few sizes", "at zero"]
"""Basis of the interval. "within": measurements left out among the others; "beyond": the largest sizes left out.
"few sizes": nothing, there is no interval. "at zero": the error has come to 0 (`Observations.zero_from`)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a run.

    Attributes:
        sizes: Of the run: (n,), (n, s), or parameters and tokens.
        error: The expected error.
        interval: Where it lies (LEVEL); NaN with too few sizes for one.
        ahead: Each size over the largest measured one.
        basis: Basis of the interval.
        cost: Cost of the run; None without costs.
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


FAR = 4.0
"""Beyond this multiple of the largest measured size, the size that an error takes is called a rough guide."""


@dataclass(frozen=True, slots=True)
class SizeNeeded:
    """A size that may lie outside of what curves are followed to: one that an error takes, or where two curves meet.

    Attributes:
        value: Median: 0 where it is at or below `smallest` ("already"), infinite above `limit` ("not up to there").
        interval: Where it lies (LEVEL), with the same two codes.
        already: Probability that it is at or below `smallest`.
        beyond: Probability that it is above `limit`.
        smallest: The smallest measured size.
        limit: The largest size to which curves are followed.
        largest: The largest measured size.
    """

    value: float
    interval: Interval
    already: float
    beyond: float
    smallest: float
    limit: float
    largest: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.interval.low

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.interval.high

    @property
    def open(self) -> bool:
        """Whether anything is possible, from `smallest` to beyond `limit`: nothing is said then."""
        return self.low == 0 and self.high == np.inf

    @property
    def far(self) -> bool:
        """Whether the value lies so far beyond the measured sizes that it is a rough guide at best."""
        return FAR * self.largest < self.value < np.inf


def crossings(
    sizes: Float[np.ndarray, " G"], values: Float[np.ndarray, "N G"], first: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """Return where each row of values crosses 0 between its place `first` and the one before, in log size."""
    after = np.clip(first, 1, len(sizes) - 1)
    left, right = (values[np.arange(len(values)), place] for place in (after - 1, after))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.nan_to_num(left / (left - right), nan=1.0), 0, 1)
    log_size = np.log(sizes)
    return np.asarray(np.exp(log_size[after - 1] + share * (log_size[after] - log_size[after - 1])))


def middle_and_interval(
    values: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"] | None = None
) -> tuple[float, Interval]:
    """Return the median and the interval (LEVEL) of draws, of which any may be infinite; None for equal weights."""
    levels = [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]
    how: Literal["linear", "inverted_cdf"] = "linear" if weights is None else "inverted_cdf"
    low, middle, high = map(float, np.quantile(values, levels, weights=weights, method=how))
    return middle, Interval(low, high, LEVEL)
