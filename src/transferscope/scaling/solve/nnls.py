"""Non-negative least squares for at most three coefficients, exact and batched."""

from itertools import combinations

import numpy as np
from jaxtyping import Float


def nnls(gram: Float[np.ndarray, "*batch k k"], moment: Float[np.ndarray, "*batch k"]) -> Float[np.ndarray, "*batch k"]:
    """argmin_c c'Gc / 2 - b'c under c >= 0, by trying every set of positive coefficients.

    Args:
        gram: G = Phi'W Phi.
        moment: b = Phi'W y.

    Returns:
        The best feasible coefficients. A singular set is passed over, so that one of several equal solutions comes out.
    """
    k = moment.shape[-1]
    best = np.zeros_like(moment)
    best_gain = np.zeros(moment.shape[:-1])
    for size in range(1, k + 1):
        for members in combinations(range(k), size):
            part = solve_small(gram[..., members, :][..., members], moment[..., members])
            gain = (part * moment[..., members]).sum(-1)
            better = np.isfinite(part).all(-1) & (part >= 0).all(-1) & (gain > best_gain)
            candidate = np.zeros_like(moment)
            candidate[..., members] = part
            best = np.where(better[..., None], candidate, best)
            best_gain = np.where(better, gain, best_gain)
    return best


def solve_small(
    matrix: Float[np.ndarray, "*batch k k"], right: Float[np.ndarray, "*batch k"]
) -> Float[np.ndarray, "*batch k"]:
    """Solve 1x1, 2x2 or 3x3 systems by Cramer's rule; not finite where the matrix is singular to machine precision."""
    k = right.shape[-1]
    columns = [matrix[..., j] for j in range(k)]
    determinant = _determinant(columns)
    scale = np.prod([np.abs(matrix[..., j, j]) for j in range(k)], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        solutions = [_determinant([*columns[:j], right, *columns[j + 1 :]]) / determinant for j in range(k)]
    singular = np.abs(determinant) <= 1e-13 * scale
    return np.where(singular[..., None], np.nan, np.stack(solutions, axis=-1))


def _determinant(columns: list[Float[np.ndarray, "*batch k"]]) -> Float[np.ndarray, "*batch"]:
    if len(columns) == 1:
        return columns[0][..., 0]
    if len(columns) == 2:
        (a, b) = columns
        area: Float[np.ndarray, "*batch"] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        return area
    a, b, c = columns
    volume: Float[np.ndarray, "*batch"] = (
        a[..., 0] * (b[..., 1] * c[..., 2] - b[..., 2] * c[..., 1])
        - b[..., 0] * (a[..., 1] * c[..., 2] - a[..., 2] * c[..., 1])
        + c[..., 0] * (a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1])
    )
    return volume
