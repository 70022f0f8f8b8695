"""Parameters as estimates: a number only where the data determine it."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from transferscope.estimate import Estimate, Status
from transferscope.scaling.profile import ProfileSet, unit_of_cost
from transferscope.scaling.solve import Problem, Solution
from transferscope.scaling.solve.problem import TINY

WIDE = 100.0
"""A positive parameter known only to within this factor is not determined."""


def estimates(
    problem: Problem, solution: Solution, profiles: Mapping[str, ProfileSet], status: Status
) -> dict[str, Estimate]:
    """One estimate for each parameter of one fit.

    "not_identified" (value NaN): the profile set is open on a side, spans a factor above WIDE, or reaches the natural
    end 0 although the optimum is inside. "at_bound": the optimum is 0, the natural end, and the
    profile set bounds it above.

    Args:
        problem: One fit (B = 1).
        solution: Its optimum.
        profiles: Profile sets of the free parameters; without one, a parameter has the status of the fit.
        status: Status of the fit.

    Returns:
        Estimates by name.
    """
    theta, errors = solution.theta[0], standard_errors(problem, solution)
    n, held = int((problem.weights > 0).sum()), problem.held()
    result = {}
    for j, name in enumerate(problem.law.names):
        if held[j]:
            result[name] = Estimate(float(theta[j]), 0.0, 0)
            continue
        own = _status(float(theta[j]), profiles.get(name), status)
        value = float("nan") if own == "not_identified" else float(theta[j])
        stderr = float(errors[j]) if own == "converged" and np.isfinite(errors[j]) else None
        result[name] = Estimate(value, stderr, n, own)
    return result


def _status(value: float, profile: ProfileSet | None, status: Status) -> Status:
    if profile is None:
        return status
    if not profile.closed:
        return "not_identified"
    if profile.low <= 0 < profile.high:
        return "at_bound" if value <= 0 else "not_identified"
    if profile.low > 0 and profile.high > WIDE * profile.low:
        return "not_identified"
    return status


def scaled_jacobian(problem: Problem, theta: Float[np.ndarray, "1 p"]) -> Float[np.ndarray, "m r"]:
    """Weighted Jacobian of the residuals with respect to the free parameters."""
    values, jacobian = problem.law.value(problem.x, theta)[0], problem.law.gradient(problem.x, theta)[0]
    if problem.loss != "linear":
        jacobian = jacobian / np.maximum(values, TINY)[:, None]
    result: Float[np.ndarray, "m r"] = np.sqrt(problem.weights[0])[:, None] * jacobian[:, ~problem.held()]
    return result


def condition_number(problem: Problem, theta: Float[np.ndarray, "1 p"]) -> float:
    """Condition number of the Jacobian with columns of unit length; infinite when a column is zero."""
    jacobian = scaled_jacobian(problem, theta)
    lengths = np.linalg.norm(jacobian, axis=0)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        return float("inf")
    return float(np.linalg.cond(jacobian / lengths))


def standard_errors(problem: Problem, solution: Solution) -> Float[np.ndarray, " p"]:
    """Standard errors of the linearised fit, sqrt diag s^2 (J'WJ)^-1; 0 where held, NaN where undefined.

    For the Huber loss they are those of an M-estimator, and s^2 = E[psi^2] / E[psi']^2.
    """
    jacobian = scaled_jacobian(problem, solution.theta)
    degrees = (problem.weights > 0).sum() - jacobian.shape[1]
    lengths = np.linalg.norm(jacobian, axis=0)
    errors = np.zeros(len(problem.law.parameters))
    free = ~problem.held()
    if degrees < 1 or not np.isfinite(lengths).all() or (lengths == 0).any():
        errors[free] = np.nan
        return errors
    singular = np.linalg.svd(jacobian / lengths, full_matrices=False)
    inverse = np.where(1e-12 * singular.S[0] < singular.S, 1 / singular.S, np.inf)
    with np.errstate(invalid="ignore"):  # a direction of no information times no share in it
        parts = np.where(singular.Vh == 0, 0.0, singular.Vh * inverse[:, None])
    spread = np.sqrt((parts**2).sum(axis=0)) / lengths
    errors[free] = np.sqrt(unit_of_cost(problem, solution, int(degrees))[1]) * spread
    return errors
