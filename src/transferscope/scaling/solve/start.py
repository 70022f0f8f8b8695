"""Where a fit starts: variable projection over a grid."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.solve.nnls import nnls
from transferscope.scaling.solve.problem import Problem

CELLS_AT_ONCE = 400_000


def starts(problem: Problem, *, n_starts: int) -> Float[np.ndarray, "B r p"]:
    """The best cells of the grid, each from another part of it.

    In log error the weights are W / y^2: the log residual to first order.

    Args:
        problem: B fits.
        n_starts: Parts of the grid, cut along its first axis, of which each gives its best cell.

    Returns:
        Parameters at the best cells, shape (B, r, p), r <= n_starts.
    """
    block = max(1, CELLS_AT_ONCE // max(1, len(problem.law.grid)))
    rows = np.arange(len(problem.y))
    blocks = np.array_split(rows, -(-len(rows) // block))
    if _nonlinear_is_held(problem):
        blocks = [rows[i : i + 1] for i in rows]  # every row has a grid of its own
    return np.concatenate([_starts_of(problem, part, n_starts) for part in blocks])


def _nonlinear_is_held(problem: Problem) -> bool:
    return bool(problem.held()[: len(problem.law.nonlinear)].any())


def _starts_of(problem: Problem, rows: np.ndarray, n_starts: int) -> Float[np.ndarray, "B r p"]:
    law = problem.law
    q = len(law.nonlinear)
    grid = _grid(problem, rows)
    coefficients, cost = _project(problem, rows, grid)
    chosen = []
    for part in np.array_split(np.arange(len(grid)), min(n_starts, len(grid))):
        cell = part[cost[part].argmin(axis=0)]  # (B,)
        theta = np.concatenate([grid[cell], coefficients[cell, np.arange(len(rows))]], axis=1)
        chosen.append(theta)
    start = np.stack(chosen, axis=1)
    assert start.shape[2] == q + len(law.linear)
    return start


def _grid(problem: Problem, rows: np.ndarray) -> Float[np.ndarray, "G q"]:
    law = problem.law
    grid = law.grid_in(problem.unit) if law.nonlinear else law.grid
    if problem.fixed is None or not _nonlinear_is_held(problem):
        return grid
    held = problem.fixed[rows[0], : len(law.nonlinear)]
    return np.unique(np.where(np.isnan(held), grid, held), axis=0)


def _project(
    problem: Problem, rows: np.ndarray, grid: Float[np.ndarray, "G q"]
) -> tuple[Float[np.ndarray, "G B k"], Float[np.ndarray, "G B"]]:
    """Best coefficients and their cost in every cell of the grid, for some rows of the problem."""
    law, q = problem.law, len(problem.law.nonlinear)
    y, weights = problem.y[rows], problem.weights[rows]
    if problem.loss != "linear":
        weights = np.where(y > 0, weights / np.where(y > 0, y, 1.0) ** 2, 0.0)
    basis = law.basis(problem.x, grid)  # (G, m, k)
    k = basis.shape[2]
    gram = np.empty((len(grid), len(rows), k, k))
    for i in range(k):
        for j in range(i, k):
            gram[:, :, i, j] = gram[:, :, j, i] = (basis[:, :, i] * basis[:, :, j]) @ weights.T
    moment = np.stack([basis[:, :, i] @ (weights * y).T for i in range(k)], axis=2)  # (G, B, k)
    fixed = None if problem.fixed is None else problem.fixed[rows, q:]
    coefficients = _coefficients(gram, moment, fixed)
    quadratic = np.einsum("gbi,gbij,gbj->gb", coefficients, gram, coefficients)
    cost = (weights * y**2).sum(axis=1) - 2 * (coefficients * moment).sum(-1) + quadratic
    return coefficients, np.where(np.isfinite(cost), cost, np.inf)


def _coefficients(
    gram: Float[np.ndarray, "G B k k"], moment: Float[np.ndarray, "G B k"], fixed: Float[np.ndarray, "B k"] | None
) -> Float[np.ndarray, "G B k"]:
    """Non-negative least squares with some coefficients held."""
    if fixed is None or np.isnan(fixed).all():
        return nnls(gram, moment)
    held = ~np.isnan(fixed[0])
    values = np.broadcast_to(np.where(held, fixed, 0.0), moment.shape).copy()
    if held.all():
        return values
    rest = moment - np.einsum("gbij,gbj->gbi", gram, values)
    free = np.flatnonzero(~held)
    values[..., free] = nnls(gram[..., free, :][..., free], rest[..., free])
    return values
