"""Which measurement would sharpen a decision most."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

FEASIBLE_FACTOR = 100.0
"""Without a limit, sizes up to this multiple of the largest measured one count as feasible."""

STEPS_AHEAD = (2.0, 4.0, 8.0, 16.0)
"""Sizes beyond the largest measured one that are looked at."""

WORTH_A_RUN = 0.25
"""With costs, a run must tell at least this share of what the best run tells, however cheap it is."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run to make next.

    Attributes:
        pretrain_size: n.
        finetune_size: s; None when only n varies.
        information: What the measurement is expected to bring to the decision, in [0, 1]: the share of its variance
            that is removed, or for the split of a budget the share of the value of knowing the laws.
        cost: What it costs; None without costs.
    """

    pretrain_size: float
    finetune_size: float | None
    information: float
    cost: float | None


def next_run(
    candidates: Float[np.ndarray, "R v"],
    gains: Float[np.ndarray, " R"],
    costs: Float[np.ndarray, " R"] | None,
) -> NextRun:
    """The candidate with the most information, or the most for its cost.

    Args:
        candidates: Sizes of each candidate: n, or (n, s).
        gains: Information of each.
        costs: Cost of each, above 0; None to look at information only. Then only candidates with at least WORTH_A_RUN
            of the most information are compared, so that a run that tells nothing is not chosen for being cheap.

    Returns:
        The best candidate.
    """
    worth = gains if costs is None else np.where(gains >= WORTH_A_RUN * gains.max(), gains / costs, -1.0)
    best = int(np.argmax(worth))
    sizes = candidates[best]
    return NextRun(
        float(sizes[0]),
        float(sizes[1]) if len(sizes) == 2 else None,
        float(np.clip(gains[best], 0, 1)),
        None if costs is None else float(costs[best]),
    )
