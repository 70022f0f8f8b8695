"""Profile-likelihood sets of the parameters of a fit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from transferscope.scaling.laws.law import Parameter
from transferscope.scaling.solve import HUBER_DELTA, PROFILE, Effort, Problem, Solution, nnls, polish, solve

LEVEL = 0.95
LOG_REACH = 60.0
"""Range of a profile around the optimum of a positive parameter, in log units."""
COARSE, REFINED = 16, 8
"""Values on each side of the optimum, and then between each end and its neighbour."""
MOST_SWEEPS = 48
"""Most steps outwards along a profile."""
WARM = Effort(n_starts=1, max_steps=100, tolerance=1e-9)
IMPROVED = 1e-3
"""Least fall of a cost that counts as one, as a share of what a set allows above the least cost."""


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """The values of a parameter that the data allow.

    Attributes:
        open_below: Nothing in the data bounds it from below: `low` is the edge of what was searched, for this parameter
            or for another that moves with it.
        open_above: The same, above.
        found: Whether the search found both ends; without, `low` and `high` only say where it was.
    """

    low: float
    high: float
    open_below: bool
    open_above: bool
    found: bool = True

    @property
    def closed(self) -> bool:
        """Whether the data bound the parameter on both sides."""
        return self.found and not (self.open_below or self.open_above)


def profile_sets(problem: Problem, solution: Solution, *, known_noise: bool) -> Mapping[str, ProfileSet]:
    r"""Return profile sets of all free parameters of one fit.

        {v : min_{\theta_j = v} S(\theta) - min S <= s^2 t^2},   s^2 = min S / (m - p),

    with t the quantile of Student's t with m - p degrees of freedom (Bates and Watts 1988, section 6.1). For the Huber
    loss s^2 is that of `unit_of_cost`.

    Every value is searched from the grid, and those around the ends of a set from the solutions inside it as well. A
    set contains the estimate, or says that it was not found.

    Args:
        problem: One fit (B = 1), with at least one degree of freedom left.
        known_noise: The weights are inverse variances: then s^2 is at least 1.

    Returns:
        Sets of nominal coverage LEVEL by the name of the parameter; none without a degree of freedom left.
    """
    held = problem.held()
    degrees = int((problem.weights > 0).sum() - (~held).sum())
    if degrees < 1:
        return {}
    unit, _ = unit_of_cost(problem, solution, degrees)
    unit += 1e-28
    unit = max(1.0, unit) if known_noise and problem.loss != "huber" else unit
    allowed = float(solution.cost[0] + unit * special.stdtrit(degrees, (1 + LEVEL) / 2) ** 2)
    return {problem.law.names[j]: _profile(problem, solution, j, allowed) for j in map(int, np.flatnonzero(~held))}


def unit_of_cost(problem: Problem, solution: Solution, degrees: int) -> tuple[float, float]:
    r"""Return the increase of the cost one standard error from the optimum, and the variance behind standard errors.

    For squared residuals both are s^2 = min S / (m - p). For the Huber loss, with \rho(r) the cost of a residual and
    \psi = \rho', that of an M-estimator (Huber 1981, section 7.6),

        E[\psi^2] / (2 E[\psi'])  m / (m - p)   and   E[\psi^2] / E[\psi']^2  m / (m - p).

    E[\psi'] is the share of residuals within HUBER_DELTA, from a normal kernel over the residuals less the p smallest:
    like one in absolute values, the fit goes through about p of the points.
    """
    if problem.loss != "huber":
        return float(solution.cost[0] / degrees), float(solution.cost[0] / degrees)
    used = problem.weights[0] > 0
    weights = problem.weights[0][used]
    residuals = problem.residuals(problem.law.value(problem.x, solution.theta))[0][used]
    slope = 2 * np.clip(residuals, -HUBER_DELTA, HUBER_DELTA)
    rest = np.sort(np.abs(residuals))[len(residuals) - degrees :]
    width = 1.06 * 1.4826 * float(np.median(rest)) * len(residuals) ** -0.2 + 1e-12
    inside = float(np.mean(special.ndtr((HUBER_DELTA - rest) / width) - special.ndtr((-HUBER_DELTA - rest) / width)))
    bend = 2 * max(inside, 1 / (2 * len(residuals)))
    raised = float((weights**2 * slope**2).sum() / (2 * bend * weights.sum()) * len(residuals) / degrees)
    return raised, raised * 2 / bend


def _profile(problem: Problem, solution: Solution, j: int, allowed: float) -> ProfileSet:
    parameter = problem.law.parameters[j]
    best = float(solution.theta[0, j])
    trace = _trace(problem, solution, j, _scan(problem, parameter, best), allowed)
    between = trace.between_ends(allowed)
    if len(between):
        trace = _trace(problem, solution, j, between, allowed, beside=trace)
    first, last = trace.ends(allowed)
    stops_at_zero = parameter.low == 0 and parameter.scale == "linear" and trace.values[first] <= 0
    open_below = (first == 0 or bool(trace.at_edge[first])) and not stops_at_zero
    open_above = last == len(trace.values) - 1 or bool(trace.at_edge[last])
    low, high = trace.crossing(first, -1, allowed), trace.crossing(last, 1, allowed)
    ends = [trace.cost[place] for place in (first - 1, last + 1) if 0 <= place < len(trace.values)]
    searched = bool(np.isfinite(allowed) and np.isfinite(ends).all())
    return ProfileSet(min(low, best), max(high, best), open_below, open_above, found=searched)


@dataclass(frozen=True)
class _Trace:
    """The profile at some values of one parameter.

    Attributes:
        cost: Least cost at each, shape (K,).
        at_edge: Whether another parameter sits at an edge that only the search has set, shape (K,).
    """

    values: Float[np.ndarray, " K"]
    cost: Float[np.ndarray, " K"]
    theta: Float[np.ndarray, "K p"]
    at_edge: Bool[np.ndarray, " K"]

    def ends(self, allowed: float) -> tuple[int, int]:
        """Return first and last value whose cost is allowed."""
        inside = np.flatnonzero(self.cost <= allowed)
        return int(inside[0]), int(inside[-1])

    def between_ends(self, allowed: float) -> Float[np.ndarray, " r"]:
        """Return values between each end and its neighbour outside."""
        first, last = self.ends(allowed)
        before, after = max(first - 1, 0), min(last + 1, len(self.values) - 1)
        inner = np.linspace(0, 1, REFINED + 2)[1:-1]
        below = self.values[before] + inner * (self.values[first] - self.values[before])
        above = self.values[last] + inner * (self.values[after] - self.values[last])
        return np.setdiff1d(np.concatenate([below, above]), self.values)

    def crossing(self, index: int, side: int, allowed: float) -> float:
        """Return the point at which the cost crosses the threshold between a value inside and its neighbour outside."""
        outside = index + side
        if not 0 <= outside < len(self.values) or not np.isfinite(self.cost[outside]):
            return float(self.values[index])
        share = (allowed - self.cost[index]) / (self.cost[outside] - self.cost[index])
        return float(self.values[index] + share * (self.values[outside] - self.values[index]))


def _scan(problem: Problem, parameter: Parameter, best: float) -> Float[np.ndarray, " K"]:
    """Return values outwards from the optimum, dense near it, out to the edge of the range."""
    low, high = map(float, problem.law.bounds(problem.unit)[:, problem.law.names.index(parameter.name)])
    outward = np.geomspace(1e-3, LOG_REACH, COARSE)
    if parameter.low < 0:
        offsets = np.geomspace(1e-4, high - low, COARSE)
        values = np.concatenate([best - offsets, [best], best + offsets])
    else:
        size = float(np.median(problem.y)) if parameter in problem.law.linear else 1.0
        centre = best if best > 0 else 1e-3 * size
        values = centre * np.exp(np.concatenate([-outward[::-1], [0.0], outward]))
        values = np.concatenate([[0.0], values]) if low == 0 else values
    edges = [edge for edge in (low, high) if np.isfinite(edge)]
    values = np.unique(np.concatenate([np.clip(values, low, high), edges]))
    values[np.abs(values - best).argmin()] = best  # which may lie a rounding outside of an edge
    return values


def _trace(
    problem: Problem,
    solution: Solution,
    j: int,
    values: Float[np.ndarray, " K"],
    allowed: float,
    *,
    beside: _Trace | None = None,
) -> _Trace:
    """Return the profile at `values`, joined with an existing trace."""
    solved = solve(_with_held(problem, j, values), PROFILE)
    cost, theta = solved.cost, solved.theta
    if beside is not None:
        values, cost = np.concatenate([beside.values, values]), np.concatenate([beside.cost, cost])
        theta = np.concatenate([beside.theta, theta])
        order = np.argsort(values, kind="stable")
        values, cost, theta = values[order], cost[order], theta[order]
    own = values == solution.theta[0, j]
    cost, theta = np.where(own, solution.cost[0], cost), np.where(own[:, None], solution.theta, theta)
    least = IMPROVED * max(allowed - float(solution.cost[0]), 1e-300)
    for _ in range(MOST_SWEEPS):  # start the values just outside the set again from the solutions at its ends
        inside = np.flatnonzero(cost <= allowed)
        ends = [(inside[0], -1), (inside[-1], 1)]
        steps = [(end + side * far, end) for end, side in ends for far in (1, 2) if 0 <= end + side * far < len(values)]
        if not steps:
            break
        into, origin = np.array(steps).T
        polished = _from(_with_held(problem, j, values[into]), theta[origin])
        lower = (polished.cost < cost[into] - least) | (np.isfinite(polished.cost) & ~np.isfinite(cost[into]))
        cost[into[lower]], theta[into[lower]] = polished.cost[lower], polished.theta[lower]
        if not lower.any():
            break
    return _Trace(values, cost, theta, _at_search_edge(problem, theta, j))


def _with_held(problem: Problem, j: int, values: Float[np.ndarray, " K"]) -> Problem:
    """Repeat one fit for each value of a parameter, which is held fixed."""
    many = problem.take(np.zeros(len(values), dtype=int))
    fixed = np.full((len(values), len(problem.law.parameters)), np.nan) if many.fixed is None else many.fixed
    fixed[:, j] = values
    return replace(many, fixed=fixed)


def _from(problem: Problem, start: Float[np.ndarray, "K p"]) -> Solution:
    """Refine a fit from given parameters, with new coefficients unless they are fixed."""
    law, q = problem.law, len(problem.law.nonlinear)
    fixed = problem.fixed
    assert fixed is not None
    start = np.where(np.isnan(fixed), start, fixed)
    if np.isnan(fixed[:, q:]).all():
        weights = problem.error_weights[0]
        with np.errstate(over="ignore", invalid="ignore"):
            basis = law.basis(problem.x, start[:, :q])
            gram = np.einsum("bmi,m,bmj->bij", basis, weights, basis)
            anew = nnls(gram, np.einsum("bmi,m->bi", basis, weights * problem.y[0]))
        usable = np.isfinite(anew).all(axis=1, keepdims=True) & (anew > 0).any(axis=1, keepdims=True)
        start = np.concatenate([start[:, :q], np.where(usable, anew, start[:, q:])], axis=1)
    return polish(problem, start, WARM)


def _at_search_edge(problem: Problem, profiled: Float[np.ndarray, "K p"], j: int) -> Bool[np.ndarray, " K"]:
    """Return where another non-linear parameter lies at an edge set only by the search."""
    law = problem.law
    low, high = law.bounds(problem.unit)
    q = len(law.nonlinear)
    natural_low = np.array([parameter.low == 0 for parameter in law.nonlinear], dtype=bool)
    others = ~problem.held()[:q] & (np.arange(q) != j)
    theta = profiled[:, :q]
    at_low = (theta <= low[:q] * (1 + 1e-9)) & ~natural_low
    at_high = theta >= high[:q] * (1 - 1e-9)
    return np.asarray(((at_low | at_high) & others).any(axis=1))
