"""One D for the curves of all tasks, by the procedure of the Syn2Real paper (Mikami et al. 2021, appendix D)."""

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
from transferscope.scaling.solve import Problem, solve
from transferscope.settings.questions import Loss


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
) -> GroupSolution:
    """Fit one law to every curve, with the parameters of `fixed` held at the same value in each."""
    held = dict(fixed or {})
    curves = [usable(data, law, loss) for data in groups.values()]
    theta = np.full((len(curves), len(law.parameters)), np.nan)
    rmse, converged = np.full(len(curves), np.nan), np.zeros(len(curves), dtype=bool)
    alike: dict[bytes, list[int]] = {}  # rows of the curves with the same sizes, and enough of them
    for row, curve in enumerate(curves):
        if curve.n_distinct >= len(law.parameters) - len(held):
            alike.setdefault(curve.sizes.tobytes(), []).append(row)
    for rows in alike.values():
        problems = [problem_of(curves[row], law, loss, held) for row in rows]
        stacked = Problem(
            law,
            problems[0].x,
            np.concatenate([problem.y for problem in problems]),
            np.concatenate([problem.weights for problem in problems]),
            loss,
            None if problems[0].fixed is None else np.repeat(problems[0].fixed, len(rows), axis=0),
        )
        solution = solve(stacked)
        theta[rows], converged[rows] = solution.theta, solution.converged
        residuals = stacked.residuals(law.value(stacked.x, solution.theta), stacked.y)
        rmse[rows] = np.sqrt((residuals**2).mean(axis=1))
    return GroupSolution(theta, rmse, converged)


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
    It is here to reproduce the published numbers; `transferscope.scaling.fit_hierarchical` is the one to use.

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
