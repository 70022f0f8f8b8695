"""Differences between two treatments measured on the same seeds and splits."""

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Estimate, Interval, Status
from transferscope.numerics.intervals import check_level, check_samples, t_interval


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean of paired differences with its t-test.

    Attributes:
        mean: Mean difference.
        sd: Standard deviation of the differences; NaN for one pair.
        n: Number of pairs.
        interval: t-interval of the mean difference; None when the status is not "ok".
        p_value: Two-sided p-value of "no difference"; NaN when the status is not "ok".
        status: "ok"; "too_few" for one pair; "undefined" when all pairs differ by the same amount, because there is
            then no spread to hold the difference against.
        test_sd: Standard error that the draw of the test examples adds to the mean, see `sd_of_test_set`; None when it
            is not known, and interval and p-value then speak of this test set alone.
    """

    mean: float
    sd: float
    n: int
    interval: Interval | None
    p_value: float
    status: Status
    test_sd: float | None = None

    @property
    def estimate(self) -> Estimate:
        """The mean over pairs; its interval has no width when all pairs differ by the same amount."""
        if self.status == "too_few":
            return Estimate(self.mean, None, self.n, "too_few")
        stderr = self.sd / math.sqrt(self.n)
        return Estimate(self.mean, stderr, self.n, "ok", self.interval or Interval(self.mean, self.mean))


def paired_difference(
    values: Float[np.ndarray, " n"],
    baseline: Float[np.ndarray, " n"],
    *,
    level: float = 0.95,
    test_sd: float | None = None,
) -> PairedDifference:
    """values - baseline, pair by pair, with interval and p-value.

    All pairs share one test set. Without `test_sd` this is the paired t-test, and its interval speaks of other seeds
    and training subsets on this test set. With it, the error of the mean is taken to be distributed as

        sd / sqrt(n) t_{n - 1} + test_sd z

    with independent Student's t and normal z (the Behrens-Fisher distribution), so that interval and p-value speak of
    other seeds and other test examples. It is on the safe side: the mean of few differences is never held against a
    normal distribution because its spread happens to be small.

    Args:
        values: Measurements of one treatment, shape (n,), finite.
        baseline: Measurements of the other on the same seeds in the same order, shape (n,), finite.
        level: Nominal coverage of the interval, in (0, 1).
        test_sd: From `sd_of_test_set`, at least 0; None when the scores of the examples are not known.

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
        return PairedDifference(summary.value, math.nan, 1, None, math.nan, "too_few", test_sd)
    rounding = 8 * np.finfo(np.float64).eps * max(np.abs(values).max(), np.abs(baseline).max())
    if summary.sd <= rounding:
        return PairedDifference(summary.value, 0.0, summary.n, None, math.nan, "undefined", test_sd)
    stderr, interval = summary.stderr or 0.0, summary.interval
    if test_sd is None:
        p_value = 2 * float(stats.t.sf(abs(summary.value / stderr), summary.n - 1))
    else:
        p_value = float(behrens_fisher_p(summary.value, stderr, summary.n - 1, test_sd))
        half = _half_width(1 - level, stderr, summary.n - 1, test_sd)
        interval = Interval(summary.value - half, summary.value + half, level)
    return PairedDifference(summary.value, summary.sd, summary.n, interval, p_value, "ok", test_sd)


def sd_of_test_set(gains: Float[np.ndarray, "seeds examples"]) -> float:
    """Standard error that the draw of the test examples adds to a mean over seeds and examples.

    With g_si the gain of seed s on example i and m_i its mean over seeds, the variance of the m_i over examples holds
    what examples share over seeds, and 1 / S of what is particular to a seed on an example. The second is in the spread
    between seeds already, so that it is taken out (a two-way analysis of variance with one value per cell):

        test_sd^2 = max(0, var_i(m_i) - MS / S) / N,   MS = sum (g_si - g_s. - m_i + g..)^2 / ((S - 1) (N - 1))

    With one seed nothing can be taken out, and the result is on the wide side.

    Args:
        gains: Score of one treatment minus that of the other by seed and test example, shape (S, N) with N >= 2.

    Returns:
        test_sd, at least 0, in the unit of the gains.

    Raises:
        DataError: There are fewer than two examples, no seed, or a gain is not finite.
    """
    n_seeds, n_examples = gains.shape
    if n_seeds < 1 or n_examples < 2 or not np.isfinite(gains).all():
        raise DataError(
            f"gains of shape {gains.shape} were given; expected finite numbers for at least one seed and two examples"
        )
    of_examples = gains.mean(axis=0)
    variance = float(of_examples.var(ddof=1))
    if n_seeds > 1:
        rest = gains - of_examples - gains.mean(axis=1, keepdims=True) + gains.mean()
        variance -= float((rest**2).sum()) / ((n_seeds - 1) * (n_examples - 1)) / n_seeds
    return math.sqrt(max(variance, 0.0) / n_examples)


def behrens_fisher_p(
    difference: Float[np.ndarray, "..."] | float,
    stderr: Float[np.ndarray, "..."] | float,
    df: int,
    test_sd: Float[np.ndarray, "..."] | float,
) -> Float[np.ndarray, "..."]:
    """P(|stderr t_df + test_sd z| >= |difference|) for independent Student's t and normal z.

    Given w, a chi-square variable of df degrees of freedom, the sum is normal, variance stderr^2 df / w + test_sd^2;
    its tail is averaged over w by the trapezoidal rule on log w, to about 1e-12.

    Args:
        difference: Broadcast with the others.
        stderr: Scale of t, above 0.
        df: Its degrees of freedom, at least 1.
        test_sd: Scale of z, at least 0.

    Returns:
        Two-sided p-values, in the shape that the arguments broadcast to.
    """
    log_w = np.linspace(-60.0, math.log(df + 12 * math.sqrt(2 * df) + 80), 3000)
    w = np.exp(log_w)
    weights = stats.chi2.pdf(w, df) * w
    sd = np.sqrt(np.square(stderr)[..., None] * df / w + np.square(test_sd)[..., None])
    tails = 2 * stats.norm.sf(np.abs(difference)[..., None] / sd)
    return np.asarray(np.minimum(tails @ (weights / weights.sum()), 1.0), dtype=np.float64)


def _half_width(alpha: float, stderr: float, df: int, test_sd: float) -> float:
    """The difference that has the two-sided p-value alpha."""
    widest = stderr * float(stats.t.isf(alpha / 2, df)) + test_sd * float(stats.norm.isf(alpha / 2))
    return float(optimize.brentq(lambda d: float(behrens_fisher_p(d, stderr, df, test_sd)) - alpha, 0.0, 2 * widest))


def pairs_to_decide(
    difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8, at_most: int = 200, test_sd: float = 0.0
) -> int | None:
    """How many pairs `paired_difference` needs to find this difference.

    Without `test_sd`, the smallest n with P(|T| > t_{1 - alpha / 2, n - 1}) >= power, where T is noncentral t with
    n - 1 degrees of freedom and noncentrality (difference / sd) sqrt(n). With it, the critical value is that of the
    Behrens-Fisher distribution, the noncentrality difference / se with se^2 = sd^2 / n + test_sd^2, and the degrees of
    freedom those of Satterthwaite, (n - 1) (n se^2 / sd^2)^2. Difference and spread are taken as true: from a few seeds
    this is a guide to the order of magnitude.

    Args:
        difference: Mean difference to be found.
        sd: Standard deviation of the differences, above 0.
        alpha: Two-sided level of the test, in (0, 1); divide by the number of comparisons that are still open.
        power: Wanted probability of finding it, in (0, 1).
        at_most: Largest number of pairs to consider, at least 2.
        test_sd: What the draw of the test examples adds, see `sd_of_test_set`; more pairs do not make it smaller.

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
    n = 2 + bisect_left(range(2, at_most + 1), power, key=lambda n: _power(n, abs(difference), sd, alpha, test_sd))
    return n if n <= at_most else None


def _power(n: int, difference: float, sd: float, alpha: float, test_sd: float) -> float:
    stderr = sd / math.sqrt(n)
    combined = math.hypot(stderr, test_sd)
    noncentrality = min(difference / combined, 30.0)  # beyond that the power is 1 and nct overflows
    df = (n - 1) * (combined / stderr) ** 4
    if test_sd == 0:
        critical = float(stats.t.isf(alpha / 2, n - 1))
    else:
        critical = _half_width(alpha, stderr, n - 1, test_sd) / combined
    if df > 1e4:
        return float(stats.norm.sf(critical - noncentrality) + stats.norm.cdf(-critical - noncentrality))
    return float(stats.nct.sf(critical, df, noncentrality) + stats.nct.cdf(-critical, df, noncentrality))
