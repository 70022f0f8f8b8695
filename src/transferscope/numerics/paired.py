"""Differences between two treatments measured on the same seeds and splits."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.intervals import Interval, check_level, check_samples, t_interval
from transferscope.records import Status


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean of paired differences with its t-test.

    Attributes:
        mean: Mean difference.
        sd: Standard deviation of the differences; NaN for one pair.
        n: Number of pairs.
        interval: t-interval of the mean difference; None when the status is not "ok".
        p_value: Two-sided p-value of the paired t-test of "no difference"; NaN when the status is not "ok".
        status: "ok"; "too_few" for one pair; "undefined" when all pairs differ by the same amount, because there is
            then no spread to hold the difference against.
    """

    mean: float
    sd: float
    n: int
    interval: Interval | None
    p_value: float
    status: Status


def paired_difference(
    values: Float[np.ndarray, "n"], baseline: Float[np.ndarray, "n"], *, level: float = 0.95
) -> PairedDifference:
    """values - baseline, pair by pair, with t-interval and p-value.

    The seeds are what varies: the test set is the same in every pair, so the interval speaks of other seeds and
    training subsets on this test set.

    Args:
        values: Measurements of one treatment, shape (n,), finite.
        baseline: Measurements of the other on the same seeds in the same order, shape (n,), finite.
        level: Nominal coverage of the interval, in (0, 1).

    Returns:
        The mean difference and what can be said about it.

    Raises:
        DataError: There is no pair, or a value is not finite.
        SettingsError: The level is outside (0, 1).
    """
    check_level(level)
    check_samples(values)
    check_samples(baseline)
    summary = t_interval(values - baseline, level=level)
    if summary.n == 1:
        return PairedDifference(summary.mean, math.nan, 1, None, math.nan, "too_few")
    rounding = 8 * np.finfo(np.float64).eps * max(np.abs(values).max(), np.abs(baseline).max())
    if summary.sd <= rounding:
        return PairedDifference(summary.mean, 0.0, summary.n, None, math.nan, "undefined")
    t = summary.mean / (summary.sd / math.sqrt(summary.n))
    p_value = 2 * float(stats.t.sf(abs(t), summary.n - 1))
    return PairedDifference(summary.mean, summary.sd, summary.n, summary.interval, p_value, "ok")


def pairs_to_decide(
    difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8, at_most: int = 200
) -> int | None:
    """How many pairs a paired t-test needs to find this difference.

    The smallest n with P(|T| > t_{1 - alpha / 2, n - 1}) >= power, where T is noncentral t with n - 1 degrees of
    freedom and noncentrality (difference / sd) sqrt(n). Difference and spread are taken as true: from a few seeds this
    is a guide to the order of magnitude.

    Args:
        difference: Mean difference to be found.
        sd: Standard deviation of the differences, above 0.
        alpha: Two-sided level of the test, in (0, 1); divide by the number of comparisons that are still open.
        power: Wanted probability of finding it, in (0, 1).
        at_most: Largest number of pairs to consider, at least 2.

    Returns:
        The number of pairs, or None when more than `at_most` are needed.

    Raises:
        DataError: `sd` is not above 0, or the difference is not finite.
        SettingsError: `alpha`, `power` or `at_most` is out of range.
    """
    if not (math.isfinite(difference) and math.isfinite(sd) and sd > 0):
        raise DataError(f"difference = {difference}, sd = {sd} were given; expected finite numbers with sd above 0")
    if not (0 < alpha < 1 and 0 < power < 1 and at_most >= 2):
        raise SettingsError(
            f"alpha = {alpha}, power = {power}, at_most = {at_most} were given; "
            "expected alpha and power between 0 and 1 and at_most >= 2"
        )
    n = np.arange(2, at_most + 1)
    enough = _power(n, abs(difference) / sd, alpha) >= power
    return int(n[enough.argmax()]) if enough.any() else None


def _power(n: np.ndarray, effect: float, alpha: float) -> np.ndarray:
    noncentrality = np.minimum(effect * np.sqrt(n), 30.0)  # beyond that the power is 1 and nct overflows
    critical = stats.t.ppf(1 - alpha / 2, n - 1)
    power = stats.nct.sf(critical, n - 1, noncentrality) + stats.nct.cdf(-critical, n - 1, noncentrality)
    return np.asarray(power, dtype=np.float64)
