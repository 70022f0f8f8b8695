"""Levenberg-Marquardt inside a box, many fits at a time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transferscope.scaling.solve.problem import HUBER_DELTA, TINY, Effort, Problem, Solution


@dataclass
class _State:
    """Rows that are still moving."""

    rows: np.ndarray
    u: np.ndarray
    cost: np.ndarray
    damping: np.ndarray


def polish(problem: Problem, theta: Float[np.ndarray, "B p"], effort: Effort) -> Solution:
    """Descend from `theta` to the nearest optimum within the bounds.

    Parameters on a log scale move by their logarithm. A parameter at a bound with the gradient pointing outwards is
    held for that step.

    Args:
        problem: B fits.
        theta: Starts, shape (B, p).
        effort: Most steps of a row, and when a row has come to rest.

    Returns:
        The solution; rows that used all steps are not converged.
    """
    box = _Box(problem)
    u = box.inward(box.to_search(theta))
    cost = _cost(problem, np.arange(len(u)), box.to_theta(u))
    best, best_cost = u.copy(), cost.copy()
    converged, steps = np.zeros(len(u), dtype=bool), np.zeros(len(u), dtype=np.int64)
    state = _State(np.arange(len(u)), u, cost, np.full(len(u), 1e-3))
    for _ in range(effort.max_steps):
        if len(state.rows) == 0:
            break
        steps[state.rows] += 1
        done = _step(problem, box, state, effort.tolerance)
        best[state.rows], best_cost[state.rows] = state.u, state.cost
        converged[state.rows[done]] = True
        state = _State(state.rows[~done], state.u[~done], state.cost[~done], state.damping[~done])
    return Solution(box.to_theta(best), best_cost, converged, steps)


class _Box:
    """The bounds, and the way between parameters and the coordinates that are searched."""

    def __init__(self, problem: Problem) -> None:
        bounds = problem.law.bounds(problem.unit)
        self.log = problem.law.on_log_scale()
        self.held = problem.held()
        self.low, self.high = self.to_search(bounds)

    def to_search(self, theta: Float[np.ndarray, "B p"]) -> Float[np.ndarray, "B p"]:
        return np.where(self.log, np.log(np.where(self.log, theta, 1.0)), theta)

    def to_theta(self, u: Float[np.ndarray, "B p"]) -> Float[np.ndarray, "B p"]:
        return np.where(self.log, np.exp(np.where(self.log, u, 0.0)), u)

    def inward(self, u: Float[np.ndarray, "B p"]) -> Float[np.ndarray, "B p"]:
        return np.where(self.held, u, np.clip(u, self.low, self.high))

    def free(self, u: Float[np.ndarray, "B p"], descent: Float[np.ndarray, "B p"]) -> Bool[np.ndarray, "B p"]:
        outward = ((u <= self.low) & (descent < 0)) | ((u >= self.high) & (descent > 0))
        result: Bool[np.ndarray, "B p"] = ~outward & ~self.held
        return result


def _step(problem: Problem, box: _Box, state: _State, tolerance: float) -> Bool[np.ndarray, " B"]:
    """Try one step of every row; say which rows have come to rest."""
    theta = box.to_theta(state.u)
    normal, descent = _normal_equations(problem, state.rows, theta, box.log)
    free = box.free(state.u, descent)
    descent = np.where(free, descent, 0.0)
    step = _damped_solve(normal, descent, free, state.damping)
    promised = (descent * step).sum(axis=1)  # twice the decrease of the quadratic model
    trial = box.inward(state.u + step)
    cost = _cost(problem, state.rows, box.to_theta(trial))
    better = cost < state.cost
    gain = np.where(better, state.cost - cost, 0.0)
    small = tolerance * (state.cost + TINY)
    settled = (promised <= small) | ((gain <= small) & (better | (state.damping > 1e3)))
    state.u = np.where(better[:, None], trial, state.u)
    state.cost = np.where(better, cost, state.cost)
    state.damping = np.where(better, np.maximum(state.damping / 8, 1e-14), state.damping * 6)
    result: Bool[np.ndarray, " B"] = settled | (state.cost <= 1e-28)
    return result


def _normal_equations(
    problem: Problem, rows: np.ndarray, theta: Float[np.ndarray, "B p"], log: Bool[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "B p p"], Float[np.ndarray, "B p"]]:
    """J'WJ and J'Wr in the coordinates that are searched."""
    y, weights = problem.y[rows], problem.weights[rows]
    values, jacobian = problem.law.value(problem.x, theta), problem.law.gradient(problem.x, theta)
    residuals = problem.residuals(values, y)
    jacobian = jacobian * np.where(log, theta, 1.0)[:, None, :]
    if problem.loss != "linear":
        jacobian = jacobian / np.maximum(values, TINY)[:, :, None]
    if problem.loss == "huber":
        weights = weights * np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(residuals), TINY))
    weighted = jacobian * weights[:, :, None]
    with np.errstate(over="ignore", invalid="ignore"):
        normal, descent = np.swapaxes(weighted, 1, 2) @ jacobian, np.einsum("bmp,bm->bp", weighted, residuals)
    return normal, np.where(np.isfinite(descent), descent, 0.0)


def _damped_solve(
    normal: Float[np.ndarray, "B p p"],
    descent: Float[np.ndarray, "B p"],
    free: Bool[np.ndarray, "B p"],
    damping: Float[np.ndarray, " B"],
) -> Float[np.ndarray, "B p"]:
    """(N + damping diag N) step = descent on the free parameters, scaled to a unit diagonal."""
    diagonal = np.einsum("bpp->bp", normal)
    usable = free & (diagonal > 0) & np.isfinite(diagonal)
    scale = np.where(usable, 1 / np.sqrt(np.where(usable, diagonal, 1.0)), 0.0)
    scaled = np.where(np.isfinite(normal), normal, 0.0) * scale[:, :, None] * scale[:, None, :]
    identity = np.eye(normal.shape[1])
    scaled = scaled + identity * np.where(usable, damping[:, None], 1.0)[:, None, :]
    right = np.where(usable, descent, 0.0) * scale
    return np.linalg.solve(scaled, right[:, :, None])[:, :, 0] * scale


def _cost(problem: Problem, rows: np.ndarray, theta: Float[np.ndarray, "B p"]) -> Float[np.ndarray, " B"]:
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = problem.residuals(problem.law.value(problem.x, theta), problem.y[rows])
        squared = residuals**2
    if problem.loss == "huber":
        size = np.abs(residuals)
        squared = np.where(size <= HUBER_DELTA, squared, HUBER_DELTA * (2 * size - HUBER_DELTA))
    cost = (problem.weights[rows] * squared).sum(axis=1)
    return np.where(np.isfinite(cost), cost, np.inf)
