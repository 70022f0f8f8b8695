"""Several curves of one study (tasks, models, renderings) fitted together.

`fit_together` fits one law to each; `common_d` gives all one D, by the procedure of the Syn2Real paper;
`fit_hierarchical` lets curves learn from each other by a prior on log D and alpha fitted to all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from transferscope.errors import DataError
from transferscope.estimate import Status
from transferscope.scaling.fit import problem_of, usable
from transferscope.scaling.laws import Law
from transferscope.scaling.laws.curves import POWER_FLOOR
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import PowerPosterior, power_posterior
from transferscope.scaling.solve import THOROUGH, Effort, Loss, Problem, solve


@dataclass(frozen=True)
class GroupSolution:
    """A law fitted to each of G curves.

    Attributes:
        theta: Parameters, shape (G, p), in the order of the groups; NaN for a curve with too few sizes.
        rmse: Root mean square residual of each, shape (G,); NaN likewise.
        converged: Whether each came to rest, shape (G,).
    """

    theta: Float[np.ndarray, "G p"]
    rmse: Float[np.ndarray, " G"]
    converged: Bool[np.ndarray, " G"]


def fit_together(
    groups: Mapping[str, Observations],
    *,
    law: Law,
    loss: Loss = "log",
    fixed: Mapping[str, float] | None = None,
    effort: Effort = THOROUGH,
) -> GroupSolution:
    """Fit one law to every curve, with the parameters of `fixed` held at the same value in each."""
    held = dict(fixed or {})
    curves = [usable(data, law, loss) for data in groups.values()]
    theta = np.full((len(curves), len(law.parameters)), np.nan)
    rmse, converged = np.full(len(curves), np.nan), np.zeros(len(curves), dtype=bool)
    for rows in _alike(curves, least=len(law.parameters) - len(held)):
        problems = [problem_of(curves[row], law, loss, held) for row in rows]
        stacked = Problem(
            law,
            problems[0].x,
            np.concatenate([problem.y for problem in problems]),
            np.concatenate([problem.weights for problem in problems]),
            loss,
            None if problems[0].fixed is None else np.repeat(problems[0].fixed, len(rows), axis=0),
        )
        solution = solve(stacked, effort)
        theta[rows], converged[rows] = solution.theta, solution.converged
        residuals = stacked.residuals(law.value(stacked.x, solution.theta), stacked.y)
        rmse[rows] = np.sqrt((residuals**2).mean(axis=1))
    return GroupSolution(theta, rmse, converged)


def _alike(curves: list[Observations], *, least: int) -> list[list[int]]:
    """Rows of the curves with the same sizes, leaving out those with fewer than `least` different ones."""
    alike: dict[bytes, list[int]] = {}
    for row, curve in enumerate(curves):
        if curve.n_distinct >= least:
            alike.setdefault(curve.sizes.tobytes(), []).append(row)
    return list(alike.values())


@dataclass(frozen=True)
class CommonD:
    """The common D and the fits under it.

    Attributes:
        alpha: The median rate.
        history: (D, alpha) after each pass, shape (passes, 2).
        fits: Rate and transfer gap of each group with D held, parameters (alpha, D, C).
        status: "converged", or "max_steps" when D still moved (it may alternate between two values).
    """

    D: float
    alpha: float
    history: Float[np.ndarray, "passes 2"]
    names: tuple[str, ...]
    fits: GroupSolution
    status: Status


def common_d(
    groups: Mapping[str, Observations],
    *,
    start: float = 0.5,
    loss: Loss = "linear",
    alpha_range: tuple[float, float] = (0.1, 1.5),
    max_passes: int = 40,
    tolerance: float = 1e-4,
) -> CommonD:
    r"""Alternate two families of fits with medians over the groups (Mikami et al. 2021, appendix D).

    With \hat\alpha and \hat D from the last pass, every group is fitted by D n^{-\hat\alpha} + C and by
    \hat D n^{-\alpha} + C; then \hat D and \hat\alpha become the medians.

    The limit is no estimate: it depends on the start and on the range of alpha, because the data do not determine D.
    It is here to reproduce the published numbers; `fit_hierarchical` is the one to use.

    Args:
        groups: Curves over one size, by name.
        start: First value of both, in units of the error.
        loss: The residual; the authors' code uses "linear".
        alpha_range: Bounds of alpha where D is held.
        max_passes: Most passes, at least 1.
        tolerance: D has settled when it moves by less than this share.

    Raises:
        DataError: No group has enough sizes.
    """
    law = power_floor_within(*alpha_range)
    D = alpha = start
    history: list[tuple[float, float]] = []
    status: Status = "max_steps"
    for _ in range(max_passes):
        by_alpha = fit_together(groups, law=law, loss=loss, fixed={"alpha": alpha})
        by_D = fit_together(groups, law=law, loss=loss, fixed={"D": D})
        if np.isnan(by_D.theta).all():
            raise DataError("no group has enough pre-training sizes for a fit; two different ones are the least")
        D_before, D, alpha = D, float(np.nanmedian(by_alpha.theta[:, 1])), float(np.nanmedian(by_D.theta[:, 0]))
        history.append((D, alpha))
        if abs(D - D_before) <= tolerance * D_before:
            status = "converged"
            break
    fits = fit_together(groups, law=law, loss=loss, fixed={"D": D})
    return CommonD(D, alpha, np.array(history), tuple(groups), fits, status)


def power_floor_within(low: float, high: float) -> Law:
    """The power law with a floor whose rate is bounded to [low, high], as in the authors' code (0.1 to 1.5)."""
    (alpha,) = POWER_FLOOR.nonlinear
    grid = np.geomspace(low, high, len(POWER_FLOOR.grid))[:, None]
    return replace(POWER_FLOOR, nonlinear=(replace(alpha, low=low, high=high),), grid=grid)


LEAST_GROUPS = 3
MAX_PASSES = 200
WEAK_DEGREES = 4.0
WEAK_SD = (1.0, 0.2)
"""Standard deviations of log D and alpha that the covariance is shrunk to, with the weight of WEAK_DEGREES groups."""


@dataclass(frozen=True)
class HierarchicalFit:
    """Posteriors of all curves under a common prior.

    Attributes:
        names: The groups with enough points.
        mean: Mean of the prior of (log D, alpha).
        pooled: Whether there were enough groups to fit the prior; otherwise every curve stands alone.
        left_out: Groups with fewer than two different sizes, or whose error does not fall.
    """

    names: tuple[str, ...]
    posteriors: tuple[PowerPosterior, ...]
    mean: Float[np.ndarray, "2"]
    covariance: Float[np.ndarray, "2 2"]
    pooled: bool
    left_out: tuple[str, ...]


def fit_hierarchical(groups: Mapping[str, Observations]) -> HierarchicalFit:
    r"""Empirical Bayes: (log D_g, \alpha_g) ~ N(m, S), with m and S fitted to all curves by EM.

    Each curve keeps its own posterior draws; the prior only reweights them, so nothing of one curve's held-out points
    can leak into a constant. S is shrunk towards a diagonal one (an inverse-Wishart prior), which keeps it from
    collapsing when the curves agree.

    Args:
        groups: Curves over one size, by name.

    Returns:
        Posteriors under the common prior; with fewer than three usable groups, each on its own.

    Raises:
        DataError: No group has two different sizes and an error that falls.
    """
    curves = {name: usable(data, POWER_FLOOR, "log") for name, data in groups.items()}
    found = {name: power_posterior(data) for name, data in curves.items() if data.n_distinct >= 2}
    used = {name: posterior for name, posterior in found.items() if posterior.falls}
    if not found:
        raise DataError("no group has two different sizes above 0; a law needs more points")
    if not used:
        raise DataError("the error falls in no group; look at those runs first, as the law only falls")
    alone = list(used.values())
    left_out = tuple(name for name in groups if name not in used)
    mean, covariance = _moments(alone)
    if len(alone) < LEAST_GROUPS:
        return HierarchicalFit(tuple(used), tuple(alone), mean, covariance, False, left_out)
    for _ in range(MAX_PASSES):
        together = [one.reweighted(_log_normal(one, mean, covariance)) for one in alone]
        before, (mean, covariance) = mean, _moments(together)
        if np.abs(mean - before).max() < 1e-6:
            break
    together = [one.reweighted(_log_normal(one, mean, covariance)) for one in alone]
    return HierarchicalFit(tuple(used), tuple(together), mean, covariance, True, left_out)


def _moments(posteriors: list[PowerPosterior]) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "2 2"]]:
    """M step: mean over groups, and the covariance between and within them, shrunk."""
    points = [np.stack([one.log_D, one.alpha], axis=1) for one in posteriors]
    centres = np.array([one.weights @ z for one, z in zip(posteriors, points, strict=True)])
    mean = centres.mean(axis=0)
    scatter = np.zeros((2, 2))
    for one, z in zip(posteriors, points, strict=True):
        scatter += np.einsum("n,ni,nj->ij", one.weights, z - mean, z - mean)
    weak = WEAK_DEGREES * np.diag(np.square(WEAK_SD))
    return mean, (scatter + weak) / (len(posteriors) + WEAK_DEGREES)


def _log_normal(
    one: PowerPosterior, mean: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"]
) -> Float[np.ndarray, " N"]:
    z = np.stack([one.log_D, one.alpha], axis=1) - mean
    result: Float[np.ndarray, " N"] = -0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(covariance), z)
    return result
