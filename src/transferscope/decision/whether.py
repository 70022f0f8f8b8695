"""Whether a source helps: every arm with a source against each arm without, at any number of seeds.

Functions take any number of leading axes, so that many studies are read at once.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from transferscope.decision.noise import Noise

LEAST_SEEDS = 3
"""An arm with fewer is never called better or worse; an arm without a source needs two to be beaten."""

LOOKS = 4.0
"""The level of a look is 1 - level over this: with it the chance that any look at 3 to 12 seeds errs is 1 - level
(docs/results/decision.md)."""


@dataclass(frozen=True, slots=True)
class Gains:
    """Arms with a source (T of them) beside the best of those without, by study.

    Attributes:
        value: Mean less that of the best arm without a source, shape (..., T).
        low: Lower ends of intervals that hold for all at once, at any look, shape (..., T); minus infinity where
            nothing is known.
        high: Upper ends, likewise.
        p: Adjusted p-value of "not better", or of "not worse" where the value is below 0, shape (..., T).
        callable: Whether the arm and all those without a source have the runs that a call takes, and the arm is not
            unstable, shape (..., T).
        most: Upper end for the largest gain of all arms with a source, shape (...).
        beats: Which arms without a source it is above, at the level of a call, shape (..., T, C).
    """

    value: Float[np.ndarray, "*studies ways"]
    low: Float[np.ndarray, "*studies ways"]
    high: Float[np.ndarray, "*studies ways"]
    p: Float[np.ndarray, "*studies ways"]
    callable: Bool[np.ndarray, "*studies ways"]
    most: Float[np.ndarray, "*studies"]
    beats: Bool[np.ndarray, "*studies ways controls"]


def gains(
    found: Noise,
    ways: Int[np.ndarray, " ways"],
    controls: Int[np.ndarray, " controls"],
    *,
    examples: Float[np.ndarray, "arms arms"] | None = None,
    level: float = 0.95,
) -> Gains:
    """Compare arms with a source with those without (intersection-union, Bonferroni over the arms with a source).

    With d_tc the difference of two means, its variance e_tc^2 = v_t / n_t + v_c / n_c + E_tc (Satterthwaite's degrees
    of freedom) and a = (1 - level) / LOOKS, the interval of the gain over the best arm without a source is

        min_c (d_tc - q(a / T) e_tc)   to   min_c (d_tc + q(a / (T C)) e_tc),   and at most   min_c max_t (d_tc + q(a) e_tc)

    so that an arm is called better where it beats each of them, without a correction for their number. The last bound
    is for the largest gain, which needs no correction for the number of arms with a source.

    Args:
        found: Means and noise of all arms.
        ways: Arms with a source that have a run, T >= 1.
        controls: Arms without that have a run, C >= 1.
        examples: Variance that the draw of the test examples adds, by pair of arms; NaN where it is not known.
        level: Coverage of the intervals, together and over all looks.
    """
    a = (1 - level) / LOOKS
    n_ways, n_controls = len(ways), len(controls)
    value = found.mean[..., ways, None] - found.mean[..., None, controls]
    extra = 0.0 if examples is None else np.nan_to_num(examples[np.ix_(ways, controls)])
    stderr, df = pair_error(found, ways[:, None], controls[None], extra)

    def end(share: float) -> Float[np.ndarray, "*studies ways controls"]:
        return np.where(np.isfinite(stderr), -special.stdtrit(np.maximum(df, 1e-3), share) * stderr, np.inf)

    lowest = value - end(a / n_ways)
    high = (value + end(a / n_ways / n_controls)).min(-1)
    most = (value + end(a)).max(-2).min(-1)
    known = np.isfinite(stderr)
    t = np.where(known, value / np.where(known, stderr, 1.0), 0.0)
    better = np.where(known, special.stdtr(np.maximum(df, 1e-3), -t), 1.0).max(-1) * n_ways * LOOKS
    below = np.where(known, special.stdtr(np.maximum(df, 1e-3), t), 1.0)
    together = below.max(-2).min(-1)[..., None]  # all at once
    worse = np.minimum(below.min(-1) * n_ways * n_controls, together) * LOOKS
    return Gains(
        value=value.min(-1),
        low=lowest.min(-1),
        high=np.minimum(high, most[..., None]),
        p=np.minimum(np.where(value.min(-1) > 0, better, worse), 1.0),
        callable=(
            (found.n[..., ways] >= LEAST_SEEDS)
            & ~found.unstable[..., ways]
            & (found.n[..., controls] >= 2).all(-1, keepdims=True)
        ),
        most=most,
        beats=lowest > 0,
    )


def pair_error(
    found: Noise, one: Int[np.ndarray, "*_"], other: Int[np.ndarray, "*_"], extra: Float[np.ndarray, "*_"] | float
) -> tuple[Float[np.ndarray, "*_"], Float[np.ndarray, "*_"]]:
    """Standard error of the difference of two arms' means, infinite where nothing is known, and degrees of freedom."""
    of_seeds = np.where(found.df > 0, found.variance, 0.0) / np.maximum(found.n, 1)
    spread = of_seeds**2 / np.maximum(found.df, 1e-300)
    squared = of_seeds[..., one] + of_seeds[..., other] + extra
    known = (found.df[..., one] > 0) & (found.df[..., other] > 0)
    least = np.maximum(1e-6 * squared**2, 1e-300)  # a million degrees of freedom
    df = np.where(known, squared**2 / np.maximum(spread[..., one] + spread[..., other], least), 0.0)
    return np.where(known, np.sqrt(squared), np.inf), df
