"""Combining forecasts: weights from back-tests, shrunk hard towards equal; a weighted median."""

import numpy as np
from jaxtyping import Float

SHRINKAGE = 0.1
"""Share of the median squared back-test error that is added to every candidate's."""


def combination_weights(
    errors: Float[np.ndarray, " K"], available: Float[np.ndarray, "K T"]
) -> Float[np.ndarray, " K"]:
    r"""Weights w_k \propto (e_k^2 + \lambda \tilde e^2)^{-1/2}, with \tilde e the median error; 0 without a forecast.

    A candidate without a back-test has the median error. The square root keeps the weights close to equal: choosing the
    candidate with the smallest back-test error does worse than the plain mean.

    Args:
        errors: Back-test error of each candidate, NaN where unknown.
        available: Their forecasts; a candidate with NaN has weight 0.

    Returns:
        Weights that sum to 1.
    """
    usable = np.isfinite(available).all(axis=1)
    known = errors[np.isfinite(errors)]
    middle = float(np.median(known)) if len(known) else 1.0
    filled = np.where(np.isfinite(errors), errors, middle)
    weights = usable / np.sqrt(filled**2 + SHRINKAGE * middle**2 + 1e-24)
    return weights / weights.sum()


def weighted_median(values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, " T"]:
    """Median over candidates, interpolated between the middles of their weights."""
    used = weights > 0
    values, weights = values[used], weights[used]
    order = np.argsort(values, axis=0)
    sorted_values, sorted_weights = np.take_along_axis(values, order, axis=0), weights[order]
    middles = (np.cumsum(sorted_weights, axis=0) - sorted_weights / 2) / sorted_weights.sum(axis=0)
    return np.array([np.interp(0.5, middles[:, t], sorted_values[:, t]) for t in range(values.shape[1])])


def spread(
    values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"], centre: Float[np.ndarray, " T"]
) -> Float[np.ndarray, " T"]:
    """Weighted root mean square distance of the candidates from the combination."""
    used = weights > 0
    return np.sqrt((weights[used, None] * (values[used] - centre) ** 2).sum(axis=0) / weights[used].sum())
