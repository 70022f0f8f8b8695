"""Arms crossed with seeds and with test examples: what each of the two adds to the error of a mean difference.

Analyses of variance of two-way tables with one value per cell, for unbalanced tables too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int, Num, Shaped
from scipy import special

from transferscope.errors import DataError

PRIOR_DF = 6.0
"""Most degrees of freedom that the mean variance of several arms lends to each (chosen by simulation)."""

MOST_KEPT = 1_000_000
"""Draws of more numbers than this are neither kept for the next call nor made all at once (8 MB)."""


@dataclass(frozen=True, slots=True)
class SeedPart:
    """What seeds add, by arm; see `seed_part`.

    Attributes:
        mean: Mean of every arm over the seeds it has, shape (K,); NaN without any.
        n_seeds: How many those are, shape (K,).
        variance: Variance of every arm over its seeds (n_seeds - 1 in the denominator), shape (K,); NaN below two.
        residual: Value minus the arm's level minus the seed's, shape (K, S); 0 where there is none.
        common: Variance of what a seed gives to all arms.
        own: Mean over the arms of the variance of what remains; with `common` it adds up to the mean variance.
        common_df: Degrees of freedom of `common`: the mean of n_seeds - 1; 0 where no arm has two seeds.
        separable: Whether the two parts can be told from each other: not with one arm, nor without overlap of seeds.
    """

    mean: Float[np.ndarray, " arms"]
    n_seeds: Int[np.ndarray, " arms"]
    variance: Float[np.ndarray, " arms"]
    residual: Float[np.ndarray, "arms seeds"]
    common: float
    own: float
    common_df: float
    separable: bool


def seed_part(values: Float[np.ndarray, "arms seeds"]) -> SeedPart:
    """Split the spread over seeds into a part that all arms share and a part of their own.

    With the K arms a_k and S seeds c_s of the additive model g_ks = a_k + c_s + r_ks by least squares,

        own = SS(r) / df(r) (K - 1) / K,   common = mean_k var_s(g_ks) - own

    where no value is missing: own = mean_k var_s(g_ks - c_s), common = var_s(c_s), with c_s = mean_k g_ks. An arm with
    one seed says nothing about spread and takes no part.

    Args:
        values: Of every arm and seed, shape (K, S); NaN where there is none.

    Returns:
        Means and variance components.
    """
    present = ~np.isnan(values)
    n = present.sum(axis=1)
    filled = np.where(present, values, 0.0)
    mean = np.where(n > 0, filled.sum(axis=1) / np.maximum(n, 1), np.nan)
    deviation = np.where(present, values - mean[:, None], 0.0)
    squares = (deviation**2).sum(axis=1)
    variance = np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)
    used = n > 1
    residual = np.zeros_like(filled)
    k = int(used.sum())
    if k == 0:
        return SeedPart(mean, n, variance, residual, 0.0, 0.0, 0.0, False)
    total = float(squares[used].sum() / (n[used] - 1).sum())
    common_df = float((n[used] - 1).mean())
    if k == 1:
        return SeedPart(mean, n, variance, residual, total, 0.0, common_df, False)
    residual[used], df = _additive_residual(values[used], present[used])
    if df == 0:
        return SeedPart(mean, n, variance, residual, 0.0, total, common_df, False)
    own = min(float((residual**2).sum()) / df * (k - 1) / k, total)
    return SeedPart(mean, n, variance, residual, total - own, own, common_df, True)


def _additive_residual(
    values: Float[np.ndarray, "arms seeds"], present: Bool[np.ndarray, "arms seeds"]
) -> tuple[Float[np.ndarray, "arms seeds"], int]:
    """Residuals of the additive model with their degrees of freedom."""
    k, s = values.shape
    if present.all():
        residual = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
        return residual, (k - 1) * (s - 1)
    arm, seed = np.nonzero(present)
    design = np.zeros((len(arm), k + s))
    design[np.arange(len(arm)), arm] = 1.0
    design[np.arange(len(arm)), k + seed] = 1.0
    found, _, rank, _ = np.linalg.lstsq(design, values[present], rcond=None)
    residual = np.zeros((k, s))
    residual[present] = values[present] - design @ found
    return residual, len(arm) - int(rank)


def prior_df(parts: Sequence[SeedPart]) -> float:
    """Degrees of freedom that the mean variance lends to every arm: fewer the more unequal the variances of arms are.

    Where the variances of arms scatter as d0 / chi2_{d0}, those estimated from S seeds have logarithms whose variance
    over the arms is trigamma((S - 1) / 2) + trigamma(d0 / 2) (Smyth 2004). d0 is solved from what is left when the
    first is taken off, and kept between 1 and PRIOR_DF.

    Args:
        parts: Of every size; those that cannot be separated say nothing.
    """
    excess, weight = 0.0, 0
    for part in parts:
        used = part.n_seeds > 1
        if not part.separable or part.own == 0:
            continue
        own = (part.residual[used] ** 2).sum(axis=1) / (part.n_seeds[used] - 1)
        logs = np.log(np.maximum(own, 1e-3 * own.mean()))
        free = int(used.sum()) - 1
        excess += free * float(logs.var(ddof=1) - special.polygamma(1, (part.n_seeds[used] - 1) / 2).mean())
        weight += free
    if weight == 0:
        return PRIOR_DF
    halves = np.linspace(PRIOR_DF / 2, 0.5, 500)
    return 2 * float(np.interp(excess / weight, special.polygamma(1, halves), halves))


@dataclass(frozen=True, slots=True)
class ExamplePart:
    """What the draw of the test examples adds, by arm; see `example_part`.

    Attributes:
        profiles: Share of every group of examples in the mean of every arm, shape (G, K), centred.
        interaction: Covariance of the means from what is particular to a seed on a group, shape (K, K): it is in the
            spread over seeds already.
        known: Of which arms the gains of any seed are known, shape (K,).
    """

    profiles: Float[np.ndarray, "groups arms"]
    interaction: Float[np.ndarray, "arms arms"]
    known: Bool[np.ndarray, " arms"]


def example_part(
    gains: Num[np.ndarray, "seeds arms examples"],
    present: Bool[np.ndarray, "arms seeds"],
    groups: Shaped[np.ndarray, " _"] | None = None,
) -> ExamplePart:
    """Split what test examples add into a part that all seeds share and a part of single seeds.

    With z_sgk the sum over the examples of group g of the gain less its mean over examples, divided by n,

        profiles m_gk = mean_s z_sgk,   interaction = G / (G - 1) sum_sg r_sgk r_sgl / ((S - 1) S),   r = z - m

    Every example is a group of its own without `groups`; then this is a two-way analysis of variance. Groups of unequal
    size enter as in cluster-robust variances.

    Args:
        gains: Score of every arm minus that of the control by seed and test example, shape (S, K, n), n >= 2.
        present: Which arm has which seed, shape (K, S); gains of others are not read. A seed of an arm whose first gain
            is NaN is taken as not known.
        groups: Group of every example, such as the patient or the house number; shape (n,).

    Returns:
        Both parts.

    Raises:
        DataError: There are fewer than two groups, `groups` has another length, or a gain that counts is not finite.
    """
    s, k, n = gains.shape
    if groups is not None and groups.shape != (n,):
        raise DataError(f"groups of shape {groups.shape} were given for {n} test examples")
    counts = present.T & ~np.isnan(gains[:, :, :1]).any(axis=2)  # (S, K)
    z = np.where(counts[:, :, None], gains, 0).astype(np.float64)
    if not np.isfinite(z).all():
        raise DataError("some gains on test examples are NaN or infinite where the scores are given; leave them out")
    z -= z.mean(axis=2, keepdims=True)
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        _, starts = np.unique(np.asarray(groups)[order], return_index=True)
        z = np.add.reduceat(z[:, :, order], starts, axis=2)
    n_groups = z.shape[2]
    if n_groups < 2:
        raise DataError(f"{n} test examples in {n_groups} group were given; their spread takes at least two groups")
    z /= n
    n_seeds = np.maximum(counts.sum(axis=0), 1)
    profiles = z.sum(axis=0) / n_seeds[:, None]  # (K, G)
    z = np.where(counts[:, :, None], z - profiles, 0.0)
    unit = np.sqrt(np.maximum(n_seeds - 1, 1) * n_seeds)
    flat = z.transpose(1, 0, 2).reshape(k, s * n_groups)
    interaction = flat @ flat.T / np.outer(unit, unit) * n_groups / (n_groups - 1)
    return ExamplePart(profiles.T, interaction, counts.any(axis=0))


def example_covariance(
    profiles: Float[np.ndarray, "groups arms"], interaction_variance: Float[np.ndarray, " arms"]
) -> Float[np.ndarray, "arms arms"]:
    """Covariance that the draw of the test examples adds to means over seeds, less what seeds already show.

    T = G / (G - 1) sum_g m_g m_g', scaled to the diagonal max(0, T_kk - I_kk), so that it stays positive semi-definite.

    Args:
        profiles: From `ExamplePart`; those of several sizes side by side share the examples.
        interaction_variance: Diagonal of `ExamplePart.interaction`, in the same order.
    """
    n_groups = len(profiles)
    shared = profiles.T @ profiles * n_groups / (n_groups - 1)
    diagonal = np.diag(shared)
    kept = np.maximum(diagonal - interaction_variance, 0.0)
    factor = np.sqrt(np.divide(kept, diagonal, out=np.zeros_like(kept), where=diagonal > 0))
    return np.asarray(shared * np.outer(factor, factor), dtype=np.float64)


def example_noise(
    covariance: Float[np.ndarray, "arms arms"], n_groups: int, n_draws: int, seed: int
) -> Iterator[tuple[slice, Float[np.ndarray, "_ arms"]]]:
    """Draws of what the test examples add: Student's t with this covariance and n_groups - 1 degrees of freedom.

    Yields:
        Which of the draws, and these, shape (part of n_draws, K): all at once, or where they are more than `MOST_KEPT`
        numbers one part after another. How they are divided moves the last digits alone.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    k, df = len(covariance), n_groups - 1
    if k * n_draws <= MOST_KEPT:
        yield slice(0, n_draws), _student(k, df, n_draws, seed) @ root.T
        return
    rows = max(MOST_KEPT // k, 1)
    parts = [slice(start, min(start + rows, n_draws)) for start in range(0, n_draws, rows)]
    after, again = np.random.default_rng((seed, 4)), np.random.default_rng((seed, 4))
    for part in parts:  # the scales come after all normal draws, which are made twice rather than kept
        after.standard_normal((part.stop - part.start, k))
    scale = np.sqrt(df / after.chisquare(df, size=(n_draws, 1)))
    for part in parts:
        yield part, (again.standard_normal((part.stop - part.start, k)) * scale[part]) @ root.T


@lru_cache(maxsize=4)
def _student(k: int, df: int, n_draws: int, seed: int) -> Float[np.ndarray, "draws arms"]:
    rng = np.random.default_rng((seed, 4))
    z = rng.standard_normal((n_draws, k))
    return np.asarray(z * np.sqrt(df / rng.chisquare(df, size=(n_draws, 1))), dtype=np.float64)
