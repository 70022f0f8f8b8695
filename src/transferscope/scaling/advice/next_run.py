"""The most informative next measurement for a decision."""

from dataclasses import dataclass, replace
from math import pi

import numpy as np
from jaxtyping import Float

from transferscope.scaling.advice.costs import Costs
from transferscope.scaling.posterior import systematic

FEASIBLE_FACTOR = 100.0
"""Without a limit, sizes up to this multiple of the largest measured one count as feasible."""

STEPS_AHEAD = (2.0, 4.0, 8.0, 16.0)
"""Candidate sizes, in multiples of the largest measured one."""

WORTH_A_RUN = 0.25
"""With costs, least share of the information of the best run that a cheaper run must have."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run to make next.

    Attributes:
        sizes: Of the run: (n,), (n, s), or (labels,).
        information: The share of the variance of the decision that the measurement is expected to remove, in [0, 1].
        cost: What it costs; None without costs.
    """

    sizes: tuple[float, ...]
    information: float
    cost: float | None


def next_run(
    candidates: Float[np.ndarray, "R v"],
    gains: Float[np.ndarray, " R"],
    costs: Float[np.ndarray, " R"] | None,
) -> NextRun:
    """Return the candidate with the most information, or the most for its cost.

    Args:
        candidates: Sizes of each candidate: n, or (n, s).
        costs: Cost of each, above 0; None to look at information only. Then only candidates with at least WORTH_A_RUN
            of the most information are compared, so that a run that tells nothing is not chosen for being cheap.
    """
    worth = gains if costs is None else np.where(gains >= WORTH_A_RUN * gains.max(), gains / costs, -1.0)
    best = int(np.argmax(worth))
    cost = None if costs is None else float(costs[best])
    return NextRun(tuple(map(float, candidates[best])), float(np.clip(gains[best], 0, 1)), cost)


def next_run_by_cost(
    candidates: Float[np.ndarray, "R v"], gains: Float[np.ndarray, " R"], costs: Costs | None
) -> NextRun:
    """Return the `next_run` by costs; where they are not known or a run is free, by its time, taken as proportional to
    n + s."""
    spent = None if costs is None else np.array([costs.of(*sizes) for sizes in candidates])
    if spent is None or not (spent > 0).all():
        return replace(next_run(candidates, gains, candidates.sum(axis=1)), cost=None)
    return next_run(candidates, gains, spent)


NODES = 31
"""Number of quantiles of predicted errors at which outcomes are evaluated."""

_Z, _W = np.polynomial.hermite_e.hermegauss(9)
"""Nodes and weights of the noise around each quantile (Gauss-Hermite)."""

NEGLIGIBLE = 1e-12


def information(
    predicted: Float[np.ndarray, "N R"],
    decision: Float[np.ndarray, " N"],
    weights: Float[np.ndarray, " N"],
    *,
    noise: Float[np.ndarray, " N"] | float,
) -> Float[np.ndarray, " R"]:
    r"""Return the expected share of the variance of a decision that one measurement removes.

        1 - E_y[Var(d | y)] / Var(d),   log y = log f(r; \theta) + noise

    over draws of \theta.

    Args:
        predicted: Errors that each draw predicts for each candidate run, above 0.
        decision: What the decision turns on, for each draw.
        weights: Weights of the draws, summing to 1.
        noise: Standard deviation of the log error of a run around what each draw predicts, above 0.

    Returns:
        One share for each candidate, in [0, 1]; 0 when the decision is certain already.
    """
    centred = decision - weights @ decision
    total = weights @ centred**2
    if total <= NEGLIGIBLE:
        return np.zeros(predicted.shape[1])
    chance, kept = np.tile(_W / np.sqrt(2 * pi), NODES) / NODES, []
    sigma = np.broadcast_to(noise, weights.shape)
    for log_y in np.log(predicted).T:  # results at quantiles of the prediction, with noise around each
        order = np.argsort(log_y)
        place = order[systematic(np.cumsum(weights[order]), NODES)]
        nodes = (log_y[place, None] + sigma[place, None] * _Z).ravel()
        log_likelihood = -0.5 * ((nodes[:, None] - log_y) / sigma) ** 2 - np.log(sigma)  # (K, N)
        after = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)) * weights
        after /= after.sum(axis=1, keepdims=True)  # the weights of the draws after each result
        kept.append(chance @ (after @ centred**2 - (after @ centred) ** 2))
    return np.asarray(np.clip(1 - np.array(kept) / total, 0, 1))
