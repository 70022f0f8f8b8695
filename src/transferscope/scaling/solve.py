"""Solver of law fits: variable projection over a grid for the starts, then Levenberg-Marquardt steps within bounds.

Many fits at once: `solve` takes a `Problem` of B rows of errors at the same sizes.
"""

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Bool, Float, Shaped

from transferscope.scaling.laws.law import Law
from transferscope.settings.questions import Loss

HUBER_DELTA = 1e-3
"""Residual in log error beyond which the Huber loss grows linearly (Hoffmann et al. 2022, section 3.3)."""

TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of the search for a fit.

    Attributes:
        n_starts: Starts of each fit, at least 1, from different parts of the grid.
        max_steps: Most steps of the polish, at least 1.
        tolerance: Relative decrease of the cost below which the search stops.
    """

    n_starts: int
    max_steps: int
    tolerance: float


THOROUGH = Effort(n_starts=8, max_steps=200, tolerance=1e-11)
"""Effort for one fit whose parameters are used."""

PROFILE = Effort(n_starts=2, max_steps=40, tolerance=1e-7)
"""Effort for profiles, whose costs are compared with a threshold."""

QUICK = Effort(n_starts=1, max_steps=40, tolerance=1e-7)
"""Effort for bootstrap draws and forecasts from many windows."""


@dataclass(frozen=True)
class Problem:
    """B fits of one law to observations at the same sizes.

    Attributes:
        x: Sizes, shape (m, v), all in the domain of the law.
        y: Errors, shape (B, m); positive where the weight is, for the losses in log error.
        weights: Weights of the squared residuals, shape (B, m), at least 0; a weight of 0 leaves an observation out.
        fixed: Values of theta that are held, shape (B, p), NaN where free; the same columns are held in every row.
            None when all are free.
    """

    law: Law
    x: Float[np.ndarray, "m v"]
    y: Float[np.ndarray, "B m"]
    weights: Float[np.ndarray, "B m"]
    loss: Loss = "log"
    fixed: Float[np.ndarray, "B p"] | None = None

    @property
    def unit(self) -> Float[np.ndarray, " v"]:
        """Geometric mean of the positive sizes in each column."""
        logs = np.log(np.where(self.x > 0, self.x, 1.0))
        return np.asarray(np.exp(logs.sum(axis=0) / np.maximum((self.x > 0).sum(axis=0), 1)))

    def held(self) -> Bool[np.ndarray, " p"]:
        """Return the fixed parameters."""
        if self.fixed is None:
            return np.zeros(len(self.law.parameters), dtype=bool)
        return np.asarray(~np.isnan(self.fixed[0]))

    def take(self, rows: Shaped[np.ndarray, " r"] | slice) -> "Problem":
        """Return the fits at some rows, which may repeat."""
        fixed = None if self.fixed is None else self.fixed[rows]
        return Problem(self.law, self.x, self.y[rows], self.weights[rows], self.loss, fixed)

    @property
    def error_weights(self) -> Float[np.ndarray, "B m"]:
        """Weights of squared errors in place of residuals: W / y^2 in log error, the log residual to first order."""
        if self.loss == "linear":
            return self.weights
        return np.where(self.y > 0, self.weights / np.where(self.y > 0, self.y, 1.0) ** 2, 0.0)

    def residuals(self, values: Float[np.ndarray, "B m"]) -> Float[np.ndarray, "B m"]:
        """Return residuals of y against `values`; 0 if y cannot be in log error (such points must have weight 0)."""
        if self.loss == "linear":
            return np.asarray(self.y - values)
        usable = self.y > 0
        return np.where(usable, np.log(np.where(usable, self.y, 1.0)) - np.log(np.maximum(values, TINY)), 0.0)


@dataclass(frozen=True)
class Solution:
    """B fits.

    Attributes:
        cost: Weighted sum of squared residuals (twice the Huber sum), shape (B,).
        converged: Whether the polish converged, shape (B,).
    """

    theta: Float[np.ndarray, "B p"]
    cost: Float[np.ndarray, " B"]
    converged: Bool[np.ndarray, " B"]


def nnls(
    gram: Float[np.ndarray, "*#batch k k"], moment: Float[np.ndarray, "*#batch k"]
) -> Float[np.ndarray, "*#batch k"]:
    """Return argmin_c c'Gc / 2 - b'c under c >= 0, by trying every set of positive coefficients.

    Args:
        gram: G = Phi'W Phi.
        moment: b = Phi'W y; one matrix may serve several.

    Returns:
        The best feasible coefficients. A singular set is ignored, so that one of several equal solutions comes out.
    """
    k, best_gain = moment.shape[-1], np.zeros(moment.shape[:-1])
    best = [best_gain] * k
    for size in range(1, k + 1):
        for members in combinations(range(k), size):
            right = [moment[..., i] for i in members]
            part = _cramer([[gram[..., i, j] for i in members] for j in members], right)
            with np.errstate(over="ignore", invalid="ignore"):
                gain = reduce(np.add, [c * b for c, b in zip(part, right, strict=True)])
            better = reduce(np.logical_and, [c >= 0 for c in part], gain > best_gain)
            found = dict(zip(members, part, strict=True))
            best = [np.where(better, found.get(i, 0.0), best[i]) for i in range(k)]
            best_gain = np.where(better, gain, best_gain)
    return np.moveaxis(np.stack(best), 0, -1)  # each coefficient is contiguous


def _cramer(
    columns: list[list[Float[np.ndarray, "*#batch"]]], right: list[Float[np.ndarray, "*#batch"]]
) -> list[Float[np.ndarray, "*#batch"]]:
    """Solve 1x1, 2x2 or 3x3 systems; not a number where the matrix is singular to machine precision."""
    scale = reduce(np.multiply, [column[j] for j, column in enumerate(columns)])
    determinant = _determinant(columns)
    usable = np.where(np.abs(determinant) <= 1e-13 * np.abs(scale), np.nan, determinant)
    with np.errstate(over="ignore", invalid="ignore"):
        return [_determinant([*columns[:j], right, *columns[j + 1 :]]) / usable for j in range(len(columns))]


def _determinant(columns: list[list[Float[np.ndarray, "*#batch"]]]) -> Float[np.ndarray, "*#batch"]:
    if len(columns) == 1:
        return columns[0][0]
    if len(columns) == 2:
        a, b = columns
        return np.asarray(a[0] * b[1] - a[1] * b[0])
    a, b, c = columns
    return np.asarray(
        a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1])
    )


CELLS_AT_ONCE = 400_000


def starts(problem: Problem, *, n_starts: int) -> Float[np.ndarray, "B r p"]:
    """Return the best cells of the grid, each from another part of it.

    Args:
        n_starts: Parts of the grid, cut along its first axis, of which each gives its best cell.

    Returns:
        Parameters at the best cells, shape (B, r, p), r <= n_starts.
    """
    block = max(1, CELLS_AT_ONCE // max(1, len(problem.law.grid)))
    if problem.held()[: len(problem.law.nonlinear)].any():
        block = 1  # every row has a grid of its own
    blocks = [slice(i, i + block) for i in range(0, len(problem.y), block)]
    return np.concatenate([_starts_of(problem.take(part), n_starts) for part in blocks])


def _starts_of(problem: Problem, n_starts: int) -> Float[np.ndarray, "B r p"]:
    grid = problem.law.grid_in(problem.unit)
    if problem.fixed is not None and problem.held()[: grid.shape[1]].any():
        held = problem.fixed[0, : grid.shape[1]]
        grid = np.unique(np.where(np.isnan(held), grid, held), axis=0)
    coefficients, cost = _project(problem, grid)
    rows, chosen = np.arange(len(problem.y)), []
    size, longer = divmod(len(grid), min(n_starts, len(grid)))
    ends = [i * size + min(i, longer) for i in range(min(n_starts, len(grid)) + 1)]
    for begin, end in pairwise(ends):
        cell = begin + cost[begin:end].argmin(axis=0)  # (B,)
        chosen.append(np.concatenate([grid[cell], coefficients[cell, rows]], axis=1))
    return np.stack(chosen, axis=1)


def _project(
    problem: Problem, grid: Float[np.ndarray, "G q"]
) -> tuple[Float[np.ndarray, "G B k"], Float[np.ndarray, "G B"]]:
    """Return best coefficients and their cost in every cell of the grid."""
    y, weights = problem.y, problem.error_weights
    basis = np.ascontiguousarray(problem.law.basis(problem.x, grid).transpose(2, 0, 1))  # (k, G, m)
    alike = weights[:1] if (weights == weights[:1]).all() else weights  # one Gram matrix for all rows
    gram = ((basis[:, None] * basis) @ alike.T).transpose(2, 3, 0, 1)
    moment = (basis @ (weights * y).T).transpose(1, 2, 0)
    fixed = None if problem.fixed is None else problem.fixed[:, grid.shape[1] :]
    coefficients = _coefficients(gram, moment, fixed)
    each = [coefficients[..., i] for i in range(len(basis))]
    with np.errstate(over="ignore", invalid="ignore"):
        quadratic = sum(a * b * gram[..., i, j] for i, a in enumerate(each) for j, b in enumerate(each))
        cost = (weights * y**2).sum(axis=1) - 2 * (coefficients * moment).sum(-1) + quadratic
    return coefficients, np.where(np.isfinite(cost), cost, np.inf)


def _coefficients(
    gram: Float[np.ndarray, "G _ k k"], moment: Float[np.ndarray, "G B k"], fixed: Float[np.ndarray, "B k"] | None
) -> Float[np.ndarray, "G B k"]:
    """Solve non-negative least squares with some coefficients fixed."""
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


def polish(problem: Problem, theta: Float[np.ndarray, "B p"], effort: Effort) -> Solution:
    """Descend from `theta` to the nearest optimum within the bounds.

    Parameters on a log scale move by their logarithm. A parameter at a bound with the gradient pointing outwards is
    held for that step.

    Args:
        theta: Starts, shape (B, p).
        effort: Maximum number of steps, and tolerance.

    Returns:
        The solution; rows that used all steps are not converged.
    """
    box = _Box(problem)
    u = box.inward(box.to_search(theta))
    cost, damping = _cost(problem, box.to_theta(u)), np.full(len(u), 1e-3)
    best, best_cost = u.copy(), cost.copy()
    converged = np.zeros(len(u), dtype=bool)
    rows = np.arange(len(u))  # those that are still moving, which the problem is narrowed to
    for _ in range(effort.max_steps):
        if len(rows) == 0:
            break
        u, cost, damping, done = _step(problem, box, u, cost, damping, effort.tolerance)
        best[rows], best_cost[rows] = u, cost
        if done.any():
            converged[rows[done]] = True
            rows = rows[~done]
            problem, u, cost, damping = problem.take(~done), u[~done], cost[~done], damping[~done]
    return Solution(box.to_theta(best), best_cost, converged)


class _Box:
    """The bounds, and the way between parameters and the coordinates that are searched."""

    def __init__(self, problem: Problem) -> None:
        self.log = np.array([parameter.scale == "log" for parameter in problem.law.parameters])
        self.held = problem.held()
        self.low, self.high = self.to_search(problem.law.bounds(problem.unit))

    def to_search(self, theta: Float[np.ndarray, "*B p"]) -> Float[np.ndarray, "*B p"]:
        return np.where(self.log, np.log(np.where(self.log, theta, 1.0)), theta) if self.log.any() else theta

    def to_theta(self, u: Float[np.ndarray, "*B p"]) -> Float[np.ndarray, "*B p"]:
        return np.where(self.log, np.exp(np.where(self.log, u, 0.0)), u) if self.log.any() else u

    def inward(self, u: Float[np.ndarray, "*B p"]) -> Float[np.ndarray, "*B p"]:
        inside = np.minimum(np.maximum(u, self.low), self.high)
        return np.where(self.held, u, inside) if self.held.any() else inside

    def pushes_out(self, u: Float[np.ndarray, "*B p"], descent: Float[np.ndarray, "*B p"]) -> Bool[np.ndarray, "*B p"]:
        """Return where a parameter at a bound would leave the box."""
        return np.asarray(((u <= self.low) & (descent < 0)) | ((u >= self.high) & (descent > 0)))


def _step(
    problem: Problem,
    box: _Box,
    u: Float[np.ndarray, "B p"],
    cost: Float[np.ndarray, " B"],
    damping: Float[np.ndarray, " B"],
    tolerance: float,
) -> tuple[Float[np.ndarray, "B p"], Float[np.ndarray, " B"], Float[np.ndarray, " B"], Bool[np.ndarray, " B"]]:
    """Try one step of every row: the new parameters, cost and damping, and whether it has converged."""
    normal, descent = _normal_equations(problem, box.to_theta(u), box.log)
    free = ~(box.pushes_out(u, descent) | box.held)
    descent = np.where(free, descent, 0.0)
    step = _damped_solve(normal, descent, free, damping)
    promised = (descent * step).sum(axis=1)  # twice the decrease of the quadratic model
    trial = box.inward(u + step)
    tried = _cost(problem, box.to_theta(trial))
    better = tried < cost
    gain = np.where(better, cost - tried, 0.0)
    small = tolerance * (cost + TINY)
    settled = (promised <= small) | ((gain <= small) & (better | (damping > 1e3)))
    u, cost = np.where(better[:, None], trial, u), np.where(better, tried, cost)
    damping = np.where(better, np.maximum(damping / 8, 1e-14), damping * 6)
    return u, cost, damping, settled | (cost <= 1e-28)


def _normal_equations(
    problem: Problem, theta: Float[np.ndarray, "B p"], log: Bool[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "B p p"], Float[np.ndarray, "B p"]]:
    """Return J'WJ and J'Wr in the coordinates that are searched."""
    weights = problem.weights
    jacobian, q = problem.law.gradient(problem.x, theta), len(problem.law.nonlinear)
    values = (jacobian[:, :, q:] @ theta[:, q:, None])[:, :, 0]  # the law is linear in the others
    residuals = problem.residuals(values)
    if log.any():
        jacobian = jacobian * np.where(log, theta, 1.0)[:, None, :]
    if problem.loss != "linear":
        jacobian = jacobian / np.maximum(values, TINY)[:, :, None]
    if problem.loss == "huber":
        weights = weights * np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(residuals), TINY))
    weighted = jacobian * weights[:, :, None]
    with np.errstate(over="ignore", invalid="ignore"):
        normal, descent = weighted.transpose(0, 2, 1) @ jacobian, np.einsum("bmp,bm->bp", weighted, residuals)
    return normal, np.where(np.isfinite(descent), descent, 0.0)


def _damped_solve(
    normal: Float[np.ndarray, "B p p"],
    descent: Float[np.ndarray, "B p"],
    free: Bool[np.ndarray, "B p"],
    damping: Float[np.ndarray, " B"],
) -> Float[np.ndarray, "B p"]:
    """Solve (N + damping diag N) step = descent on the free parameters, scaled to a unit diagonal."""
    diagonal = normal.diagonal(axis1=1, axis2=2)
    usable = free & (diagonal > 0) & np.isfinite(diagonal)
    scale = np.where(usable, 1 / np.sqrt(np.where(usable, diagonal, 1.0)), 0.0)
    scaled = np.where(np.isfinite(normal), normal, 0.0) * scale[:, :, None] * scale[:, None, :]
    np.einsum("bpp->bp", scaled)[:] += np.where(usable, damping[:, None], 1.0)
    right = np.where(usable, descent, 0.0) * scale
    return np.linalg.solve(scaled, right[:, :, None])[:, :, 0] * scale


def _cost(problem: Problem, theta: Float[np.ndarray, "B p"]) -> Float[np.ndarray, " B"]:
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = problem.residuals(problem.law.value(problem.x, theta))
        squared = residuals**2
    if problem.loss == "huber":
        size = np.abs(residuals)
        squared = np.where(size <= HUBER_DELTA, squared, HUBER_DELTA * (2 * size - HUBER_DELTA))
    cost = (problem.weights * squared).sum(axis=1)
    return np.where(np.isfinite(cost), cost, np.inf)


ALONE = 2
"""A law with at most as many non-linear parameters is polished from the best cell of its grid alone where one fit is
wanted: on 42 real curves the other starts found nothing better."""


def solve(problem: Problem, effort: Effort = THOROUGH) -> Solution:
    """Solve the fits: start on the grid, polish, keep the best start of each row.

    Sizes are measured in their geometric mean unless a parameter is held, so that a coefficient keeps its meaning.

    Returns:
        The best fit of each row, in the units of `problem.x`.
    """
    unit = problem.unit if problem.fixed is None else np.ones_like(problem.unit)
    scaled = replace(problem, x=problem.x / unit)
    start = starts(scaled, n_starts=effort.n_starts)  # (B, r, p)
    n_rows, n_each, n_parameters = start.shape
    many = scaled if n_each == 1 else scaled.take(np.repeat(np.arange(n_rows), n_each))
    polished = polish(many, start.reshape(-1, n_parameters), effort)
    best = polished.cost.reshape(n_rows, n_each).argmin(axis=1) + n_each * np.arange(n_rows)
    theta = problem.law.in_unit(polished.theta[best], 1 / unit)
    return Solution(theta, polished.cost[best], polished.converged[best])


def solve_one(problem: Problem) -> Solution:
    """Solve one fit (B = 1) for its parameters: `solve` with THOROUGH effort, or from one start if that suffices."""
    if problem.fixed is None and problem.loss != "huber" and len(problem.law.nonlinear) <= ALONE:
        alone = solve(problem, replace(THOROUGH, n_starts=1))
        if alone.converged.all():
            return alone
    return solve(problem, THOROUGH)
