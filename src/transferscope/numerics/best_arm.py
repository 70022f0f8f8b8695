"""Which of several arms is the best, over the same seeds and test examples: chances, and a set that holds the best."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Num, Shaped
from scipy import stats

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.crossed import (
    ExamplePart,
    example_covariance,
    example_noise,
    example_part,
    prior_df,
    seed_part,
)

_DRAWS_AT_A_TIME = 400


@dataclass(frozen=True, slots=True)
class BestArm:
    """Which arm is the best at one size; the control is the first of K + 1 arms.

    Attributes:
        chance: Probability of having the highest mean for other seeds (and test examples, where gains were given), by
            an empirical Bayes model; an estimate, not a test. Shape (K + 1,), sums to 1 over the arms that have a
            value; NaN for arms with fewer than two seeds, and for all where nothing varies.
        p: p-value of "this arm is the best": below .05 some other arm is better. The arms that remain hold the best one
            with probability .95, without any further correction. Shape (K + 1,); NaN as above.
    """

    chance: Float[np.ndarray, " arms"]
    p: Float[np.ndarray, " arms"]


def best_arm(
    differences: Float[np.ndarray, "arms seeds"],
    *,
    gains: Num[np.ndarray, "_ _ _"] | None = None,
    groups: Shaped[np.ndarray, " _"] | None = None,
    seed: int = 0,
    n_draws: int = 4000,
) -> BestArm:
    """The chance of every arm, and of the control, to be the best, and the arms that are shown not to be.

    What a seed gives to all arms is taken out. With m_k the mean of an arm less that of all, U_k its variance over
    seeds, shrunk as in `many_to_one`, and E what the draw of the test examples adds to the m_k, the p-value of arm k is
    that of max_l (m_l - m_k) / se_kl among draws of the error of the m_k. For the chance,

        m_k ~ N(theta_k, U_k df / chi2_df / S + E_kk),   theta_k ~ median + tau t_3,   tau ~ half-Cauchy

    so that differences no larger than their error are shrunk, and one arm that fails does not widen the rest.

    Args:
        differences: Score of every arm minus that of the control by seed, higher is better, shape (K, S); NaN where a
            run is missing.
        gains: The same by test example, shape (S, K, n), as in `many_to_one`. None: both speak of this test set.
        groups: Group of every test example, shape (n,).
        seed: Of the draws.
        n_draws: At least 1,000.

    Returns:
        Both, for the control and every arm.

    Raises:
        DataError: A difference is infinite, gains have another shape, or `crossed.example_part` refuses them.
        SettingsError: There are fewer draws.
    """
    if n_draws < 1000:
        raise SettingsError(f"n_draws = {n_draws} was given; expected at least 1,000")
    if np.isinf(differences).any() or (gains is not None and gains.shape[:2] != differences.shape[::-1]):
        raise DataError("give finite differences (NaN for a missing run) and gains of shape (seeds, arms, examples)")
    present = ~np.isnan(differences)
    part = None if gains is None else example_part(gains, present, groups)
    used = np.flatnonzero(present.sum(axis=1) > 1)
    chance, p = np.full((2, len(differences) + 1), np.nan)
    if len(used):
        seeds = present[used].any(axis=0)
        arms = np.vstack([np.zeros(seeds.sum()), differences[used][:, seeds]])
        at = np.concatenate([[0], 1 + used])
        chance[at], p[at] = _best(arms, part, used, seed, n_draws)
    return BestArm(chance, p)


def _best(
    arms: Float[np.ndarray, "arms seeds"],
    part: ExamplePart | None,
    kept: Int[np.ndarray, " used"],
    seed: int,
    n_draws: int,
) -> tuple[Float[np.ndarray, " arms"], Float[np.ndarray, " arms"]]:
    k = len(arms)
    split = seed_part(arms)
    n, centring = split.n_seeds, k / (k - 1)  # centred arms vary less, by this factor where all vary alike
    variance = (split.residual**2).sum(axis=1) / (n - 1) * centring
    if not split.separable or variance.max() <= (1e-10 * np.nanmax(np.abs(arms))) ** 2:
        return np.full(k, np.nan), np.full(k, np.nan)
    prior = prior_df([split]) if k > 2 else 0.0
    df = n - 1 + prior
    of_seeds = ((n - 1) * variance + prior * variance.mean()) / df / n
    covariance = np.zeros((k, k))
    if part is not None:
        contrast = np.vstack([np.zeros(len(kept)), np.eye(len(kept))])
        contrast -= contrast.mean(axis=0)
        covariance = example_covariance(
            part.profiles[:, kept] @ contrast.T, np.diag(contrast @ part.interaction[np.ix_(kept, kept)] @ contrast.T)
        )
    rng = np.random.default_rng((seed, 5))
    own_spread = k if k > 2 else 1  # two centred arms have one spread between them
    varying = of_seeds * df / rng.chisquare(df[:own_spread], size=(n_draws, own_spread))
    errors = np.sqrt(varying) * rng.standard_normal((n_draws, k))
    if part is not None:
        for at, noise in example_noise(covariance, len(part.profiles), n_draws, seed):
            errors[at] += noise
    mean, examples = split.mean, np.diag(covariance)
    between = np.maximum(examples + examples[:, None] - 2 * covariance, 0.0)
    stderr = np.sqrt(of_seeds + of_seeds[:, None] + between)  # by the arm in question and the other one
    np.fill_diagonal(stderr, np.inf)  # an arm is not compared with itself
    ahead = ((mean - mean[:, None]) / stderr).max(axis=1)
    reached = np.zeros(k, dtype=np.int64)
    for start in range(0, n_draws, _DRAWS_AT_A_TIME):  # as many as stay in the processor's cache
        drawn = np.ascontiguousarray(errors[start : start + _DRAWS_AT_A_TIME].T)
        further = np.empty_like(drawn)
        for arm in range(k):
            np.subtract(drawn, drawn[arm], out=further)
            np.divide(further, stderr[arm][:, None], out=further)
            reached[arm] += (further.max(axis=0) >= ahead[arm]).sum()
    p = (1 + reached) / (n_draws + 1)
    return _chances(mean, of_seeds, varying, centring * examples, centring, rng), p


def _chances(
    mean: Float[np.ndarray, " arms"],
    of_seeds: Float[np.ndarray, " arms"],
    varying: Float[np.ndarray, "draws arms"],
    examples: Float[np.ndarray, " arms"],
    centring: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, " arms"]:
    """Chance of the highest theta, with tau and the scales of t_3 (as a mixture of normals) on a grid."""
    n_draws, k = varying.shape
    total = of_seeds + examples
    m = mean - np.median(mean)
    tau = math.sqrt(float(np.median(total))) * np.tan(np.pi / 2 * (np.arange(40) + 0.5) / 40)
    mixture = 3.0 / stats.chi2.ppf((np.arange(8) + 0.5) / 8, 3.0)
    spread = tau[:, None, None] ** 2 * mixture  # (tau, 1, mixture)
    marginal = spread + total[:, None]  # (tau, arms, mixture)
    density = np.exp(-0.5 * m[:, None] ** 2 / marginal) / np.sqrt(marginal) + 1e-300
    log_weight = np.log(density.mean(axis=2)).sum(axis=1) / centring
    weight = np.exp(log_weight - log_weight.max()).cumsum()
    at_tau = np.searchsorted(weight, weight[-1] * rng.random(n_draws), side="right").clip(max=len(tau) - 1)
    by_scale = density.cumsum(axis=2)[at_tau]  # (draws, arms, mixture)
    scale = (by_scale < by_scale[:, :, -1:] * rng.random((n_draws, k, 1))).sum(axis=2)
    prior = tau[at_tau, None] ** 2 * mixture[scale]
    variance = varying + examples
    weight_of_mean = prior / (prior + variance)
    return probability_of_best(
        weight_of_mean * m + np.sqrt(weight_of_mean * variance) * rng.standard_normal((n_draws, k))
    )


def probability_of_best(means: Float[np.ndarray, "draws methods"]) -> Float[np.ndarray, " methods"]:
    """Share of the draws in which each method has the highest mean; methods that tie share the draw.

    Args:
        means: What the means might be, shape (draws, methods).

    Returns:
        Shape (methods,), in [0, 1], summing to 1.
    """
    is_best = means >= means.max(axis=1, keepdims=True) - 1e-12
    shares = is_best / is_best.sum(axis=1, keepdims=True)
    return np.asarray(shares.mean(axis=0), dtype=np.float64)
