"""Combining forecasts: weights from back-tests, shrunk hard towards equal; a winsorised mean."""

import numpy as np
from jaxtyping import Float

SHRINKAGE = 0.1
"""Share of the median squared back-test error that is added to every candidate's."""

WINSORISED = 0.1
"""Share of the weight on each side whose forecasts are pulled in, so that one wild form cannot move the mean far."""


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
    result: Float[np.ndarray, " K"] = weights / weights.sum()
    return result


def weighted_quantile(
    values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"], level: float
) -> Float[np.ndarray, " T"]:
    """Quantile over candidates, interpolated between the middles of their weights.

    Args:
        values: Forecasts; rows of weight 0 are not read.
        weights: At least one of them above 0.
        level: In [0, 1].
    """
    used = weights > 0
    values, weights = values[used], weights[used]
    order = np.argsort(values, axis=0)
    ordered, ordered_weights = np.take_along_axis(values, order, axis=0), weights[order]
    middles = (np.cumsum(ordered_weights, axis=0) - ordered_weights / 2) / weights.sum()
    return np.array([np.interp(level, middles[:, t], ordered[:, t]) for t in range(values.shape[1])])


def winsorised_mean(values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, " T"]:
    """Weighted mean after pulling candidates beyond the outer quantiles (WINSORISED on each side) in to them."""
    low = weighted_quantile(values, weights, WINSORISED)
    high = weighted_quantile(values, weights, 1 - WINSORISED)
    used = weights > 0
    return np.average(np.clip(values[used], low, high), axis=0, weights=weights[used])


def spread(values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, " T"]:
    """Half the distance between the weighted 16 % and 84 % quantiles: a standard deviation if forms were normal."""
    low, high = weighted_quantile(values, weights, 0.16), weighted_quantile(values, weights, 0.84)
    half: Float[np.ndarray, " T"] = (high - low) / 2
    return half
