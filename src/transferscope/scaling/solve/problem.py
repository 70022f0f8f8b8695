"""What is solved, and what comes out."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from transferscope.scaling.laws.law import Law

Loss = Literal["log", "linear", "huber"]
"""Residual of a fit: log y - log f ("log", and "huber" with linear tails beyond HUBER_DELTA) or y - f ("linear")."""

HUBER_DELTA = 1e-3
"""Residual in log error beyond which the Huber loss grows linearly (Hoffmann et al. 2022, section 3.3)."""

TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard a fit is searched for.

    Attributes:
        n_starts: Starts of each fit, at least 1, from different parts of the grid.
        max_steps: Most steps of the polish, at least 1.
        tolerance: A step that lowers the cost by less than this share of it is the last one.
    """

    n_starts: int
    max_steps: int
    tolerance: float


THOROUGH = Effort(n_starts=8, max_steps=200, tolerance=1e-11)
"""For one fit whose parameters are read."""

PROFILE = Effort(n_starts=2, max_steps=40, tolerance=1e-7)
"""For profiles, whose costs are compared with a threshold."""

QUICK = Effort(n_starts=1, max_steps=40, tolerance=1e-7)
"""For bootstrap draws and for forecasts from many windows."""


@dataclass(frozen=True)
class Problem:
    """B fits of one law to observations at the same sizes.

    Attributes:
        law: The law.
        x: Sizes, shape (m, v), all in the domain of the law.
        y: Errors, shape (B, m); positive where the weight is, for the losses in log error.
        weights: Weights of the squared residuals, shape (B, m), at least 0; a weight of 0 leaves an observation out.
        loss: The residual.
        fixed: Values of theta that are held, shape (B, p), NaN where free; the same columns are held in every row.
            None when all are free.
    """

    law: Law
    x: Float[np.ndarray, "m v"]
    y: Float[np.ndarray, "B m"]
    weights: Float[np.ndarray, "B m"]
    loss: Loss = "log"
    fixed: Float[np.ndarray, "B p"] | None = None

    @property
    def unit(self) -> Float[np.ndarray, " v"]:
        """Geometric mean of the positive sizes in each column."""
        logs = np.log(np.where(self.x > 0, self.x, 1.0))
        result: Float[np.ndarray, " v"] = np.exp(logs.sum(axis=0) / np.maximum((self.x > 0).sum(axis=0), 1))
        return result

    def held(self) -> Bool[np.ndarray, " p"]:
        """Which parameters are held."""
        if self.fixed is None:
            return np.zeros(len(self.law.parameters), dtype=bool)
        result: Bool[np.ndarray, " p"] = ~np.isnan(self.fixed[0])
        return result

    def residuals(self, values: Float[np.ndarray, "B m"], y: Float[np.ndarray, "B m"]) -> Float[np.ndarray, "B m"]:
        """Residuals of `values` against `y`; 0 where y cannot be in log error (such points must have weight 0)."""
        if self.loss == "linear":
            result: Float[np.ndarray, "B m"] = y - values
            return result
        usable = y > 0
        return np.where(usable, np.log(np.where(usable, y, 1.0)) - np.log(np.maximum(values, TINY)), 0.0)


@dataclass(frozen=True)
class Solution:
    """B fits.

    Attributes:
        theta: Parameters, shape (B, p).
        cost: Weighted sum of squared residuals (twice the Huber sum), shape (B,).
        converged: Whether the polish came to rest, shape (B,).
        steps: Steps of the polish, shape (B,).
    """

    theta: Float[np.ndarray, "B p"]
    cost: Float[np.ndarray, " B"]
    converged: Bool[np.ndarray, " B"]
    steps: Int[np.ndarray, " B"]
