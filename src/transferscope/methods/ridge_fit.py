"""Ridge regression with the penalty chosen by leave-one-out error, with low memory."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

AT_ONCE = 2**23
"""Feature values held as float64 at a time."""

_EIGEN = 8  # what an eigenvalue decomposition of m x m takes, in products of two such matrices (measured: 7 to 9)


def ridge_work(n: int, width: int, n_outputs: int, n_penalties: int) -> float:
    """Return the multiplications of ridge regression that chooses among `n_penalties` by leave-one-out error."""
    least = min(n, width)
    return float(n * width * least + _EIGEN * least**3 + n_penalties * n_outputs * n * least)


def ridge_fit(
    features: Float[Tensor, "N m"],
    targets: Float[np.ndarray, "N K"],
    penalties: Float[np.ndarray, " A"],
    weights: Float[np.ndarray, " N"] | None = None,
) -> tuple[Float[np.ndarray, "K m"], Float[np.ndarray, " K"]]:
    """Return the solution of scikit-learn's `RidgeCV`, in less time and without copies of the features.

    Args:
        features: float32 features, finite, on the processor's memory.
        penalties: Candidate penalties, ascending, in units of the features' mean squared distance from their mean; at
            least 1e-5.
        weights: Weights of the examples in the squared loss, at least 0, not all 0; None for 1.

    Returns:
        Coefficients and intercepts of the penalty with the smallest mean squared leave-one-out error; coefficients of 0
        for a single example.
    """
    n, width = features.shape
    if n == 1:
        return np.zeros((targets.shape[1], width)), targets[0]
    root = np.ones(n) if weights is None else np.sqrt(weights)
    share = np.square(root) / np.square(root).sum()
    plain, mean = np.zeros(width), np.zeros(width)
    for rows, part in _rows(features):
        plain += part.sum(axis=0) / n
        mean += share[rows] @ part
    scale = sum(np.square(part - plain).sum() for _, part in _rows(features)) / n or 1.0
    centre = share @ targets
    scaled = root[:, None] * (targets - centre)
    solve = _by_covariance if n > width else _by_products
    coefficients = solve(features, mean, root, scaled, penalties * scale)
    return coefficients, centre - coefficients @ mean


def is_finite(features: Float[Tensor, "N m"]) -> bool:
    """Return whether all numbers are finite."""
    return all(bool(np.isfinite(part).all()) for _, part in _rows(features))


def _rows(features: Float[Tensor, "N m"]) -> Iterator[tuple[slice, Float[np.ndarray, "n m"]]]:
    n = max(1, AT_ONCE // max(1, features.shape[1]))
    for start in range(0, len(features), n):
        rows = slice(start, start + n)
        yield rows, features[rows].to(torch.float64).numpy()


def _columns(features: Float[Tensor, "N m"]) -> Iterator[tuple[slice, Float[np.ndarray, "N n"]]]:
    n = max(1, AT_ONCE // len(features))
    for start in range(0, features.shape[1], n):
        columns = slice(start, start + n)
        yield columns, features[:, columns].to(torch.float64).numpy()


def _by_covariance(
    features: Float[Tensor, "N m"],
    mean: Float[np.ndarray, " m"],
    root: Float[np.ndarray, " N"],
    targets: Float[np.ndarray, "N K"],
    alphas: Float[np.ndarray, " A"],
) -> Float[np.ndarray, "K m"]:
    from scipy.linalg import eigh

    width = features.shape[1]
    covariance, along = np.zeros((width, width)), np.zeros((width, targets.shape[1]))
    for rows, part in _rows(features):
        centred = root[rows, None] * (part - mean)
        covariance += centred.T @ centred
        along += centred.T @ targets[rows]
    values, vectors = eigh(covariance, overwrite_a=True, check_finite=False)
    shrunk = 1 / (values.clip(min=0)[:, None] + alphas)  # (m, A)
    along = vectors.T @ along
    mean_share = np.square(root) / np.square(root).sum()
    errors = np.zeros(len(alphas))
    for rows, part in _rows(features):
        principal = (root[rows, None] * (part - mean)) @ vectors
        left = 1 - mean_share[rows, None] - np.square(principal) @ shrunk  # (n, A): 1 - leverage
        for i in range(len(alphas)):
            missed = targets[rows] - principal @ (along * shrunk[:, i, None])
            errors[i] += np.square(missed / left[:, i, None]).sum()
    best = int(np.argmin(errors))
    coefficients: Float[np.ndarray, "K m"] = (vectors @ (along * shrunk[:, best, None])).T
    return coefficients


def _by_products(
    features: Float[Tensor, "N m"],
    mean: Float[np.ndarray, " m"],
    root: Float[np.ndarray, " N"],
    targets: Float[np.ndarray, "N K"],
    alphas: Float[np.ndarray, " A"],
) -> Float[np.ndarray, "K m"]:
    from scipy.linalg import eigh

    n, width = features.shape
    products = np.zeros((n, n))
    for columns, part in _columns(features):
        centred = root[:, None] * (part - mean[columns])
        products += centred @ centred.T
    unit = root / np.linalg.norm(root)
    # the intercept, which is not penalised, is this direction; here it gets the largest eigenvalue, the last
    products += (1 + np.trace(products)) * np.outer(unit, unit)
    values, vectors = eigh(products, overwrite_a=True, check_finite=False)
    along = vectors.T @ targets
    shrunk = 1 / (values.clip(min=0)[:, None] + alphas)  # (N, A)
    shrunk[-1] = 0
    counted: Bool[np.ndarray, " N"] = root > 0  # an example of no weight is predicted for nothing
    inverse = np.square(vectors) @ shrunk
    errors = [
        np.square((vectors @ (along * shrunk[:, i, None]))[counted] / inverse[counted, i, None]).sum()
        for i in range(len(alphas))
    ]
    best = int(np.argmin(errors))
    dual = root[:, None] * (vectors @ (along * shrunk[:, best, None]))
    coefficients = np.empty((targets.shape[1], width))
    for columns, part in _columns(features):
        coefficients[:, columns] = dual.T @ (part - mean[columns])
    return coefficients
