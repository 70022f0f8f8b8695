"""Standard error of a statistic of many examples, by leaving groups of them out."""

from collections.abc import Callable
from math import isfinite

import numpy as np
from jaxtyping import Int

from transferscope.records import Estimate

Statistic = Callable[[Int[np.ndarray, "n"]], float]
"""From the indices of the examples to use to a number; NaN where it does not exist."""


def jackknife(statistic: Statistic, n: int, *, n_groups: int = 20, seed: int = 0) -> Estimate:
    """Value of a statistic on all examples, with its delete-a-group jackknife standard error.

        stderr^2 = (G - 1) / G sum_g (t_g - mean t)^2,    t_g without group g

    Right for smooth statistics of independent examples whose value does not grow with n (means, ratios, log
    determinants; not quantiles or sums). Groups are drawn at random once.

    Args:
        statistic: The statistic.
        n: Number of examples, at least 1.
        n_groups: G; with fewer examples than twice this, one group per example.
        seed: Seed of the assignment to groups.

    Returns:
        The estimate over n examples; "undefined" where the statistic is NaN, and without a standard error where it is
        NaN without one of the groups.
    """
    everything = np.arange(n)
    value = statistic(everything)
    if not isfinite(value):
        return Estimate(float("nan"), None, n, "undefined")
    if n < 3:
        return Estimate(value, None, n)
    order = np.random.default_rng(seed).permutation(n)
    groups = np.array_split(order, n_groups if n >= 2 * n_groups else n)
    without = np.array([statistic(np.setdiff1d(everything, group)) for group in groups])
    if not np.isfinite(without).all():
        return Estimate(value, None, n)
    spread = ((without - without.mean()) ** 2).sum() * (len(groups) - 1) / len(groups)
    return Estimate(value, float(np.sqrt(spread)), n)
