"""One law fitted to many curves, those with the same sizes in one solve."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transferscope.scaling.fit import problem_of, usable
from transferscope.scaling.laws import Law
from transferscope.scaling.observations import Observations
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
    """Fit one law to every curve.

    Args:
        groups: The curves by name.
        law: The law.
        loss: The residual.
        fixed: Parameters held at the same value in every curve.
        effort: How hard to search.

    Returns:
        One row for each group.
    """
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
