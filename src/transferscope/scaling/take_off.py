"""Curves that may still be at chance, from where they can fall suddenly, as in few-shot fine-tuning."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.observations import Observations

STILL, HIGH = 0.1, 0.45
"""A curve whose log error has fallen by less than STILL, varies by less than twice that, and is above 1 - 2 STILL times
the error of guessing, may be at chance still; without the error of guessing one of a share, or percent, of errors above
HIGH."""

TAKES_OFF, STEEPEST, WITHIN = 0.3, 1.5, 8.0
"""Share of such curves that fall from some size on, within this multiple of the largest one, and the largest rate."""


def may_take_off(data: Observations, chance: float | None = None) -> bool:
    """Return whether a curve of shares of errors may still be at chance.

    Args:
        data: Errors above 0, by increasing size.
        chance: The error of guessing; None when unknown.
    """
    first, last = (data.errors[data.sizes[:, 0] == size].mean() for size in (data.sizes[0, 0], data.sizes[-1, 0]))
    high = HIGH <= last <= 1 or 100 * HIGH <= last <= 100 if chance is None else last >= (1 - 2 * STILL) * chance
    return bool(high and np.log(first / last) < STILL and np.ptp(np.log(data.errors)) < 2 * STILL)


def late_falls(ahead: Float[np.ndarray, " T"], draws: int) -> Float[np.ndarray, "N T"]:
    """Return the fall in log error of draws of a curve that may be at chance, by the log distance beyond its sizes."""
    begins, rate = np.random.default_rng(2).uniform(size=(2, draws, 1))
    falls = np.arange(draws)[:, None] % 10 < 10 * TAKES_OFF
    return np.asarray(falls * STEEPEST * rate * np.maximum(ahead - np.log(WITHIN) * begins, 0.0))
