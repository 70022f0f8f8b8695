"""The one solver of every law."""

from dataclasses import replace

import numpy as np

from transferscope.scaling.solve.polish import polish
from transferscope.scaling.solve.problem import THOROUGH, Effort, Problem, Solution
from transferscope.scaling.solve.start import starts


def solve(problem: Problem, effort: Effort = THOROUGH) -> Solution:
    """Fit: start on the grid, polish, keep the best start of each row.

    Sizes are measured in their geometric mean unless a parameter is held, so that a coefficient keeps its meaning.

    Args:
        problem: B fits of one law.
        effort: How hard to search.

    Returns:
        The best fit of each row, in the units of `problem.x`.
    """
    unit = problem.unit if problem.fixed is None else np.ones_like(problem.unit)
    scaled = replace(problem, x=problem.x / unit)
    start = starts(scaled, n_starts=effort.n_starts)  # (B, r, p)
    n_rows, n_each, n_parameters = start.shape
    rows = np.repeat(np.arange(n_rows), n_each)
    many = _take(scaled, rows)
    found = polish(many, start.reshape(-1, n_parameters), effort)
    best = found.cost.reshape(n_rows, n_each).argmin(axis=1) + n_each * np.arange(n_rows)
    theta = problem.law.in_unit(found.theta[best], 1 / unit)
    return Solution(theta, found.cost[best], found.converged[best], found.steps[best])


def _take(problem: Problem, rows: np.ndarray) -> Problem:
    fixed = None if problem.fixed is None else problem.fixed[rows]
    return replace(problem, y=problem.y[rows], weights=problem.weights[rows], fixed=fixed)
