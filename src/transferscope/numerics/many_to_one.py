"""Many arms against one control over the same seeds and test examples: differences and adjusted p-values.

Comparisons with a shared control (Dunnett 1955), made for two to ten seeds. Four things give them power or keep them
honest: what a seed gives to all arms, the noise of the control above all, is split off; variances are shrunk towards
their mean over the arms (moderated t-tests, Smyth 2004); the draw of the test examples is a second source of error; and
the step-down maximum (Westfall and Young 1993) of draws of the joint error takes account of how differences depend on
each other. Nothing here is a theorem: `docs/results/inference.md` holds the measured error and power.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Num, Shaped
from scipy import special, stats

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.crossed import (
    MOST_KEPT,
    PRIOR_DF,
    ExamplePart,
    SeedPart,
    example_covariance,
    example_noise,
    example_part,
    prior_df,
    seed_part,
)
from transferscope.numerics.intervals import check_level

Finding = Literal["better", "worse", "equivalent", "leaning better", "leaning worse", "undecided", "undefined"]
"""What is known of one arm beside the control.

better, worse: the adjusted p-value is below 1 - level. equivalent: neither, and the difference lies within the
margin, with 5 % error for this comparison taken alone, on a test set that is large enough to say so. leaning ...: not
decided, but the adjusted p-value is below 4 times 1 - level, or the interval of this comparison taken alone excludes
0. undecided: none of these. undefined: there is one pair or none, or nothing varies over seeds.
"""

Covers = Literal["seeds and test examples", "seeds", "test examples", "nothing"]
"""What an interval speaks of: other seeds, other test examples, both, or there is none."""

_MOST_SEEDS = 200
_AT_A_TIME = 64
"""Comparisons whose quantiles are taken together, since each takes a copy of the draws."""


@dataclass(frozen=True, slots=True)
class ManyToOne:
    """Arms against the control, by size and arm: every array has the shape (J, K) of sizes and arms, unless it is said.

    Attributes:
        difference: Mean over the seeds of both of score minus the control's; NaN without such a seed.
        stderr: Its standard error from what `covers` says; NaN when there is none.
        low: Lower end of the interval of the difference, not corrected for the other comparisons.
        high: Its upper end.
        covers: What the interval and the p-values speak of, see `Covers`.
        p: Two-sided p-value of "no difference", adjusted over all comparisons of all sizes; NaN when undefined.
        p_alone: The same for the comparison taken alone.
        finding: See `Finding`.
        within_margin: Whether the difference is shown to be smaller than the margin, at 5 % for the comparison alone; a
            difference can be both "better" and within the margin.
        n_seeds: Pairs that the difference rests on.
        seed_stderr: What seeds add to `stderr`.
        test_stderr: What the draw of the test examples adds to `stderr`; 0 where gains were not given.
        wants: What would make an open comparison clear sooner: "more seeds", "a larger test set", or "" when it is
            decided or undefined.
        seeds_to_decide: Seeds at which an open comparison is decided with probability .8 if difference and variances
            are the true ones; 0 when it is decided, undefined, or 200 would not do.
        p_whether: Shape (J,). p-value of "no arm that transfers is better than the control and all other controls",
            adjusted over the sizes and arms; 1 when no arm is ahead, NaN when nothing can be tested.
    """

    difference: Float[np.ndarray, "sizes arms"]
    stderr: Float[np.ndarray, "sizes arms"]
    low: Float[np.ndarray, "sizes arms"]
    high: Float[np.ndarray, "sizes arms"]
    covers: Shaped[np.ndarray, "sizes arms"]
    p: Float[np.ndarray, "sizes arms"]
    p_alone: Float[np.ndarray, "sizes arms"]
    finding: Shaped[np.ndarray, "sizes arms"]
    within_margin: Bool[np.ndarray, "sizes arms"]
    n_seeds: Int[np.ndarray, "sizes arms"]
    seed_stderr: Float[np.ndarray, "sizes arms"]
    test_stderr: Float[np.ndarray, "sizes arms"]
    wants: Shaped[np.ndarray, "sizes arms"]
    seeds_to_decide: Int[np.ndarray, "sizes arms"]
    p_whether: Float[np.ndarray, " sizes"]

    def p_any(self, arms: Sequence[int], *, sign: int = 1) -> Float[np.ndarray, " sizes"]:
        """p-value by size of "none of these arms is better", or with sign = -1 worse, than the control.

        The smallest adjusted p-value among the arms ahead: the step-down maximum is consonant, so that a set of arms is
        tested with their own p-values and costs nothing more. 1 when no arm is ahead, NaN when none can be tested.
        """
        p, ahead = self.p[:, list(arms)], np.sign(self.difference[:, list(arms)]) == sign
        known = ~np.isnan(p)
        smallest = np.where(known & ahead, p, 1.0).min(axis=1, initial=1.0)
        return np.where(known.any(axis=1), smallest, np.nan)


def many_to_one(
    scores: Float[np.ndarray, "sizes arms seeds"],
    control: Float[np.ndarray, "_ _"],
    *,
    gains: Sequence[Num[np.ndarray, "_ _ _"] | None] | None = None,
    groups: Shaped[np.ndarray, " _"] | None = None,
    controls: Sequence[int] = (),
    weights: Float[np.ndarray, "_ _"] | None = None,
    margin: float = 0.0,
    one_example: float = 0.0,
    level: float = 0.95,
    n_draws: int = 20_000,
    seed: int = 0,
    df_between_sizes: float = 2.0,
    stricter_up_to: tuple[int, float] = (0, 1.0),
) -> ManyToOne:
    """Compare every arm with the control at every size, with an adjusted p-value for each.

    With g_ks the score of arm k less the control's at seed s, at one size, split by `crossed.seed_part` into a part
    that all arms share, of variance c, and a part of their own, of mean variance u:

        V_k = ((S - 1) var_s(g_ks) + w (c + u)) / (S - 1 + w),   w = 6 or less (0 for one arm)
        f = c / (c + u)
        error_k = sqrt(V_k / S) (sqrt(f) t + sqrt(1 - f) z_k sqrt(df_k / chi2_{df_k})) + N(0, E),   df_k = S - 1 + w

    w is smaller where the variances of the arms are unequal (`crossed.prior_df`).
    t is one draw of Student's t for all arms of a size, the z_k are normal, centred over the arms (and scaled to
    variance 1), and E is what the draw of the test examples adds (`crossed.example_covariance`; one test set serves all
    sizes). Several sizes lend c degrees of freedom: c becomes ((S - 1) c + h r u) / (S - 1 + h) with r the mean of
    c / u over the sizes, h = min(df_between_sizes, (J - 1) (S - 1)), and t has S - 1 + h degrees of freedom. The
    p-values are those of the step-down maximum of |error_k| / sqrt(V_k / S + E_kk) over all comparisons.

    Where seeds are missing, an arm's own are used, S is their number, and arms share t as far as they share seeds.

    Args:
        scores: Of every size, arm and seed, higher is better: accuracy in any unit, or minus a risk. Shape (J, K, S),
            NaN for a run that is missing.
        control: Of the control at the same sizes and seeds, shape (J, S); NaN as above.
        gains: For every size the score of the arms minus that of the control by seed, arm and test example, shape
            (S, K, n), the same examples at all sizes; a seed of an arm whose examples are not known is NaN. In the unit
            of the scores (accuracies in [0, 1] take gains of -1, 0 and 1). None: the p-values speak of this test set.
        groups: Group of every test example, where examples come in groups; shape (n,).
        controls: Arms that are further controls rather than ways to transfer; see `ManyToOne.p_whether`.
        weights: How much of the error each comparison may spend, relative to the others: larger for arms from which
            more is expected, fixed without regard to the scores; shape (J, K), above 0. None: all the same.
        margin: Differences smaller than this do not matter; at least 0, in the unit of the scores.
        one_example: How much of a score a single test example can make up. Where three of them make up the margin, no
            difference is within it: examples of a kind that the test set lacks may be that share of others, with 5 %
            error (the rule of three, 1 - 0.05^(1 / n) = 3 / n), and arms that differ on none of n may differ on these.
        level: Coverage of the intervals; 1 - level bounds the chance of any false "better" or "worse".
        n_draws: Of the error; at least 1,000.
        seed: Of the draws.
        df_between_sizes: h above; 0 where a seed may do the same at all sizes and the control is much noisier than
            the arms.
        stricter_up_to: Number of seeds up to which the caller takes no p-value above the second number for decided;
            what is open for that reason is told how many seeds more it takes. The findings are those of `level`.

    Returns:
        All comparisons.

    Raises:
        DataError: Shapes do not fit, a score is infinite, or a gain is not finite where its score is given.
        SettingsError: A setting is out of range.
    """
    check_level(level)
    if not (0 <= margin < math.inf and 0 <= df_between_sizes < math.inf and n_draws >= 1000):
        raise SettingsError(
            f"margin = {margin}, n_draws = {n_draws}, df_between_sizes = {df_between_sizes} were given; expected a "
            "margin and degrees of freedom of at least 0, and at least 1,000 draws"
        )
    values, of_arms, example_parts = _checked(scores, control, gains, groups, controls, weights)
    settings = margin, 3 * one_example < margin, level, n_draws, seed, df_between_sizes, stricter_up_to
    largest = max(np.abs(np.nan_to_num(given)).max() for given in (scores, control))
    rounding = 16 * np.finfo(np.float64).eps * max(float(largest), 1e-300)
    found = _compare(values, example_parts, _multipliers(weights, values, level), *settings, rounding)
    p_whether = found.p_any(of_arms)
    for other in controls if of_arms else ():
        beside = scores[:, of_arms] - scores[:, [other]]
        parts = [None if part is None else _against(part, of_arms, other) for part in example_parts]
        narrowed = None if weights is None else weights[:, of_arms]
        versus = _compare(beside, parts, _multipliers(narrowed, beside, level), *settings, rounding)
        p_whether = np.maximum(p_whether, versus.p_any(range(len(of_arms))))
    return replace(found, p_whether=p_whether)


def _checked(
    scores: Float[np.ndarray, "sizes arms seeds"],
    control: Float[np.ndarray, "_ _"],
    gains: Sequence[Num[np.ndarray, "_ _ _"] | None] | None,
    groups: Shaped[np.ndarray, " _"] | None,
    controls: Sequence[int],
    weights: Float[np.ndarray, "_ _"] | None,
) -> tuple[Float[np.ndarray, "sizes arms seeds"], list[int], list[ExamplePart | None]]:
    """Differences to the control, the arms that transfer, and the part of the test examples by size."""
    j, k, s = scores.shape
    if control.shape != (j, s) or 0 in (j, k, s):
        raise DataError(f"scores of shape {scores.shape} and a control of shape {control.shape} do not fit (J, K, S)")
    if np.isinf(scores).any() or np.isinf(control).any():
        raise DataError("some scores are infinite; give NaN for a run that is missing")
    if any(not 0 <= arm < k for arm in controls) or len(set(controls)) != len(controls):
        raise SettingsError(f"controls = {list(controls)} were given; expected different numbers of arms below {k}")
    if weights is not None and (weights.shape != (j, k) or not (np.isfinite(weights) & (weights > 0)).all()):
        raise SettingsError(f"weights are positive and finite numbers of shape {(j, k)}")
    values = scores - control[:, None, :]
    parts: list[ExamplePart | None] = [None] * j
    if gains is not None:
        if len(gains) != j or any(g is not None and (g.shape[:2] != (s, k) or g.shape[2] < 2) for g in gains):
            raise DataError(f"gains are one array of shape ({s}, {k}, n) for each of {j} sizes, with n of at least 2")
        parts = [None if g is None else example_part(g, ~np.isnan(values[at]), groups) for at, g in enumerate(gains)]
    return values, [arm for arm in range(k) if arm not in set(controls)], parts


def _against(part: ExamplePart, arms: Sequence[int], other: int) -> ExamplePart:
    """The same for gains over another arm instead of the control."""
    contrast = np.eye(part.profiles.shape[1])[list(arms)]
    contrast[:, other] -= 1.0
    return ExamplePart(
        part.profiles @ contrast.T,
        contrast @ part.interaction @ contrast.T,
        part.known[list(arms)] & part.known[other],
    )


def _multipliers(
    weights: Float[np.ndarray, "_ _"] | None, values: Float[np.ndarray, "sizes arms seeds"], level: float
) -> Float[np.ndarray, "sizes arms"]:
    """Factors on the standard errors in the maximum: critical values by weight, over that of equal weights."""
    if weights is None:
        return np.ones(values.shape[:2])
    known = (~np.isnan(values)).sum(axis=2) > 1
    share = np.where(known, weights, 0.0)
    df = values.shape[2] - 1 + PRIOR_DF
    alpha = (1 - level) * np.where(known, share / max(share.sum(), 1e-300), 1.0)
    equal = stats.t.isf((1 - level) / max(int(known.sum()), 1) / 2, df)
    return np.asarray(stats.t.isf(alpha / 2, df) / equal, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _SeedErrors:
    """Error of every difference from seeds: V / S with its degrees of freedom, and the share that all arms have."""

    variance: Float[np.ndarray, "sizes arms"]
    df: Float[np.ndarray, "sizes arms"]
    share: Float[np.ndarray, " sizes"]
    common_df: Float[np.ndarray, " sizes"]
    testable: Bool[np.ndarray, "sizes arms"]


def _seed_errors(parts: Sequence[SeedPart], rounding: float, df_between_sizes: float) -> _SeedErrors:
    n = np.array([part.n_seeds for part in parts])
    common, own = (np.array([getattr(part, name) for part in parts]) for name in ("common", "own"))
    common, common_df = np.maximum(common, 0.0), np.array([part.common_df for part in parts])
    several = np.array([part.separable for part in parts]) & (own > 0)
    if several.sum() > 1 and df_between_sizes > 0:
        ratio = float((common[several] / own[several]).mean())
        h = np.minimum(df_between_sizes, (several.sum() - 1) * common_df[several])
        common[several] = (common_df * common)[several] + h * ratio * own[several]
        common_df[several] += h
        common[several] /= common_df[several]
    total = common + own
    prior = np.where([part.separable for part in parts], prior_df(parts), 0.0)[:, None]
    df = np.maximum(n - 1, 0) + prior
    variances = np.nan_to_num(np.array([part.variance for part in parts]))
    pooled = np.maximum(n - 1, 0) * variances + prior * total[:, None]
    variance = np.divide(pooled, df, out=np.zeros_like(pooled), where=df > 0)
    testable = (n > 1) & (variance > rounding**2)
    share = np.divide(common, total, out=np.ones_like(total), where=total > 0)
    return _SeedErrors(variance, df, share, common_df, testable)


def _compare(
    values: Float[np.ndarray, "sizes arms seeds"],
    example_parts: Sequence[ExamplePart | None],
    multipliers: Float[np.ndarray, "sizes arms"],
    margin: float,
    is_large: bool,
    level: float,
    n_draws: int,
    seed: int,
    df_between_sizes: float,
    stricter_up_to: tuple[int, float],
    rounding: float,
) -> ManyToOne:
    """Everything but the other controls; a spread over seeds below `rounding` is none.

    `is_large` is whether the test set is large enough for the margin.
    """
    j, k, _ = values.shape
    parts = [seed_part(of_size) for of_size in values]
    n = np.array([part.n_seeds for part in parts])
    of_seeds = _seed_errors(parts, rounding, df_between_sizes)
    covariance, n_groups = _joint_covariance(example_parts, k)
    examples = np.diag(covariance).reshape(j, k)
    testable = of_seeds.testable
    seed_variance = np.where(testable, of_seeds.variance / np.maximum(n, 1), 0.0)
    errors = _draws(values, of_seeds, covariance, n_groups, n_draws, seed)  # (draws, tested comparisons)
    np.abs(errors, out=errors)

    difference = np.array([part.mean for part in parts])
    stderr = np.sqrt(seed_variance + examples)
    tested, alpha = np.flatnonzero(testable), 1 - level
    d, scale = np.abs(difference.ravel()[tested]), (stderr * multipliers).ravel()[tested]
    p, p_alone, half, inner = (np.full(j * k, np.nan) for _ in range(4))
    p[tested] = adjusted = step_down_maximum(d / scale, errors, scale)
    if len(tested):
        p_alone[tested] = (1 + (errors >= d).sum(axis=0)) / (n_draws + 1)
    for at in range(0, len(tested), _AT_A_TIME):
        part = slice(at, at + _AT_A_TIME)
        half[tested[part]], inner[tested[part]] = np.quantile(errors[:, part], [level, 0.9], axis=0)
    one_seed = (~testable & (examples > 0) & (n > 0)).ravel()
    half[one_seed] = stats.t.isf(alpha / 2, n_groups - 1) * stderr.ravel()[one_seed]

    shape = (j, k)
    p, p_alone, half, inner = (found.reshape(shape) for found in (p, p_alone, half, inner))
    near = testable & (np.abs(difference) + np.nan_to_num(inner, nan=np.inf) < margin)
    within = near & is_large
    finding = _findings(difference, p, p_alone, half, within, testable, alpha)
    few, few_alpha = stricter_up_to
    is_open = np.isin(finding, ("leaning better", "leaning worse", "undecided"))
    is_open |= testable & (n <= few) & ~within & (np.nan_to_num(p) > few_alpha)
    needed = np.zeros(j * k, dtype=np.int64)
    to_decide = np.flatnonzero(is_open.ravel()[tested])
    if len(to_decide):
        left = (adjusted >= alpha) | is_open.ravel()[tested]
        largest = np.zeros(n_draws)
        for one in np.flatnonzero(left):
            np.maximum(largest, errors[:, one] / scale[one], out=largest)
        critical = np.quantile(largest, level)
        shares = np.array([(errors[:, one] / scale[one] >= critical).mean() for one in to_decide])
        alone = np.maximum(shares, 1 / n_draws)
        which = tested[to_decide]
        needed[which] = _seeds_to_decide(
            np.abs(difference).ravel()[which],
            of_seeds.variance.ravel()[which],
            examples.ravel()[which],
            np.repeat(of_seeds.share, k)[which],
            (of_seeds.df - np.maximum(n - 1, 0)).ravel()[which],
            np.maximum(n, few).ravel()[which],
            alone,
            margin if is_large else 0.0,
        )
    has_examples = np.array([np.zeros(k, dtype=bool) if part is None else part.known for part in example_parts])
    wants = np.where(is_open, np.where((examples > seed_variance) | near, "a larger test set", "more seeds"), "")
    covers = np.select(
        [testable & has_examples, testable, ~np.isnan(half)],
        ["seeds and test examples", "seeds", "test examples"],
        "nothing",
    )
    return ManyToOne(
        difference=difference,
        stderr=np.where(covers == "nothing", np.nan, stderr),
        low=difference - half,
        high=difference + half,
        covers=covers,
        p=p,
        p_alone=p_alone,
        finding=finding,
        within_margin=within,
        n_seeds=n,
        seed_stderr=np.where(testable, np.sqrt(seed_variance), np.nan),
        test_stderr=np.sqrt(examples),
        wants=wants,
        seeds_to_decide=needed.reshape(shape),
        p_whether=np.full(j, np.nan),
    )


def _findings(
    difference: Float[np.ndarray, "sizes arms"],
    p: Float[np.ndarray, "sizes arms"],
    p_alone: Float[np.ndarray, "sizes arms"],
    half: Float[np.ndarray, "sizes arms"],
    within: Bool[np.ndarray, "sizes arms"],
    testable: Bool[np.ndarray, "sizes arms"],
    alpha: float,
) -> Shaped[np.ndarray, "sizes arms"]:
    sure = (p < alpha) & (p_alone < alpha)
    leaning = (p < 4 * alpha) | (np.abs(difference) > half)
    up = difference > 0
    return np.select(
        [~testable, sure & up, sure, within, leaning & up, leaning],
        ["undefined", "better", "worse", "equivalent", "leaning better", "leaning worse"],
        "undecided",
    )


def step_down_maximum(
    observed: Float[np.ndarray, " comparisons"],
    null: Float[np.ndarray, "draws comparisons"],
    scale: Float[np.ndarray, " comparisons"] | None = None,
) -> Float[np.ndarray, " comparisons"]:
    """Adjusted p-values of many statistics from draws of their joint distribution without any effect.

    With statistics in descending order, p_(i) = (1 + #{draws: max_{l >= i} null_l >= observed_(i)}) / (draws + 1), made
    monotone by a running maximum (Westfall and Young 1993, algorithm 2.8).

    Args:
        observed: Statistics, large ones speak for an effect; shape (C,).
        null: Draws of all of them together, at least 0, shape (M, C).
        scale: What the draws of each are divided by first, shape (C,); None for 1.

    Returns:
        Adjusted p-values, shape (C,).
    """
    order = np.argsort(-observed, kind="stable")
    largest, reached = np.zeros(len(null)), np.zeros(len(observed), dtype=np.int64)
    for at in order[::-1]:  # from the smallest statistic on: one row of maxima instead of a table
        np.maximum(largest, null[:, at] if scale is None else null[:, at] / scale[at], out=largest)
        reached[at] = (largest >= observed[at]).sum()
    adjusted = np.empty_like(observed)
    adjusted[order] = np.maximum.accumulate((1 + reached[order]) / (len(null) + 1))
    return adjusted


def _joint_covariance(
    parts: Sequence[ExamplePart | None], k: int
) -> tuple[Float[np.ndarray, "comparisons comparisons"], int]:
    """Covariance over all comparisons that the draw of the test examples adds, with its number of groups.

    Sizes whose test sets have another number of groups are taken as independent.
    """
    covariance = np.zeros((len(parts) * k, len(parts) * k))
    by_groups: dict[int, list[int]] = {}
    for size, part in enumerate(parts):
        if part is not None:
            by_groups.setdefault(len(part.profiles), []).append(size)
    for sizes in by_groups.values():
        at = np.concatenate([np.arange(size * k, (size + 1) * k) for size in sizes])
        known = [part for size in sizes if (part := parts[size]) is not None]
        covariance[np.ix_(at, at)] = example_covariance(
            np.hstack([part.profiles for part in known]),
            np.concatenate([np.diag(part.interaction) for part in known]),
        )
    return covariance, min(by_groups, default=2)


def _draws(
    values: Float[np.ndarray, "sizes arms seeds"],
    of_seeds: _SeedErrors,
    covariance: Float[np.ndarray, "comparisons comparisons"],
    n_groups: int,
    n_draws: int,
    seed: int,
) -> Float[np.ndarray, "draws tested"]:
    """Draws of the errors of the comparisons that can be tested, size by size; those of one lie side by side."""
    tested = of_seeds.testable.ravel()
    errors = np.empty((int(tested.sum()), n_draws)).T
    filled = 0
    for size, usable in enumerate(of_seeds.testable):
        if not usable.any():
            continue
        present = ~np.isnan(values[size][usable])
        n, share = present.sum(axis=1), of_seeds.share[size]
        common = _common_noise(present, float(of_seeds.common_df[size]), n_draws, (seed, size))
        df = tuple(of_seeds.df[size][usable].tolist())
        own_noise = _own_noise if len(df) * n_draws <= MOST_KEPT else _own_noise.__wrapped__
        drawn = math.sqrt(1 - share) * own_noise(df, n_draws, (seed, size))
        drawn += math.sqrt(share) * common
        drawn *= np.sqrt(of_seeds.variance[size][usable] / n)
        errors[:, filled : filled + len(df)] = drawn
        filled += len(df)
    within = covariance[np.ix_(tested, tested)]
    if within.any():
        for part, noise in example_noise(within, n_groups, n_draws, seed):
            errors[part] += noise
    return errors


def _common_noise(
    present: Bool[np.ndarray, "arms seeds"], df: float, n_draws: int, seed: tuple[int, int]
) -> Float[np.ndarray, "draws _"]:
    """Student's t for every arm, shared as far as arms share seeds; one column where they share all."""
    t = _student(df, n_draws, seed)
    if present.all():
        return t[:, None]
    present = present[:, present.any(axis=0)]
    n, s = present.sum(axis=1), present.shape[1]
    rng = np.random.default_rng((*seed, 1))
    z = rng.standard_normal((n_draws, s))
    z -= z.mean(axis=1, keepdims=True)  # what the mean over all seeds does not hold; given t, its scale has df + 1
    scale = np.sqrt((df + t**2) / rng.chisquare(df + 1, n_draws))
    rest = scale[:, None] * (z @ (present / np.sqrt(n)[:, None]).T)
    return np.asarray(t[:, None] * np.sqrt(n / s) + rest, dtype=np.float64)


@lru_cache(maxsize=16)
def _student(df: float, n_draws: int, seed: tuple[int, int]) -> Float[np.ndarray, " draws"]:
    """Quantiles of Student's t in random order: plain draws with few degrees of freedom move the 5 % point."""
    quantiles = stats.t.ppf((np.arange(n_draws) + 0.5) / n_draws, df)
    return np.asarray(np.random.default_rng((*seed, 2)).permutation(quantiles), dtype=np.float64)


@lru_cache(maxsize=16)
def _own_noise(df: tuple[float, ...], n_draws: int, seed: tuple[int, int]) -> Float[np.ndarray, "draws arms"]:
    """Normal draws centred over the arms, with unit variance, over the root of chi2 / df of every arm."""
    rng, k = np.random.default_rng((*seed, 3)), len(df)
    z = rng.standard_normal((n_draws, k))
    if k > 1:
        z -= z.mean(axis=1, keepdims=True)
        z *= math.sqrt(k / (k - 1))
    chi2 = rng.chisquare(df, size=(n_draws, k))
    z *= np.sqrt(np.divide(np.array(df), chi2, out=chi2), out=chi2)
    return np.asarray(z, dtype=np.float64)


def _seeds_to_decide(
    difference: Float[np.ndarray, "open"],
    variance: Float[np.ndarray, "open"],
    examples: Float[np.ndarray, "open"],
    share: Float[np.ndarray, "open"],
    prior: Float[np.ndarray, "open"],
    n_seeds: Int[np.ndarray, "open"],
    alone: Float[np.ndarray, "open"],
    margin: float,
) -> Int[np.ndarray, "open"]:
    """Smallest number of seeds that decides with probability .8, by Satterthwaite's degrees of freedom; 0 for none.

    `alone` is the level at which each is tested now, given all others. Either the difference is found, or, where it is
    below the margin, that it is smaller than the margin.
    """
    low, high = n_seeds.copy(), np.full_like(n_seeds, _MOST_SEEDS + 1)  # not enough, enough (or never)
    while (high - low > 1).any():
        n = np.maximum((low + high) // 2, 2)
        of_seeds = variance / n
        squared = of_seeds + examples
        spread = of_seeds**2 * (share**2 / (n - 1) + (1 - share) ** 2 / (n - 1 + prior))
        df = np.minimum(squared**2 / np.maximum(spread, 1e-300), 1e6)
        room = stats.norm.isf(0.2) * np.sqrt(squared)
        found = difference >= -special.stdtrit(df, alone / 2) * np.sqrt(squared) + room
        enough = found | (difference + special.stdtrit(df, 0.95) * np.sqrt(squared) + room < margin)
        moving = high - low > 1
        high, low = np.where(moving & enough, n, high), np.where(moving & ~enough, n, low)
    return np.where(high <= _MOST_SEEDS, high, 0).astype(np.int64)
