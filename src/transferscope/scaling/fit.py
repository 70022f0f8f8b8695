"""Fitting one law to one set of observations."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transferscope.errors import SettingsError, unknown_name
from transferscope.estimate import Estimate, Status
from transferscope.scaling.laws import Law, law_named
from transferscope.scaling.observations import Observations, observe
from transferscope.scaling.profile import ProfileSet, profile_sets, unit_of_cost
from transferscope.scaling.solve import TINY, Problem, Solution, solve_one
from transferscope.settings.questions import Loss
from transferscope.wording import counted


@dataclass(frozen=True)
class LawFit:
    """A law fitted to observations.

    Sets and estimates are computed when they are read: they take many times as long as the fit.

    Attributes:
        observations: The fitted observations, without those that the law or the loss cannot use.
        fixed: Parameters that were given, not fitted.
        theta: All parameters at the optimum, shape (p,), in the order of `law.names`. For drawing the curve; read
            single values from `estimates`, which says which of them the data determine.
        residuals: Residuals at the optimum, shape (m,), in log error or error.
        status: "converged", "max_steps", or "too_few".
        notes: Sentences on what was left out.
        solved: The problem with its solution; None where there were too few points.
    """

    law: Law
    observations: Observations
    loss: Loss
    fixed: Mapping[str, float]
    theta: Float[np.ndarray, " p"]
    residuals: Float[np.ndarray, " m"]
    status: Status
    notes: tuple[str, ...]
    solved: tuple[Problem, Solution] | None

    @cached_property
    def profiles(self) -> Mapping[str, ProfileSet]:
        """The profile-likelihood set of each free parameter at 95 %."""
        if self.solved is None:
            return {}
        return profile_sets(*self.solved, known_noise=self.observations.stderr is not None)

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """Each parameter with standard error and status; NaN where the data do not determine it.

        "not_identified": the profile set is open on a side, spans a factor above WIDE, or reaches the natural end 0
        although the optimum is inside. "at_bound": the optimum is 0, the natural end, and the set bounds it above.
        """
        result, n = {}, len(self.observations)
        errors = None if self.solved is None else standard_errors(*self.solved)
        for j, name in enumerate(self.law.names):
            if name in self.fixed:
                result[name] = Estimate(self.fixed[name], 0.0, 0)
                continue
            value = float(self.theta[j])
            own = _status(value, self.profiles.get(name), self.status)
            error = None if errors is None or own != "converged" or not np.isfinite(errors[j]) else float(errors[j])
            result[name] = Estimate(float("nan") if own == "not_identified" else value, error, n, own)
        return result

    @property
    def rmse(self) -> float:
        """Root mean square of the residuals; NaN without a fit."""
        return float(np.sqrt(np.mean(self.residuals**2))) if len(self.residuals) else float("nan")

    def predict(self, sizes: ArrayLike) -> Float[np.ndarray, " t"]:
        """Return the fitted law at `sizes`, shape (t,) or (t, v); NaN without a fit."""
        x = np.asarray(sizes, dtype=np.float64)
        return np.asarray(self.law.value(x[:, None] if x.ndim == 1 else x, self.theta[None])[0])


def fit_law(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    law: str | Law = "power+floor",
    loss: Loss = "log",
    stderr: ArrayLike | None = None,
    fixed: Mapping[str, float] | None = None,
) -> LawFit:
    """Fit a law by variable projection, deterministically.

    Args:
        sizes: Shape (m,) for a law in one size, (m, 2) for one in (n, s).
        errors: Shape (m,): error rates or losses, >= 0.
        law: Its name, one of `LAWS`.
        loss: "log" (squared log error), "linear" (squared error) or "huber" (log error with linear tails).
        stderr: Standard errors of `errors`, used as weights; None for equal weights.
        fixed: Values of parameters that are not fitted, by name.

    Returns:
        The fit. Too few points, bounds and parameters that the data do not determine are statuses, not exceptions.

    Raises:
        DataError: The numbers cannot be read.
        SettingsError: The law, the loss or a fixed parameter does not exist.
    """
    chosen = law_named(law) if isinstance(law, str) else law
    if loss not in get_args(Loss):
        raise unknown_name("loss", loss, get_args(Loss))
    held = dict(fixed or {})
    for name, value in held.items():
        if name not in chosen.names:
            raise unknown_name(f"parameter of the law {chosen.name}", name, chosen.names)
        if not np.isfinite(value):
            raise SettingsError(f"{name} is fixed at {value}; expected a finite number")
    data = usable(observe(sizes, errors, stderr=stderr), chosen, loss)
    n_free = len(chosen.parameters) - len(held)
    if data.n_distinct <= n_free:
        note = f"{chosen.name} needs {n_free + 1} different sizes and there are {data.n_distinct}"
        theta = np.full(len(chosen.parameters), np.nan)
        return LawFit(chosen, data, loss, held, theta, np.zeros(0), "too_few", (*data.notes, note), None)
    problem = problem_of(data, chosen, loss, held)
    solution = solve_one(problem)
    return LawFit(
        law=chosen,
        observations=data,
        loss=loss,
        fixed=held,
        theta=solution.theta[0],
        residuals=problem.residuals(chosen.value(problem.x, solution.theta))[0],
        status="converged" if solution.converged[0] else "max_steps",
        notes=data.notes,
        solved=(problem, solution),
    )


def usable(data: Observations, law: Law, loss: Loss) -> Observations:
    """Return the observations that a law and a loss can use; raises SettingsError for another number of sizes."""
    if data.sizes.shape[1] != law.n_sizes:
        raise SettingsError(
            f"the law {law.name} needs {law.n_sizes} size(s), but the table has {data.sizes.shape[1]}; choose another "
            "law or other columns"
        )
    inside = law.defined_at(data.sizes)
    if not inside.all():
        data = data.take(
            inside, f"left out {counted(int((~inside).sum()), 'observation')} at size 0, where {law.name} has no value"
        )
    return data if loss == "linear" else data.above_zero()


def problem_of(data: Observations, law: Law, loss: Loss, fixed: Mapping[str, float]) -> Problem:
    """Return the solver's input for one fit; weights are 1 / stderr^2 in the unit of the residual, or 1."""
    weights = np.ones(len(data))
    if data.stderr is not None:
        weights = (data.errors if loss != "linear" else 1.0) ** 2 / data.stderr**2
    held = np.array([[fixed.get(name, np.nan) for name in law.names]]) if fixed else None
    return Problem(law, data.sizes, data.errors[None], weights[None], loss, held)


WIDE = 100.0
"""Factor of uncertainty from which a positive parameter is not identified."""


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


def standard_errors(problem: Problem, solution: Solution) -> Float[np.ndarray, " p"]:
    """Return the standard errors of the linearised fit, sqrt diag s^2 (J'WJ)^-1; 0 if fixed, NaN if undefined.

    For the Huber loss they are those of an M-estimator, and s^2 = E[psi^2] / E[psi']^2.
    """
    free, jacobian = ~problem.held(), problem.law.gradient(problem.x, solution.theta)[0]
    if problem.loss != "linear":
        jacobian = jacobian / np.maximum(problem.law.value(problem.x, solution.theta)[0], TINY)[:, None]
    jacobian = np.sqrt(problem.weights[0])[:, None] * jacobian[:, free]
    degrees = (problem.weights > 0).sum() - free.sum()
    lengths = np.linalg.norm(jacobian, axis=0)
    errors = np.zeros(len(free))
    if degrees < 1 or not np.isfinite(lengths).all() or (lengths == 0).any():
        errors[free] = np.nan
        return errors
    singular = np.linalg.svd(jacobian / lengths, full_matrices=False)
    inverse = np.where(1e-12 * singular.S[0] < singular.S, 1 / singular.S, np.inf)
    with np.errstate(invalid="ignore"):  # a direction of no information times no share in it, or no noise
        parts = np.where(singular.Vh == 0, 0.0, singular.Vh * inverse[:, None])
        spread = np.sqrt((parts**2).sum(axis=0)) / lengths
        errors[free] = np.sqrt(unit_of_cost(problem, solution, int(degrees))[1]) * spread
    return errors
