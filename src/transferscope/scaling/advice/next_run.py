"""Which measurement would sharpen a decision most."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

NODES = 21


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run to make next.

    Attributes:
        pretrain_size: n.
        finetune_size: s; None when only n varies.
        information: Share of the variance of the decision that the measurement is expected to remove, in [0, 1].
        cost: What it costs; None without costs.
    """

    pretrain_size: float
    finetune_size: float | None
    information: float
    cost: float | None


def information(
    predicted: Float[np.ndarray, "N R"],
    decision: Float[np.ndarray, " N"],
    weights: Float[np.ndarray, " N"],
    *,
    noise: float,
) -> Float[np.ndarray, " R"]:
    r"""Expected share of the variance of a decision that one measurement removes.

        1 - E_y[Var(d | y)] / Var(d),   log y = log f(r; \theta) + noise

    over draws of \theta, by a sum over quantiles of the predictive distribution of y.

    Args:
        predicted: Errors that each draw predicts for each candidate run, above 0.
        decision: What the decision turns on, for each draw.
        weights: Weights of the draws, summing to 1.
        noise: Standard deviation of the log error of a run, above 0.

    Returns:
        One share for each candidate; 0 when the decision is certain already.
    """
    mean = weights @ decision
    total = weights @ (decision - mean) ** 2
    if total <= 1e-12:
        return np.zeros(predicted.shape[1])
    return np.array([1 - _expected_variance(np.log(y), decision, weights, noise) / total for y in predicted.T])


def _expected_variance(
    log_y: Float[np.ndarray, " N"], decision: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"], noise: float
) -> float:
    order = np.argsort(log_y)
    levels = (np.arange(NODES) + 0.5) / NODES
    nodes = log_y[order][np.minimum(np.searchsorted(np.cumsum(weights[order]), levels), len(log_y) - 1)]
    likelihood = np.exp(-0.5 * ((nodes[:, None] - log_y) / noise) ** 2) * weights  # (nodes, N)
    evidence = likelihood.sum(axis=1)
    mean = likelihood @ decision / evidence
    variance = likelihood @ decision**2 / evidence - mean**2
    return float(np.maximum(variance, 0).mean())


def next_run(
    candidates: Float[np.ndarray, "R v"],
    gains: Float[np.ndarray, " R"],
    costs: Float[np.ndarray, " R"] | None,
) -> NextRun:
    """The candidate with the most information, or the most for its cost.

    Args:
        candidates: Sizes of each candidate: n, or (n, s).
        gains: Information of each.
        costs: Cost of each, above 0; None to look at information only.

    Returns:
        The best candidate.
    """
    best = int(np.argmax(gains if costs is None else gains / costs))
    sizes = candidates[best]
    return NextRun(
        float(sizes[0]),
        float(sizes[1]) if len(sizes) == 2 else None,
        float(np.clip(gains[best], 0, 1)),
        None if costs is None else float(costs[best]),
    )
