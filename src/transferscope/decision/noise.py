"""Variance of each arm over seeds: robust against a single bad arm, moderated by the other arms.

Functions take any number of leading axes, so that many studies are read at once.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

_UNSTABLE, _WITH_FEW = 8.0, 16.0
"""An arm with _UNSTABLE + _WITH_FEW / (n - 1) times the typical variance is unstable."""

_MOST_DF, _EXCESS, _EXCESS_ARMS = 20.0, 2.0, 6
"""Largest prior degrees of freedom; variance of log variances of arms beyond chance, and its weight as a number of arms
of three seeds (less with more seeds)."""

_HALF_DF = np.geomspace(_MOST_DF / 2, 0.5, 400)
_TRIGAMMA = special.polygamma(1, _HALF_DF)
_SEEDS = np.maximum(np.arange(1000), 1.0)
_MEDIAN_CHI2 = special.chdtri(_SEEDS, 0.5) / _SEEDS
_LOG_VARIANCE = special.polygamma(1, _SEEDS / 2)
"""By degrees of freedom: median of chi2 divided by them, and variance of log chi2."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Means of arms and their noise, by arm; all arrays have the shape (..., A).

    Attributes:
        mean: Mean over seeds, adjusted for seed effects; NaN without a run.
        n: Runs that count, as floating-point numbers.
        raw: Variance over seeds of the arm alone, adjusted for seed effects; 0 below two runs.
        variance: Moderated variance; NaN if unknown.
        df: Degrees of freedom of `variance`; 0 if unknown.
        unstable: Whether the residuals of the arm vary so much more than those of the others that its variance is not
            moderated.
        erratic: Whether it is unstable and its scores also vary more than those of the median arm. When two arms move
            together, their shared part is taken for a seed effect and appears as residuals of quiet arms, which are not
            erratic.
        lends: Whether the arm contributes to the variance of others: it has two runs, and is neither fixed nor
            unstable.
        fixed: Whether it has three identical runs while those of another arm differ.
        worst: Lowest run, adjusted for seed effects; minus infinity if unknown.
        best: Highest run, adjusted for seed effects; infinity if unknown.
        pool: Degrees of freedom of the variances of all stable arms together, shape (..., 1).
        loss: Variance of the difference of two means over v_a / n_a + v_b / n_b, shape (..., A, A): above 1 for arms
            with different seeds, whose effects are estimated from few arms.
    """

    mean: Float[np.ndarray, "*studies arms"]
    n: Float[np.ndarray, "*studies arms"]
    raw: Float[np.ndarray, "*studies arms"]
    variance: Float[np.ndarray, "*studies arms"]
    df: Float[np.ndarray, "*studies arms"]
    unstable: Bool[np.ndarray, "*studies arms"]
    erratic: Bool[np.ndarray, "*studies arms"]
    lends: Bool[np.ndarray, "*studies arms"]
    fixed: Bool[np.ndarray, "*studies arms"]
    worst: Float[np.ndarray, "*studies arms"]
    best: Float[np.ndarray, "*studies arms"]
    pool: Float[np.ndarray, "*studies 1"]
    loss: Float[np.ndarray, "*#studies arms arms"]


def noise(
    values: Float[np.ndarray, "*studies arms seeds"], clusters: Int[np.ndarray, " arms"], *, resolution: float = 0.0
) -> Noise:
    """Return means and variances of arms over seeds.

    With the arm's mean a and the seed's effect b_s, the median over the G_s clusters that have the seed of the
    cluster's median of y - a,

        raw_a = sum_s f_s (y_as - a - b_s)^2 / (S_a - 1),   f_s = G_s / (G_s - 1)

    so that two arms alone have the variance of their differences. If all arms with a seed belong to one cluster, each
    arm counts as a cluster; if fewer than two arms with two runs have it, b_s = 0 and f_s = 1. A run with a seed that
    no other arm has is ignored if its arm has two other runs. Arms with identical runs (deterministic methods) do not
    contribute to the variance of others.

    Args:
        values: Scores in points, shape (..., A, S); NaN without a run.
        clusters: Cluster of each arm, shape (A,); dependent arms share a number.
        resolution: Smallest difference that scores can show; variances are at least a quarter of its square.
    """
    there = ~np.isnan(values)
    alone = there & (there.sum(-2, keepdims=True) == 1)
    there = there & ~(alone & ((there & ~alone).sum(-1, keepdims=True) >= 2))
    n = there.sum(-1).astype(float)
    several = n >= 2
    used = there & several[..., None]
    groups = [np.flatnonzero(clusters == label) for label in np.unique(clusters)]
    count = sum(used[..., group, :].any(-2).astype(float) for group in groups)  # (..., S)
    within = np.asarray(count < 2)
    count = np.where(within, used.sum(-2), count)
    factor = np.where(count >= 2, count / np.maximum(count - 1, 1), 1.0)
    seeds = np.zeros(count.shape)
    mean = _mean(values, there)
    loss = np.ones((values.shape[-2],) * 2)
    if not there.all():  # from least squares, so that seeds that arms lack do not matter however large their effects
        shared = there & (used.sum(-2) >= 2)[..., None, :]
        share = shared / np.maximum(n, 1)[..., None]
        normal = shared.sum(-2)[..., None] * np.eye(there.shape[-1]) - np.swapaxes(shared, -1, -2) @ share
        off = np.where(shared, values - mean[..., None], 0.0).sum(-2)
        seeds = (np.linalg.pinv(normal, hermitian=True) @ off[..., None])[..., 0]
        mean = _mean(values - seeds[..., None, :], there)
        loss = _loss(there, shared)
    for _ in range(1 if there.all() else 8):
        rest = np.where(used, values - seeds[..., None, :] - mean[..., None], np.nan)
        step = _median(np.stack([_median(rest[..., group, :]) for group in groups], axis=-2))
        if within.any():
            step = np.where(within, _median(rest), step)
        step = np.where(count >= 2, step, 0.0)
        middle = step.sum(-1, keepdims=True) / np.maximum((count >= 2).sum(-1, keepdims=True), 1)
        seeds = np.where(count >= 2, seeds + step - middle, seeds)
        mean = _mean(values - seeds[..., None, :], there)
    rest = np.where(there, values - seeds[..., None, :] - mean[..., None], 0.0)
    raw = (factor[..., None, :] * rest**2).sum(-1) / np.maximum(n - 1, 1)
    rounding = 1e-9 * np.abs(np.where(there, values, 0.0)).max(axis=(-2, -1), initial=1e-300)[..., None]
    raw = np.where(several, np.maximum(raw, np.maximum(0.25 * resolution**2, rounding**2)), 0.0)
    runs = used.sum(-2)
    lost = (factor * runs).sum(-1, keepdims=True) / np.maximum(runs.sum(-1, keepdims=True), 1)
    less = values - seeds[..., None, :]
    low, high = (np.where(there, values, end) for end in (np.inf, -np.inf))
    own = np.where(there, values - _mean(values, there)[..., None], 0.0)
    return moderated(
        mean,
        n,
        raw,
        np.maximum(lost, 1.0),
        loss,
        plain=np.where(several, (own**2).sum(-1) / np.maximum(n - 1, 1), np.nan),
        fixed=(n >= 3) & (low.min(-1) == high.max(-1)),
        ends=(np.where(there, less, np.inf).min(-1), np.where(there, less, -np.inf).max(-1)),
    )


def moderated(
    mean: Float[np.ndarray, "*studies arms"],
    n: Float[np.ndarray, "*studies arms"],
    raw: Float[np.ndarray, "*studies arms"],
    factor: Float[np.ndarray, "*_ 1"],
    loss: Float[np.ndarray, "*_ arms arms"],
    *,
    plain: Float[np.ndarray, "*studies arms"] | None = None,
    fixed: Bool[np.ndarray, "*studies arms"] | None = None,
    ends: tuple[Float[np.ndarray, "*studies arms"], Float[np.ndarray, "*studies arms"]] | None = None,
) -> Noise:
    """Return the variances shrunk towards those of the other arms (Smyth 2004, limma), except for unstable ones.

        v = (d raw + d0 s0) / (d + d0),   d = n - 1,   s0 = weighted mean of raw over the stable arms

    d0 comes from the scatter of log raw beyond that of chi2_d; the degrees of freedom of v are d + d0, and at most
    those of all arms together, less for the seeds' effects. With fewer than three stable arms of two runs, variances
    are not moderated. An arm with one run has d = 0 and takes the variance of the others.

    Args:
        raw: Variances over seeds; ignored if n is below 2.
        factor: Mean of f_s in `noise`, the correction for estimated seed effects; at least 1.
        plain: Variances of the scores themselves, NaN below two runs; None for `raw`.
        fixed: Arms with three or more identical runs, which do not contribute while others vary. None for none.
        ends: The worst and the best run of each arm; None if unknown.
    """
    several = n >= 2
    fixed = np.zeros(several.shape, dtype=bool) if fixed is None else fixed & (several & ~fixed).any(-1, keepdims=True)
    varies = several & ~fixed
    d = np.where(several, n - 1, 0.0)
    at = np.minimum(d, len(_SEEDS) - 1).astype(int)
    typical = _median(np.where(varies, raw / _MEDIAN_CHI2[at], np.nan)[..., None])
    unstable = several & (raw > (_UNSTABLE + _WITH_FEW / np.maximum(d, 1.0)) * typical)
    middle = _median(np.where(varies, raw if plain is None else plain, np.nan)[..., None])
    erratic = unstable & ((raw if plain is None else plain) > middle)
    worst, best = (np.full(raw.shape, end) for end in (-np.inf, np.inf)) if ends is None else ends
    stable = varies & ~unstable
    weight = np.where(stable, d, 0.0)
    k, pool = stable.sum(-1, keepdims=True), weight.sum(-1, keepdims=True)
    common = (weight * raw).sum(-1, keepdims=True) / np.maximum(pool, 1)
    level = np.where(stable, raw, 0.0).sum(-1, keepdims=True) / np.maximum(k, 1)
    logs = np.log(np.maximum(raw, np.maximum(1e-3 * level, 1e-300)))
    centre = np.where(stable, logs, 0.0).sum(-1, keepdims=True) / np.maximum(k, 1)
    free = np.maximum(k - 1, 1)
    scatter = np.where(stable, (logs - centre) ** 2, 0.0).sum(-1, keepdims=True) / free
    by_chance = np.where(stable, _LOG_VARIANCE[at], 0.0).sum(-1, keepdims=True) / np.maximum(k, 1)
    weight_of_prior = _EXCESS_ARMS * by_chance / _LOG_VARIANCE[2]
    excess = free * np.maximum(scatter - by_chance, 0.0) + weight_of_prior * _EXCESS
    excess = excess / (free + weight_of_prior)
    prior = np.where(k >= 3, 2 * np.interp(excess, _TRIGAMMA, _HALF_DF), 0.0)
    lent = np.where(unstable, 0.0, prior)
    total = d + lent
    variance = np.divide(d * raw + lent * common, total, out=np.full_like(total, np.nan), where=total > 0)
    pool = pool / factor**2
    df = np.where(unstable, d, np.maximum(np.minimum(total, pool), d))
    df = np.where(total > 0, df, 0.0)
    return Noise(mean, n, raw, variance, df, unstable, erratic, stable, fixed, worst, best, pool, loss)


def _loss(
    there: Bool[np.ndarray, "*studies arms seeds"], shared: Bool[np.ndarray, "*studies arms seeds"]
) -> Float[np.ndarray, "*studies arms arms"]:
    """Compute `Noise.loss` by least squares of arm plus seed with equal weights; seeds that are not shared have no
    effect."""
    arms = shared.sum(-2)
    alone = (there & ~shared).sum(-1, keepdims=True)
    n = np.maximum(there.sum(-1), 1)
    known = n[..., None] * np.eye(n.shape[-1]) - (shared / np.maximum(arms, 1)[..., None, :]) @ np.swapaxes(
        shared, -1, -2
    )
    known = known - alone @ np.swapaxes(alone, -1, -2) / np.maximum(alone.sum(-2, keepdims=True), 1)
    covariance = np.linalg.inv(known + 1e-6 * np.eye(n.shape[-1]))
    diagonal = np.diagonal(covariance, axis1=-2, axis2=-1)
    between = diagonal[..., None] + diagonal[..., None, :] - 2 * covariance
    return np.asarray(np.maximum(between / (1 / n[..., None] + 1 / n[..., None, :]), 1.0), dtype=np.float64)


def _mean(
    values: Float[np.ndarray, "*studies arms seeds"], there: Bool[np.ndarray, "*studies arms seeds"]
) -> Float[np.ndarray, "*studies arms"]:
    n = there.sum(-1)
    return np.where(n > 0, np.where(there, values, 0.0).sum(-1) / np.maximum(n, 1), np.nan)


def _median(values: Float[np.ndarray, "*studies arms _"]) -> Float[np.ndarray, "*studies _"]:
    """Return the median over the axis before the last, ignoring NaN; NaN if all are NaN."""
    ordered = np.sort(values, axis=-2)
    n = (~np.isnan(values)).sum(-2, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(n - 1, 0) // 2, axis=-2)
    high = np.take_along_axis(ordered, np.minimum(n // 2, values.shape[-2] - 1), axis=-2)
    return np.asarray(((low + high) / 2)[..., 0, :], dtype=np.float64)
