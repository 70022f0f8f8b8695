"""A common D for the curves of all tasks, by the procedure of the Syn2Real paper (Mikami et al. 2021, appendix D)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from transferscope.errors import DataError
from transferscope.estimate import Status
from transferscope.scaling.fit import problem_of, usable
from transferscope.scaling.laws.curves import POWER_FLOOR
from transferscope.scaling.observations import Observations
from transferscope.scaling.solve import Problem, solve

PUBLISHED_RATES = (0.1, 1.5)
"""Bounds of alpha in the authors' code."""

PAPER_LAW = replace(
    POWER_FLOOR,
    nonlinear=(replace(POWER_FLOOR.nonlinear[0], low=PUBLISHED_RATES[0], high=PUBLISHED_RATES[1]),),
    grid=np.geomspace(*PUBLISHED_RATES, len(POWER_FLOOR.grid))[:, None],
)
"""The power law with a floor whose rate is bounded to `PUBLISHED_RATES`; fitted by residuals of the error itself."""

_SETTLED = 1e-4
"""D has converged if its relative change is below this."""


def _fitted(groups: Iterable[Observations], held: Mapping[str, float]) -> Float[np.ndarray, "G p"]:
    """Fit `PAPER_LAW` to every curve, with the parameters of `held` fixed.

    Returns:
        Parameters in the order of the groups; NaN for a curve with too few sizes.
    """
    curves = [usable(data, PAPER_LAW, "linear") for data in groups]
    theta = np.full((len(curves), len(PAPER_LAW.parameters)), np.nan)
    alike: dict[bytes, list[int]] = {}  # rows of the curves with the same sizes, and enough of them
    for row, curve in enumerate(curves):
        if curve.n_distinct >= len(PAPER_LAW.parameters) - len(held):
            alike.setdefault(curve.sizes.tobytes(), []).append(row)
    for rows in alike.values():
        problems = [problem_of(curves[row], PAPER_LAW, "linear", held) for row in rows]
        stacked = Problem(
            PAPER_LAW,
            problems[0].x,
            np.concatenate([problem.y for problem in problems]),
            np.concatenate([problem.weights for problem in problems]),
            "linear",
            None if problems[0].fixed is None else np.repeat(problems[0].fixed, len(rows), axis=0),
        )
        theta[rows] = solve(stacked).theta
    return theta


def common_d(
    groups: Iterable[Observations], *, start: float, max_passes: int = 40
) -> tuple[Float[np.ndarray, "passes 2"], Status]:
    r"""Alternate two families of fits with medians over the groups (Mikami et al. 2021, appendix D).

    With \hat\alpha and \hat D from the last pass, every group is fitted by D n^{-\hat\alpha} + C and by
    \hat D n^{-\alpha} + C; then \hat D and \hat\alpha become the medians.

    The limit is not an estimate: it depends on the start and on the range of alpha, because the data do not determine
    D. Use it only to reproduce the published numbers, otherwise `transferscope.scaling.fit_hierarchical`.

    Args:
        groups: Curves over one size.
        start: First value of both, in units of the error.
        max_passes: Most passes, at least 1.

    Returns:
        (D, alpha) after each pass, and "converged", or "max_steps" if D still changed (it may alternate between two
        values).

    Raises:
        DataError: No group has enough sizes.
    """
    curves = list(groups)
    D = alpha = start
    history: list[tuple[float, float]] = []
    for _ in range(max_passes):
        by_alpha, by_D = _fitted(curves, {"alpha": alpha}), _fitted(curves, {"D": D})
        if np.isnan(by_D).all():
            raise DataError("no group has two different pretraining sizes, as a fit needs; add measurements")
        D_before, D, alpha = D, float(np.nanmedian(by_alpha[:, 1])), float(np.nanmedian(by_D[:, 0]))
        history.append((D, alpha))
        if abs(D - D_before) <= _SETTLED * D_before:
            return np.array(history), "converged"
    return np.array(history), "max_steps"
