"""Whether transfer helps: each transfer arm compared with each baseline, valid at any number of seeds.

Functions take any number of leading axes, so that many studies are read at once.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from transferscope.decision.noise import Noise

LEAST_SEEDS = 3
"""Least number of seeds of a transfer arm that is tested; a baseline needs two."""


_AT_PLAN, _BESIDE = 0.8, 0.3
"""Share of the error rate at the planned number of seeds, and share at other looks of the rate without a plan."""


def looks(
    n: Float[np.ndarray, "*_"], planned: bool | None = None, shared: Float[np.ndarray, "*_"] | float = 0.0
) -> Float[np.ndarray, "*_"]:
    """Return the divisor of the error at a look with n seeds, which keeps the error over all looks below 1 - level.

    Looks that share the draw of the test examples are nearly one look. Measured with two arms of pure noise at every
    look from 3 to 12 seeds: .046 for a nominal .05, and .037 to .056 with test examples (docs/results/decision.md).

    Args:
        planned: Whether this look is at the number of seeds fixed before the first run, which spends most of the error;
            None if none was fixed.
        shared: Share of the variance that is the same at every look, from 0 to 1.
    """
    if planned:
        return np.full(np.broadcast_shapes(np.shape(n), np.shape(shared)), 1 / _AT_PLAN)
    others = (np.clip(n - 0.5, 1.0, 7.0) - 1.0) * np.sqrt(1.0 - shared)
    return np.asarray((1.0 + others) / (1.0 if planned is None else _BESIDE))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Differences of arms' means.

    Attributes:
        value: First minus second.
        stderr: Standard error; infinite if the noise is unknown.
        df: Degrees of freedom (Satterthwaite); 0 if unknown.
        of_examples: Share of the draw of the test examples in the squared standard error.
    """

    value: Float[np.ndarray, "*studies first second"]
    stderr: Float[np.ndarray, "*studies first second"]
    df: Float[np.ndarray, "*studies first second"]
    of_examples: Float[np.ndarray, "*studies first second"]

    def above(self, bound: float) -> Float[np.ndarray, "*studies first second"]:
        """Return one-sided p-values of "the difference is at least `bound`"; 1 if unknown."""
        known = np.isfinite(self.stderr)
        stderr = np.maximum(np.where(known, self.stderr, 1.0), 1e-12)  # 0 for equal predictions of one seed
        t = np.where(known, self.value - bound, 0.0) / stderr
        return np.where(known, special.stdtr(np.maximum(self.df, 1e-3), t), 1.0)

    def below(self, bound: float) -> Float[np.ndarray, "*studies first second"]:
        """Return one-sided p-values of "the difference is at most `bound`"; 1 if unknown."""
        return replace(self, value=-self.value).above(-bound)

    def half_width(
        self, share: Float[np.ndarray, "*studies first second"]
    ) -> Float[np.ndarray, "*studies first second"]:
        """Return the half-width of the CI with an error of `share` on each side."""
        known = np.isfinite(self.stderr)
        return np.where(
            known, special.stdtrit(np.maximum(self.df, 1e-3), share) * -np.where(known, self.stderr, 1.0), np.inf
        )


def pairs(
    noise: Noise,
    first: Int[np.ndarray, " first"],
    second: Int[np.ndarray, " second"],
    examples: Float[np.ndarray, "arms arms"] | None,
    units: float = np.inf,
) -> Pairs:
    """Return the differences between the means of two sets of arms.

    Degrees of freedom of the seeds are Satterthwaite's, at most those of all arms together; of the examples units - 1;
    of both the harmonic mean by their shares of the variance, where Satterthwaite's errs up to .058 for .05.

    Args:
        examples: Variance that the draw of the test examples adds, by pair of all arms; NaN if unknown.
        units: Number of test examples, or of their groups.
    """
    of_seeds = np.where(noise.df > 0, noise.variance, 0.0) / np.maximum(noise.n, 1)
    spread = of_seeds**2 / np.maximum(noise.df, 1e-300)
    one, other = (..., first[:, None]), (..., second[None])
    loss = noise.loss[..., first[:, None], second[None]]
    over_seeds = (of_seeds[one] + of_seeds[other]) * loss
    drawn = 0.0 * over_seeds if examples is None else np.nan_to_num(examples[np.ix_(first, second)])
    known = (noise.df[one] > 0) & (noise.df[other] > 0)
    most = np.maximum(noise.pool[..., None], np.maximum(noise.df[one], noise.df[other]))
    least = np.maximum((spread[one] + spread[other]) * loss**2, over_seeds**2 / np.maximum(most, 1e-300))
    squared = over_seeds + drawn
    shared = drawn / np.maximum(squared, 1e-300)
    of_seeds_alone = over_seeds**2 / np.maximum(least, 1e-300)
    inverse = (1.0 - shared) / np.maximum(of_seeds_alone, 1e-300) + shared / (units - 1)
    stderr, df = np.where(known, np.sqrt(squared), np.inf), np.where(known, 1.0 / np.maximum(inverse, 1e-6), 0.0)
    return Pairs(noise.mean[one] - noise.mean[other], stderr, df, shared)


def can_be_called(
    noise: Noise, ways: Int[np.ndarray, " ways"], controls: Int[np.ndarray, " controls"]
) -> Bool[np.ndarray, "*studies ways"]:
    """Return which transfer arms have three seeds, provided that all baselines have two.

    An erratic arm is tested, with its own variance, only if its worst run is above the best run of every baseline, or
    its best run below the worst of one.
    """
    known = (noise.n[..., controls] >= 2).all(-1, keepdims=True)
    above = noise.worst[..., ways] > noise.best[..., controls].max(-1, keepdims=True)
    below = noise.best[..., ways] < noise.worst[..., controls].max(-1, keepdims=True)
    apart = above | below
    return np.asarray((noise.n[..., ways] >= LEAST_SEEDS) & (~noise.erratic[..., ways] | apart) & known)


@dataclass(frozen=True, slots=True)
class Gains:
    """Gains of T transfer arms over the best baseline, by study.

    Attributes:
        value: Mean minus that of the best baseline, shape (..., T).
        low: Lower ends of simultaneous CIs over all looks, shape (..., T); minus infinity if unknown.
        high: Upper ends, shape (..., T).
        p: Adjusted p-value of "not better", or of "not worse" where the value is below 0, shape (..., T).
        callable: Whether the arm and all baselines have enough runs for a test and the arm is not erratic, shape (...,
            T).
        most: Upper bound of the largest gain of all transfer arms, shape (...).
    """

    value: Float[np.ndarray, "*studies ways"]
    low: Float[np.ndarray, "*studies ways"]
    high: Float[np.ndarray, "*studies ways"]
    p: Float[np.ndarray, "*studies ways"]
    callable: Bool[np.ndarray, "*studies ways"]
    most: Float[np.ndarray, "*studies"]


def gains(
    noise: Noise,
    ways: Int[np.ndarray, " ways"],
    controls: Int[np.ndarray, " controls"],
    *,
    examples: Float[np.ndarray, "arms arms"] | None = None,
    units: float = np.inf,
    level: float = 0.95,
    planned: bool | None = None,
) -> Gains:
    """Compare transfer arms with baselines (intersection-union test, Bonferroni over transfer arms).

    With d_tc the difference of two means, its variance e_tc^2 = v_t / n_t + v_c / n_c + E_tc and a = (1 - level) /
    looks(n_t), where all looks share E_tc / e_tc^2, the interval of the gain over the best baseline is

        from min_c (d_tc - q(a / T) e_tc)  to  min_c (d_tc + q(a / (T C)) e_tc)  or  min_c max_t (d_tc + q(a / C) e_tc)

    whichever is less. An arm is better if it beats each baseline, with no correction for their number. The last bound
    is for the largest gain, which needs no correction for the number of transfer arms.

    Args:
        ways: Transfer arms that have a run, T >= 1.
        controls: Baselines that have a run, C >= 1.
        examples: Variance that the draw of the test examples adds, by pair of arms; NaN if unknown.
        units: Number of test examples, or of their groups.
        level: 1 - one-sided error, simultaneous over all intervals and looks.
        planned: See `looks`.
    """
    n_ways, n_controls = len(ways), len(controls)
    beside = pairs(noise, ways, controls, examples, units)
    divided = looks(noise.n[..., ways, None], planned, beside.of_examples)
    share = (1 - level) / divided
    lowest = beside.value - beside.half_width(share / n_ways)
    high = (beside.value + beside.half_width(share / n_ways / n_controls)).min(-1)
    most = (beside.value + beside.half_width(share / n_controls)).max(-2).min(-1)
    above = beside.above(0.0) * divided
    worse = np.minimum(above.min(-1) * n_ways, above.max(-2).min(-1)[..., None]) * n_controls
    value = beside.value.min(-1)
    return Gains(
        value=value,
        low=lowest.min(-1),
        high=np.minimum(high, most[..., None]),
        p=np.minimum(np.where(value > 0, (beside.below(0.0) * divided).max(-1) * n_ways, worse), 1.0),
        callable=can_be_called(noise, ways, controls),
        most=np.asarray(most),
    )
