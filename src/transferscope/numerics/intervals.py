"""Intervals for a mean over few samples and for a proportion. NumPy and SciPy only."""

import math

import numpy as np
from jaxtyping import Float, Real
from scipy import special

from transferscope.errors import DataError, out_of_range
from transferscope.estimate import Estimate, Interval


def t_interval(values: Float[np.ndarray, " n"], *, level: float = 0.95) -> Estimate:
    """Return the mean of independent samples with Student's t-interval.

        mean +- t_{(1 + level) / 2, n - 1} sd / sqrt(n)

    Exact for normal samples; with the three to ten seeds of a study it is the usual approximation.

    Args:
        values: Samples, shape (n,), finite.
        level: Nominal coverage, in (0, 1).

    Returns:
        The mean; without an error or an interval and with status "too_few" for one sample.

    Raises:
        DataError: There is no sample, or one is not finite.
        SettingsError: The level is outside (0, 1).
    """
    check_level(level)
    n = len(values)
    if n == 0:
        raise DataError("there are no samples; a mean needs at least one")
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise DataError(f"{bad} of {n} samples are NaN or infinite; leave them out")
    mean = float(values.mean())
    if n == 1:
        return Estimate(mean, None, 1, "too_few")
    stderr = float(values.std(ddof=1)) / math.sqrt(n)
    half_width = float(special.stdtrit(n - 1, (1 + level) / 2)) * stderr
    return Estimate(mean, stderr, n, "ok", Interval(mean - half_width, mean + half_width, level))


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Return the interval of a proportion, inside [0, 1], by inverting the score test (Wilson 1927).

    Args:
        successes: Number of successes, in 0..n.
        n: Number of independent trials, at least 1.
        level: Nominal coverage, in (0, 1).

    Raises:
        DataError: There is no trial, or more successes than trials.
        SettingsError: The level is outside (0, 1).
    """
    check_level(level)
    if n < 1 or not 0 <= successes <= n:
        raise DataError(f"{successes} successes in {n} trials is out of range; expected 0 <= successes <= n and n >= 1")
    low, high = wilson_ends(np.array([successes / n]), np.array([n]), level=level)
    return Interval(float(low[0]), float(high[0]), level)


def wilson_ends(
    shares: Float[np.ndarray, " K"], n: Real[np.ndarray, " K"], *, level: float
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """Return the ends of Wilson's intervals of many proportions, which may be means over several runs.

    Args:
        shares: Observed proportions, in [0, 1].
        n: Numbers of trials, at least 1.

    Returns:
        Lower and upper ends, in [0, 1].
    """
    z = float(special.ndtri((1 + level) / 2))
    centre = (shares + z**2 / (2 * n)) / (1 + z**2 / n)
    half_width = z / (1 + z**2 / n) * np.sqrt(shares * (1 - shares) / n + z**2 / (4 * n**2))
    return np.clip(centre - half_width, 0.0, 1.0), np.clip(centre + half_width, 0.0, 1.0)


def check_level(level: float) -> None:
    """Refuse a coverage outside (0, 1) with a SettingsError."""
    if not 0 < level < 1:
        raise out_of_range("level", level, "a number between 0 and 1, as in 0.95")
