"""Keeping the number of false findings in hand when many differences are tested at once."""

import numpy as np
from jaxtyping import Float

from transferscope.errors import DataError


def holm(p_values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """p-values adjusted so that the chance of any false finding among them stays below the level (Holm 1979).

    With the m tests in ascending order, the i-th of them (from 0) becomes max_{j <= i} min(1, (m - j) p_j).

    Args:
        p_values: Shape (n,), in [0, 1]; NaN stands for a test that could not be made, and counts as none.

    Returns:
        Adjusted p-values in the same order, shape (n,), NaN where NaN was given.

    Raises:
        DataError: A value is outside [0, 1].
    """
    made = ~np.isnan(p_values)
    if ((p_values[made] < 0) | (p_values[made] > 1)).any():
        raise DataError("p-values lie between 0 and 1; some given are outside")
    order = np.argsort(p_values)[: made.sum()]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    adjusted = np.full_like(p_values, np.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(factors * p_values[order], 1.0))
    return adjusted
