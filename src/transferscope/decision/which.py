"""Which arm to use: posterior draws of the true means, and the probability of a good selection."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from transferscope.decision.noise import Noise
from transferscope.decision.whether import LEAST_SEEDS, looks, pairs

SETTLED = 0.95
_ALIKE = 1.25
"""Factor up to which costs count as equal."""
DRAWS = 2000
_PRIOR_SD, _PRIOR_DF = 1.5, 2.0
"""Prior noise of a run, in `Scores.scale`, and its degrees of freedom, if fewer than three arms have two runs."""
_SPREAD, _NEAR = 2.0, 5.0
"""Half of the prior of the spread of true means lies below _SPREAD typical standard errors. Arms below the best by more
than the margin and _NEAR standard errors are not of one population with it."""
_OWN_CENTRE = 3
"""Number of arms of a kind from which it has its own centre."""
_FIXED = 0.01
"""Share of the largest standard error below which arms count as constant and do not inform the spread of means."""
APART = 1e300
"""Prior variance of a true mean that is independent of the others, in any unit."""
_SPREADS, _TAILS = 24, 2.0 / special.chdtri(2.0, 1 - (np.arange(6) + 0.5) / 6)
"""A grid for it, and Student's t with 2 degrees of freedom as a mixture of normal ones: their variances."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Posterior draws of the true means; arrays have shape (draws, A).

    Attributes:
        variance: Variance of a run over seeds.
        prior: Variance of the true mean around `centre` before any run.
        centre: Median of the means over seeds of arms that may be the best.
        added: Variance that the draw of the test examples, and seeds that other arms lack, add to each mean, shape
            (A,).
    """

    means: Float[np.ndarray, "draws arms"]
    variance: Float[np.ndarray, "draws arms"]
    prior: Float[np.ndarray, "draws arms"]
    centre: float
    added: Float[np.ndarray, " arms"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The recommended arm, with the chances and losses of all.

    Attributes:
        chance: Probability of being within the margin of the best, by arm.
        shortfall: Expected loss against the best arm, in points, by arm.
        at_most: Upper 90 % bound of the loss, by arm; at least the expected one.
        better: Probability of being better than the recommended arm by more than the margin, by arm.
    """

    arm: int
    chance: Float[np.ndarray, " arms"]
    shortfall: Float[np.ndarray, " arms"]
    at_most: Float[np.ndarray, " arms"]
    better: Float[np.ndarray, " arms"]


def draw_means(
    noise: Noise,
    examples: Float[np.ndarray, "arms arms"] | None,
    margin: float,
    count: int = DRAWS,
    *,
    kinds: Sequence[Int[np.ndarray, " _"]] = (),
    scale: float = 1.0,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Draws:
    """Return draws of the true means, given the runs, from which all chances, losses and gains are read.

    Half of the draws have one centre for all arms, half one for each kind, since transfer arms and baselines may
    differ; there, a kind of fewer than _OWN_CENTRE arms is not shrunk. With one run of each arm there is one centre.

    Args:
        examples: Variance that the draw of the test examples adds, by pair of arms; NaN if unknown.
        count: Number of draws; the same input gives the same draws.
        kinds: Positions of the arms of each kind; fewer than two for a single kind.
        scale: See `Scores`.
        bounds: See `Scores`; no mean, and so no loss, is drawn beyond them.
    """
    drawn = _draw_alike(noise, examples, margin, count, scale)
    means, rng = drawn.means.copy(), np.random.default_rng(11)
    for kind in kinds if len(kinds) > 1 else ():
        several = noise.n[kind] >= 2
        if len(kind) >= _OWN_CENTRE and several.any():
            part = None if examples is None else examples[np.ix_(kind, kind)]
            means[::2, kind] = _draw_alike(_of_kind(noise, kind), part, margin, count, scale).means[::2]
        elif several.all():
            error = drawn.variance[::2, kind] / noise.n[kind] + drawn.added[kind]
            means[::2, kind] = noise.mean[kind] + np.sqrt(error) * rng.standard_normal(error.shape)
    return replace(drawn, means=np.clip(means, *bounds))


def _of_kind(noise: Noise, kind: Int[np.ndarray, " kind"]) -> Noise:
    """Return the noise of a subset of arms."""
    of_arms = {one.name: getattr(noise, one.name)[kind] for one in fields(noise) if one.name not in ("pool", "loss")}
    return replace(noise, **of_arms, loss=noise.loss[np.ix_(kind, kind)])


def _draw_alike(
    noise: Noise, examples: Float[np.ndarray, "arms arms"] | None, margin: float, count: int, scale: float
) -> Draws:
    """Return draws of the true means of arms of one kind.

        y_a ~ N(theta_a, V_a / n_a),  theta_a ~ centre + tau t_2,  tau ~ half-Cauchy,  V_a = v_a df_a / chi2_df_a

    Means that differ by no more than their errors are shrunk towards each other. Centre (the median) and tau are those
    of the arms that may be the best; the others lie far below, and are drawn with their own distance as the spread.
    The likelihood of tau counts one arm fewer than there are, since the centre is estimated from them.
    The variance of pairs beyond v_a / n_a + v_b / n_b, from test examples and unshared seeds, is split by arm.
    """
    k = len(noise.mean)
    variance, df = noise.variance, noise.df
    several = noise.lends
    if several.sum() < 3 or not variance.any():  # the arms lend each other nothing, or do not vary
        own = np.where(noise.n >= 2, noise.n - 1, 0.0)
        d = np.where(noise.n >= 2, own, own[several].sum())
        squares = np.where(noise.n >= 2, own * noise.raw, (own * noise.raw)[several].sum())
        variance, df = (squares + _PRIOR_DF * (_PRIOR_SD * scale) ** 2) / (d + _PRIOR_DF), d + _PRIOR_DF
    of_seeds = variance / noise.n
    between = np.zeros((k, k)) if examples is None else np.nan_to_num(examples)
    between = between + (noise.loss - 1) * (of_seeds[:, None] + of_seeds)  # what arms add to each other's error
    added = _by_arm(noise.mean, np.sqrt(of_seeds), between) if between.any() else np.zeros(k)
    stderr = np.sqrt(of_seeds + added)
    rng = np.random.default_rng(5)
    drawn = variance * df / rng.chisquare(df, (count, k))
    best = int(noise.mean.argmax())
    near = noise.mean >= noise.mean[best] - margin - _NEAR * np.hypot(stderr, stderr[best])
    centre = float(np.median(noise.mean[near]))
    off = noise.mean - centre
    typical = np.median(stderr[stderr > _FIXED * stderr.max()])
    tau = _SPREAD * typical * np.tan(np.pi / 2 * (np.arange(_SPREADS) + 0.5) / _SPREADS)
    spread = tau[:, None] ** 2 * _TAILS
    marginal = spread[:, None] + (of_seeds * df / np.maximum(df - 2, 1) + added)[:, None]
    density = np.exp(-0.5 * off[:, None] ** 2 / marginal) / np.sqrt(marginal) + 1e-300
    weight = np.log(density.mean(axis=2))[:, near].mean(axis=1) * (near.sum() - 1)
    weight = np.exp(weight - weight.max()).cumsum()
    at = np.searchsorted(weight, weight[-1] * rng.random(count), side="right").clip(max=_SPREADS - 1)
    shares = density.cumsum(axis=2)
    shares = (shares / shares[:, :, -1:])[at]
    tail = (shares[:, :, :-1] < rng.random((count, k, 1))).sum(axis=2)
    prior = np.where(near, spread[at[:, None], tail], off**2)
    means = shrunk(noise.mean, drawn / noise.n + added, prior, centre, rng)
    return Draws(means, drawn, prior, centre, added)


def _by_arm(
    mean: Float[np.ndarray, " arms"], stderr: Float[np.ndarray, " arms"], between: Float[np.ndarray, "arms arms"]
) -> Float[np.ndarray, " arms"]:
    """Return variances r with r_a + r_b close to those of pairs, by least squares weighted towards the best arms."""
    k = len(mean)
    if k < 3:
        return np.asarray(between.sum(axis=0) / 2, dtype=np.float64)
    best = int(mean.argmax())
    weight = special.ndtr((mean - mean[best]) / np.sqrt(stderr**2 + stderr[best] ** 2))
    weight = 0.9 * weight / weight.sum() + 0.1 / k
    solved = np.linalg.solve(np.diag(1 - 2 * weight) + weight, between @ weight)
    return np.asarray(np.maximum(solved, 0.0), dtype=np.float64)


def shrunk(
    mean: Float[np.ndarray, "*_ arms"],
    error: Float[np.ndarray, "*draws arms"],
    prior: Float[np.ndarray, "*_ arms"],
    centre: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "*draws arms"]:
    """Draw true means with this prior variance around the centre, given means with these variances."""
    kept = prior / (prior + error)
    drawn = centre + kept * (mean - centre) + np.sqrt(kept * error) * rng.standard_normal(error.shape)
    return np.asarray(drawn, dtype=np.float64)


def select(
    means: Float[np.ndarray, "draws arms"],
    cost: Float[np.ndarray, " arms"],
    margin: float,
    allowed: Bool[np.ndarray, " arms"],
    first: Bool[np.ndarray, " arms"] | None = None,
    worth: float | None = None,
) -> Selection:
    """Select the cheapest arm whose expected shortfall is at most half a margin, or a quarter above the smallest.

    Args:
        cost: Cost of a run; arms of unknown cost come last.
        allowed: Arms that may be recommended; at least one.
        first: Arms preferred to others of similar cost (to all others if no cost is known); None for none.
        worth: Value of a point in the unit of costs: selects the arm of known cost with the smallest expected loss,
            cost included. None to select by the margin.
    """
    short = means.max(axis=1, keepdims=True) - means
    shortfall = short.mean(axis=0)
    among = np.where(allowed, shortfall, np.inf)
    near = np.flatnonzero(among <= max(margin / 2, 1.25 * among.min()))
    of_near = np.nan_to_num(cost[near], nan=np.inf)
    later = np.zeros(len(near), dtype=bool) if first is None else ~first[near]
    arm = int(near[np.lexsort((shortfall[near], of_near, later, of_near > _ALIKE * of_near.min()))[0]])
    if worth is not None:
        loss = np.where(allowed, shortfall * worth + cost, np.nan)
        arm = arm if np.isnan(loss).all() else int(np.nanargmin(loss))
    better = (means > means[:, [arm]] + margin).mean(axis=0)
    at_most = np.maximum(np.quantile(short, 0.9, axis=0), shortfall)  # a heavy tail can have its mean beyond
    return Selection(arm, (short <= margin).mean(axis=0), shortfall, at_most, better)


def shown_worse(
    noise: Noise, examples: Float[np.ndarray, "arms arms"] | None, margin: float, share: float, units: float
) -> Bool[np.ndarray, " arms"]:
    """Return which arms are significantly worse than some stable arm by more than the margin.

    Args:
        share: One-sided error of each comparison, over all looks.
        units: Number of test examples, or of their groups.
    """
    every = np.arange(len(noise.mean))
    beside = pairs(noise, every, every, examples, units)
    shown = beside.below(margin) * looks(noise.n[:, None], shared=beside.of_examples) < share
    able = (noise.n >= LEAST_SEEDS) & ~noise.unstable
    return np.asarray((shown & able[:, None]).any(axis=0))
