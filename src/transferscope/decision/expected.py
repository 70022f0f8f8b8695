"""Expected effect of transfer: the chances that it helps or harms, and the gain corrected for selecting the best
arm."""

import numpy as np
from jaxtyping import Float, Int

from transferscope.decision.record import Expected

_SURE = 0.9


def expect(
    means: Float[np.ndarray, "draws arms"],
    ways: Int[np.ndarray, " ways"],
    controls: Int[np.ndarray, " controls"],
    best: int,
    margin: float,
) -> Expected:
    """Return the chances that the best transfer arm beats the best baseline, and the expected gain of `best`.

    The largest of several means is biased upwards (winner's curse); the draws are shrunk, so the gain is, too.

    Args:
        means: Draws of the true means (`which.draw_means`).
        best: Position of the arm whose gain is returned.
    """
    without = means[:, controls].max(axis=1)
    ahead, own = means[:, ways].max(axis=1) - without, means[:, best] - without
    low, middle, high = np.quantile(own, [(1 - _SURE) / 2, 0.5, (1 + _SURE) / 2])
    helps, harms = float((ahead > margin).mean()), float((ahead < -margin).mean())
    return Expected(helps, 1.0 - helps - harms, harms, float(middle), float(low), float(high))
