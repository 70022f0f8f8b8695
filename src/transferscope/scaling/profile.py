"""Profile-likelihood sets: which values of a parameter the data allow."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from transferscope.scaling.laws.law import Parameter
from transferscope.scaling.solve import PROFILE, Problem, Solution, solve

LEVEL = 0.95
LOG_REACH = 60.0
"""How far a positive parameter is followed from its optimum, in log units."""
COARSE, REFINED = 16, 8
"""Values on each side of the optimum, and then between each end and its neighbour."""


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """The values of a parameter that the data allow.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        open_below: Nothing in the data bounds it from below: `low` is the edge of what was searched, for this parameter
            or for another that moves with it.
        open_above: The same, above.
        level: Nominal coverage.
    """

    low: float
    high: float
    open_below: bool
    open_above: bool
    level: float = LEVEL

    @property
    def closed(self) -> bool:
        """Whether the data bound the parameter on both sides."""
        return not (self.open_below or self.open_above)

    def __str__(self) -> str:
        if self.open_below and self.open_above:
            return "unbounded"
        if self.open_below:
            return f"at most {self.high:.4g}"
        return f"at least {self.low:.4g}" if self.open_above else f"{self.low:.4g} to {self.high:.4g}"


def profile_sets(
    problem: Problem, solution: Solution, *, known_noise: bool, level: float = LEVEL
) -> Mapping[str, ProfileSet]:
    r"""Profile sets of all free parameters of one fit.

        {v : min_{\theta_j = v} S(\theta) - min S <= s^2 t^2},   s^2 = min S / (m - p),

    with t the quantile of Student's t with m - p degrees of freedom (Bates and Watts 1988, section 6.1).

    Args:
        problem: One fit (B = 1), with at least one degree of freedom left.
        solution: Its optimum.
        known_noise: The weights are inverse variances: then s^2 is at least 1.
        level: Nominal coverage, in (0, 1).

    Returns:
        Sets by the name of the parameter.
    """
    held = problem.held()
    degrees = int((problem.weights > 0).sum() - (~held).sum())
    if degrees < 1:
        return {}
    variance = solution.cost[0] / degrees + 1e-28
    variance = max(1.0, variance) if known_noise else variance
    allowed = solution.cost[0] + variance * stats.t.ppf((1 + level) / 2, degrees) ** 2
    names = problem.law.names
    return {names[j]: _profile(problem, solution, int(j), float(allowed), level) for j in np.flatnonzero(~held)}


def _profile(problem: Problem, solution: Solution, j: int, allowed: float, level: float) -> ProfileSet:
    parameter = problem.law.parameters[j]
    best = float(solution.theta[0, j])
    coarse = _trace(problem, j, _scan(problem, parameter, best))
    if not (coarse.cost <= allowed).any():
        return ProfileSet(best, best, False, False, level)
    between = coarse.between_ends(allowed)
    trace = coarse.joined(_trace(problem, j, between)) if len(between) else coarse
    first, last = trace.ends(allowed)
    stops_at_zero = parameter.low == 0 and parameter.scale == "linear" and trace.values[first] <= 0
    open_below = (first == 0 or bool(trace.at_edge[first])) and not stops_at_zero
    open_above = last == len(trace.values) - 1 or bool(trace.at_edge[last])
    return ProfileSet(
        trace.crossing(first, -1, allowed), trace.crossing(last, 1, allowed), open_below, open_above, level
    )


@dataclass(frozen=True)
class _Trace:
    """The profile at some values of one parameter.

    Attributes:
        values: Values of the parameter, increasing, shape (K,).
        cost: Least cost at each, shape (K,).
        at_edge: Whether another parameter sits at an edge that only the search has set, shape (K,).
    """

    values: Float[np.ndarray, " K"]
    cost: Float[np.ndarray, " K"]
    at_edge: Bool[np.ndarray, " K"]

    def ends(self, allowed: float) -> tuple[int, int]:
        """First and last value whose cost is allowed."""
        inside = np.flatnonzero(self.cost <= allowed)
        return int(inside[0]), int(inside[-1])

    def between_ends(self, allowed: float) -> Float[np.ndarray, " r"]:
        """Values between each end and its neighbour outside."""
        first, last = self.ends(allowed)
        before, after = max(first - 1, 0), min(last + 1, len(self.values) - 1)
        inner = np.linspace(0, 1, REFINED + 2)[1:-1]
        below = self.values[before] + inner * (self.values[first] - self.values[before])
        above = self.values[last] + inner * (self.values[after] - self.values[last])
        return np.setdiff1d(np.concatenate([below, above]), self.values)

    def joined(self, other: "_Trace") -> "_Trace":
        """Both traces in one."""
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values)
        cost, at_edge = np.concatenate([self.cost, other.cost]), np.concatenate([self.at_edge, other.at_edge])
        return _Trace(values[order], cost[order], at_edge[order])

    def crossing(self, index: int, side: int, allowed: float) -> float:
        """Where the cost crosses the threshold between a value inside and its neighbour outside."""
        outside = index + side
        if not 0 <= outside < len(self.values) or not np.isfinite(self.cost[outside]):
            return float(self.values[index])
        share = (allowed - self.cost[index]) / (self.cost[outside] - self.cost[index])
        return float(self.values[index] + share * (self.values[outside] - self.values[index]))


def _scan(problem: Problem, parameter: Parameter, best: float) -> Float[np.ndarray, " K"]:
    """Values outwards from the optimum, dense near it, out to the edge of the range."""
    low, high = _range(problem, parameter)
    outward = np.geomspace(1e-3, LOG_REACH, COARSE)
    if parameter.low < 0:
        offsets = np.geomspace(1e-4, high - low, COARSE)
        values = np.concatenate([best - offsets, [best], best + offsets])
    else:
        centre = best if best > 0 else 1e-3 * _scale(problem, parameter)
        values = centre * np.exp(np.concatenate([-outward[::-1], [0.0], outward]))
        values = np.concatenate([[0.0], values]) if low == 0 else values
    edges = [edge for edge in (low, high) if np.isfinite(edge)]
    return np.unique(np.concatenate([np.clip(values, low, high), edges]))


def _range(problem: Problem, parameter: Parameter) -> tuple[float, float]:
    bounds = problem.law.bounds(problem.unit)
    j = problem.law.names.index(parameter.name)
    return float(bounds[0, j]), float(bounds[1, j])


def _scale(problem: Problem, parameter: Parameter) -> float:
    return float(np.median(problem.y)) if parameter in problem.law.linear else 1.0


def _trace(problem: Problem, j: int, values: Float[np.ndarray, " K"]) -> _Trace:
    K, p = len(values), len(problem.law.parameters)
    fixed = np.full((K, p), np.nan) if problem.fixed is None else np.repeat(problem.fixed, K, axis=0)
    fixed[:, j] = values
    y, weights = np.repeat(problem.y, K, axis=0), np.repeat(problem.weights, K, axis=0)
    solution = solve(replace(problem, y=y, weights=weights, fixed=fixed), PROFILE)
    return _Trace(values, solution.cost, _at_search_edge(problem, solution, j))


def _at_search_edge(problem: Problem, profiled: Solution, j: int) -> Bool[np.ndarray, " K"]:
    """Where another non-linear parameter sits at an edge that only the search has set."""
    law = problem.law
    low, high = law.bounds(problem.unit)
    q = len(law.nonlinear)
    natural_low = np.array([parameter.low == 0 for parameter in law.nonlinear])
    others = ~problem.held()[:q] & (np.arange(q) != j)
    theta = profiled.theta[:, :q]
    at_low = (theta <= low[:q] * (1 + 1e-9)) & ~natural_low
    at_high = theta >= high[:q] * (1 - 1e-9)
    at_edge: Bool[np.ndarray, " K"] = ((at_low | at_high) & others).any(axis=1)
    return at_edge
