"""Prediction intervals: the spread of forms and back-test errors, made conformal on development curves."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

FACTORS: dict[float, dict[int, float]] = {
    0.5: {3: 0.8, 8: 0.57, 16: 0.63},
    0.8: {3: 1.59, 8: 1.22, 16: 1.25},
    0.9: {3: 2.29, 8: 1.75, 16: 1.73},
}
"""Half width over scale by level, then by the fewest points it holds for.

Split-conformal: printed by benchmarks/scaling_calibrate.py from the development half of the benchmark curves.
"""

BACKTEST_SHARE = 0.5

RESOLUTION = 1e-4
"""Least scale in log error: no error is known to more than one part in ten thousand. It keeps the interval of a curve
that stands still from having no width, so that rounding would decide what it covers."""


@dataclass(frozen=True)
class Scale:
    """What the width of an interval is made of, in log error.

    Attributes:
        spread: Distance between forms at each target, shape (T,).
        backtest: Root mean square back-test error of the combination; NaN without a back-test.
        noise: Root mean square residual of the combination on the last half of the points.
    """

    spread: Float[np.ndarray, " T"]
    backtest: float
    noise: float

    def total(self) -> Float[np.ndarray, " T"]:
        """sqrt(spread^2 + (backtest / 2)^2 + noise^2 + RESOLUTION^2)."""
        return np.sqrt(self.spread**2 + (BACKTEST_SHARE * self.backtest) ** 2 + self.noise**2 + RESOLUTION**2)


def half_width(scale: Scale, *, level: float, n_points: int) -> Float[np.ndarray, " T"]:
    """Half width of the interval in log error.

    Args:
        scale: Its parts.
        level: Nominal coverage, one of `FACTORS`.
        n_points: Points of the curve, at least 3.
    """
    by_count = FACTORS[level]
    return by_count[max(least for least in by_count if least <= n_points)] * scale.total()
