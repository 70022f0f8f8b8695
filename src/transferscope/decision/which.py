"""Which arm to use: draws of what the means may be, and the probability of a good selection."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from transferscope.decision.noise import Noise
from transferscope.decision.whether import LEAST_SEEDS, pair_error

SETTLED = 0.95
DRAWS = 2000
_PRIOR_SD, _PRIOR_DF = 1.5, 3.0
"""Noise of a run, in points, where no arm has two."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which arm to use.

    Attributes:
        arm: The recommended one.
        chance: Probability of being within the margin of the best, by arm.
        shortfall: Expected distance to the best, in points, by arm.
        better: Probability of being better than the recommended arm by more than the margin, by arm.
    """

    arm: int
    chance: Float[np.ndarray, " arms"]
    shortfall: Float[np.ndarray, " arms"]
    better: Float[np.ndarray, " arms"]


def draw_means(
    found: Noise, examples: Float[np.ndarray, "arms arms"] | None, count: int = DRAWS
) -> Float[np.ndarray, "draws arms"]:
    """What the true means may be, given the runs: mean + t sqrt(v / n), and what the test examples add.

    Args:
        found: Means and noise of arms that have a run, shape (A,).
        examples: Variance that the draw of the test examples adds, by pair of arms; NaN where it is not known.
        count: Number of draws; the same numbers give the same draws.
    """
    none = not (found.df > 0).any()
    variance = np.where(found.df > 0, found.variance, _PRIOR_SD**2 if none else np.nanmax(found.variance))
    df = np.where(found.df > 0, found.df, _PRIOR_DF if none else 1.0)
    rng = np.random.default_rng(5)
    k = len(df)
    errors = rng.standard_normal((count, k)) * np.sqrt(variance / found.n * df / rng.chisquare(df, (count, k)))
    if examples is not None:
        centring = np.eye(k) - 1 / k
        values, vectors = np.linalg.eigh(-0.5 * centring @ np.nan_to_num(examples) @ centring)
        errors += rng.standard_normal((count, k)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.asarray(found.mean + errors, dtype=np.float64)


def select(
    means: Float[np.ndarray, "draws arms"],
    cost: Float[np.ndarray, " arms"],
    margin: float,
    allowed: Bool[np.ndarray, " arms"],
) -> Selection:
    """The cheapest arm whose expected shortfall is at most half a margin, or a quarter above the smallest.

    Args:
        means: From `draw_means`.
        cost: Of a run; arms of unknown cost come last.
        margin: Differences up to this do not matter.
        allowed: Arms that may be recommended; at least one.
    """
    short = means.max(axis=1, keepdims=True) - means
    shortfall = short.mean(axis=0)
    among = np.where(allowed, shortfall, np.inf)
    near = np.flatnonzero(among <= max(margin / 2, 1.25 * among.min()))
    arm = int(near[np.lexsort((shortfall[near], np.nan_to_num(cost[near], nan=np.inf)))[0]])
    better = (means > means[:, [arm]] + margin).mean(axis=0)
    return Selection(arm, (short <= margin).mean(axis=0), shortfall, better)


def shown_worse(
    found: Noise, examples: Float[np.ndarray, "arms arms"] | None, margin: float, share: float
) -> Bool[np.ndarray, " arms"]:
    """Which arms some stable arm is shown to exceed by more than the margin.

    Args:
        found: Means and noise of arms that have a run, shape (A,).
        examples: As in `draw_means`.
        margin: Differences up to this do not matter.
        share: One-sided error of each comparison.
    """
    every = np.arange(len(found.mean))
    stderr, df = pair_error(found, every[:, None], every[None], 0.0 if examples is None else np.nan_to_num(examples))
    ahead = found.mean[:, None] - found.mean - margin
    known = np.isfinite(stderr) & (ahead > 0)
    low = ahead + special.stdtrit(np.where(known, df, 1.0), share) * np.where(known, stderr, np.inf)
    able = (found.n >= LEAST_SEEDS) & ~found.unstable
    return np.asarray((known & (low > 0) & able[:, None]).any(axis=0))
