"""How many directions vectors spread over, from a sample, without the bias of small samples."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.estimate import Estimate
from transferscope.numerics.jackknife import jackknife

_MOST_VARIANCE = 0.99


@dataclass(frozen=True)
class DimensionBand:
    """Between which numbers of equal directions vectors behave as if they had.

    No single number of equal directions stands for directions of unequal variance: a learner with few examples sees the
    large ones alone, and one with many has to learn the small ones too.

    Attributes:
        low: The participation ratio, with its error over examples.
        high: The number of principal directions that hold 99 % of the variance, at least `low`.
    """

    low: Estimate
    high: float

    @property
    def middle(self) -> float:
        """The geometric mean of both ends."""
        return math.sqrt(self.low.value * self.high)


def dimension_band(vectors: Float64[np.ndarray, "N D"]) -> DimensionBand:
    """The band of effective dimensions of a sample of finite vectors, shape (N, D).

    Returns:
        The band; `low` has the status of `effective_dimension`, and `high` is NaN where that is not "ok".
    """
    low = effective_dimension(vectors)
    if low.status != "ok":
        return DimensionBand(low, math.nan)
    variances = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    held = np.cumsum(variances) / variances.sum()
    return DimensionBand(low, max(float(np.searchsorted(held, _MOST_VARIANCE) + 1), low.value))


def effective_dimension(vectors: Float64[np.ndarray, "N D"]) -> Estimate:
    """The participation ratio (tr S)^2 / tr S^2 of the covariance S of finite vectors, shape (N, D).

    It is d when d directions have equal variance and the others none, so it takes the place of the number of inputs of
    isotropic models. Both parts are means over pairs of different examples,

        tr S^2 = sum_{i != j} (x_i . x_j)^2 / (N (N - 1))        (tr S)^2 = sum_{i != j} |x_i|^2 |x_j|^2 / (N (N - 1))

    with x centred; the plug-in value of a sample of isotropic vectors would be near 1/(1/d + 1/N) instead of d.

    Returns:
        At least 1, with its jackknife standard error over examples; "undefined" when the vectors do not vary, "too_few"
        below 4 of them.
    """
    n = len(vectors)
    if n < 4:
        return Estimate.missing("too_few", n)

    def participation_ratio(index: np.ndarray) -> float:
        x = vectors[index] - vectors[index].mean(axis=0)
        squares = (x**2).sum(axis=1)  # (N,)
        gram = x.T @ x if x.shape[1] <= len(x) else x @ x.T
        same = (squares**2).sum()
        products, traces = (gram**2).sum() - same, squares.sum() ** 2 - same
        return float(traces / products) if products > 1e-12 * traces else float("nan")

    ratio = jackknife(participation_ratio, n)
    if ratio.status != "ok":
        return ratio
    return Estimate(max(ratio.value, 1.0), ratio.stderr, n)
