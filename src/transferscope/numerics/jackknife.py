"""Standard errors of statistics over examples: delete-a-group jackknife, and the delta method for ratios."""

from collections.abc import Callable
from math import isfinite

import numpy as np
from jaxtyping import Float, Float64, Int, Int64

from transferscope.estimate import Estimate

Statistic = Callable[[Int[np.ndarray, " n"]], float]
"""Takes the indices of examples; returns a number, or NaN if undefined."""

GROUPS = 20
"""Number of random groups of examples; with fewer examples than twice this, each is a group of its own."""


def all_but_one_group(n: int) -> list[Int64[np.ndarray, " m"]]:
    """Return n examples (at least 1) without each of the groups: increasing indices, the same for the same n."""
    order = np.random.default_rng(0).permutation(n)
    groups = np.array_split(order, GROUPS if n >= 2 * GROUPS else n)
    return [np.setdiff1d(np.arange(n), group) for group in groups]


def grouped_error(without: Float64[np.ndarray, " G"]) -> float | None:
    """Return the standard error of a statistic, or of a difference of two, from its values without each group.

        stderr^2 = (G - 1) / G sum_g (t_g - mean t)^2

    Args:
        without: t_g, shape (G,).

    Returns:
        None where there are fewer than two values or one of them is not finite.
    """
    if len(without) < 2 or not np.isfinite(without).all():
        return None
    return float(np.sqrt(((without - without.mean()) ** 2).sum() * (len(without) - 1) / len(without)))


def jackknife(statistic: Statistic, n: int) -> Estimate:
    """Return a statistic on all examples with its delete-a-group jackknife standard error (`grouped_error`).

    Valid for smooth statistics of independent examples that do not grow with n (means, ratios, log determinants; not
    quantiles or sums).

    Returns:
        The estimate over n examples; status "undefined" if the statistic is NaN, and no standard error if it is NaN
        without one of the groups.
    """
    value = statistic(np.arange(n))
    if not isfinite(value):
        return Estimate.missing("undefined", n)
    if n < 3:
        return Estimate(value, None, n)
    without = np.array([statistic(rest) for rest in all_but_one_group(n)])
    return Estimate(value, grouped_error(without), n)


def ratio_of_means(upper: Float[np.ndarray, " n"], lower: Float[np.ndarray, " n"]) -> Estimate:
    """Return the ratio of two means over the same examples with its standard error by the delta method.

    Returns:
        The ratio; no standard error for one example; status "non_finite" if a number is not finite, "undefined" over a
        mean of 0.
    """
    n = len(upper)
    if not (np.isfinite(upper).all() and np.isfinite(lower).all()):
        return Estimate.missing("non_finite", n)
    if lower.mean() == 0:
        return Estimate.missing("undefined", n)
    ratio = upper.mean() / lower.mean()
    stderr = float((upper - ratio * lower).std(ddof=1) / (np.sqrt(n) * lower.mean())) if n > 1 else None
    return Estimate(float(ratio), stderr, n)
