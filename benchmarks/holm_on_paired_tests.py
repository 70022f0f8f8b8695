"""The rule that the report used before `numerics/many_to_one.py`, as the rival of the benchmarks.

Holm's correction over paired t-tests, with the draw of the test examples as a second source of error, and an estimate
of the chance of being best that is not bounded by the tests.
"""

import math

import numpy as np
from jaxtyping import Float, Num
from scipy import stats

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.best_arm import probability_of_best

_N_SPREADS = 40


def holm(p_values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """p-values adjusted so that the chance of any false finding among them stays below the level (Holm 1979).

    With the m tests in ascending order, the i-th of them (from 0) becomes max_{j <= i} min(1, (m - j) p_j).

    Args:
        p_values: Shape (n,), in [0, 1]; NaN stands for a test that could not be made, and counts as none.

    Returns:
        Adjusted p-values in the same order, shape (n,), NaN where NaN was given.

    Raises:
        DataError: A value is outside [0, 1].
    """
    made = ~np.isnan(p_values)
    if ((p_values[made] < 0) | (p_values[made] > 1)).any():
        raise DataError("p-values lie between 0 and 1; some given are outside")
    order = np.argsort(p_values)[: made.sum()]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    adjusted = np.full_like(p_values, np.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(factors * p_values[order], 1.0))
    return adjusted


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


def chance_of_best(
    scores: Num[np.ndarray, "methods seeds examples"], *, seed: int, n_draws: int = 4000
) -> Float[np.ndarray, " methods"]:
    """Probability that each method has the highest mean for other seeds and test examples, by an empirical Bayes model.

    With m_k the mean of method k minus the mean of all K methods, the model is

        m_k ~ N(theta_k, V_k),   theta_k ~ N(0, tau^2),   tau ~ half-Cauchy(median V_k^(1/2))
        V_k = v_k (S - 1) / chi2_{S-1} + E_k

    v_k is the variance of the mean over seeds (what a seed gives to all methods is taken out first), E_k what the draw
    of the test examples adds (as in `sd_of_test_set`). Each draw takes V, then tau from its posterior on a grid,
    then theta from its own: differences that are no larger than their error are shrunk towards none, so that methods
    which cannot be told apart have about 1 / K each. Errors of different methods are taken as independent after
    centring; for two methods that err on the same examples this claims too little rather than too much.

    Args:
        scores: One number per method, seed and test example, higher is better: 1 or 0 for right or wrong, or minus
            the squared error. Shape (K, S, N) with K, S and N at least 2.
        seed: Of the draws.
        n_draws: At least 1.

    Returns:
        Shape (K,), in [0, 1], summing to 1.

    Raises:
        DataError: A dimension is below 2, or a score is not finite.
        SettingsError: `n_draws` is below 1.
    """
    if n_draws < 1:
        raise SettingsError(f"n_draws = {n_draws} was given; expected at least 1")
    if min(scores.shape) < 2 or not np.isfinite(scores).all():
        raise DataError(
            f"scores of shape {scores.shape} are too few or not finite; give finite numbers of at least two methods, "
            "two seeds and two examples"
        )
    rng = np.random.default_rng(seed)
    k, s, _ = scores.shape
    x = scores - scores.mean(axis=0)  # (K, S, N), centred over methods
    of_seeds = x.mean(axis=2)  # (K, S)
    m = of_seeds.mean(axis=1)
    centring = k / (k - 1)  # centred methods vary less, by this factor where all vary alike
    v = centring * of_seeds.var(axis=1, ddof=1) / s
    e = centring * np.array([sd_of_test_set(of_method) ** 2 for of_method in x])
    variance = v * (s - 1) / rng.chisquare(s - 1, size=(n_draws, k)) + e + 1e-18  # (draws, K)
    quantiles = (np.arange(_N_SPREADS) + 0.5) / _N_SPREADS
    tau = np.sqrt(np.median(v + e) + 1e-18) * np.tan(np.pi / 2 * quantiles)  # of the half-Cauchy prior
    total = tau[:, None] ** 2 + variance[:, None, :]  # (draws, tau, K)
    log_weight = -0.5 / centring * (np.log(total) + m**2 / total).sum(axis=2)  # K centred means have K - 1 to spare
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True)).cumsum(axis=1)
    drawn = (weight < weight[:, -1:] * rng.random((n_draws, 1))).sum(axis=1)
    kept = tau[drawn, None] ** 2 / (tau[drawn, None] ** 2 + variance)
    return probability_of_best(kept * m + np.sqrt(kept * variance) * rng.standard_normal((n_draws, k)))
