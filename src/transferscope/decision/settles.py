"""Number of further seeds that would decide whether transfer helps, by simulation."""

import numpy as np
from jaxtyping import Bool, Float

from transferscope.decision.noise import Noise, moderated
from transferscope.decision.record import MoreSeeds, Scores
from transferscope.decision.standing import Standing
from transferscope.decision.whether import can_be_called, looks, pairs
from transferscope.decision.which import APART, shrunk

LEAST_CHANCE = 1 / 3
"""Least chance to decide whether transfer helps for which more seeds are advised."""

_MORE = (1, 2, 3, 4, 6, 8, 12)
_ENOUGH = 0.8
_FUTURES = 200
_IN_PLAY = 0.05


def what_settles(now: Standing, scores: Scores) -> MoreSeeds | None:
    """Return the fewest more seeds that decide whether transfer helps with 80 %, or the chance with the most of
    `_MORE`.

    True means and variances are drawn given the runs, then further runs are drawn, and each simulated study is decided
    by the same rule; arms with identical runs stay so except for seed effects. Seeds go to the arms that may still
    matter. None if it is decided, no arm has two seeds, all runs are alike, or an arm is unfinished or unstable.
    """
    noise = now.noise
    if now.outcome != "inconclusive" or now.why in ("unfinished", "unstable", "alike") or not (noise.df > 0).all():
        return None
    rng = np.random.default_rng(7)
    variance = np.where(noise.fixed, noise.raw, now.draws.variance[:_FUTURES])  # what seeds give to all others alone
    prior = now.draws.prior[:_FUTURES].copy()
    prior[::2] = APART  # arms of two kinds need not be alike: half of the futures do without a common centre
    truth = shrunk(noise.mean, variance / noise.n, prior, now.draws.centre, rng)  # on these test examples
    runs = truth[..., None] + np.sqrt(variance)[..., None] * rng.standard_normal((*truth.shape, _MORE[-1]))
    takes = _in_play(now, truth)
    best = (_MORE[-1], 0.0)
    for more in _MORE:
        chance = float(_is_decided(now, _after(noise, runs[..., :more], takes), takes, scores.test_units).mean())
        if chance > best[1]:
            best = more, chance
        if chance >= _ENOUGH:
            break
    seeds, chance = best
    arms = tuple(scores.arms[now.at[arm]] for arm in np.flatnonzero(takes))
    return MoreSeeds(arms, seeds, chance, _of_examples(now, seeds))


def _of_examples(now: Standing, more: int) -> float:
    """Return the share of test examples in the variance of the gain of the best arm, after more seeds."""
    if now.examples is None:
        return 0.0
    way, control = (kind[np.argmax(now.noise.mean[kind])] for kind in (now.ways, now.controls))
    over_seeds = (now.noise.variance / (now.noise.n + more))[[way, control]].sum() * now.noise.loss[way, control]
    examples = np.nan_to_num(now.examples[way, control])
    return float(examples / (examples + over_seeds))


def _in_play(now: Standing, truth: Float[np.ndarray, "futures arms"]) -> Bool[np.ndarray, " arms"]:
    takes = np.zeros(truth.shape[1], dtype=bool)
    for kind in (now.ways, now.controls):
        best = (truth[:, kind] == truth[:, kind].max(1, keepdims=True)).mean(0)
        takes[kind] = best > min(_IN_PLAY, best.max() / 2)  # of many that are alike none need be the best that often
    return takes


def _after(noise: Noise, runs: Float[np.ndarray, "futures arms more"], takes: Bool[np.ndarray, " arms"]) -> Noise:
    """Return the noise with these further runs included."""
    more = np.where(takes, float(runs.shape[-1]), 0.0)
    n, added = noise.n + more, runs.mean(axis=-1)
    mean = np.where(takes, (noise.n * noise.mean + more * added) / n, noise.mean)
    squares = noise.n * more / n * (added - noise.mean) ** 2 + ((runs - added[..., None]) ** 2).sum(axis=-1)
    raw = ((noise.n - 1) * noise.raw + np.where(takes, squares, 0.0)) / np.maximum(n - 1, 1)
    lost = np.sqrt((noise.n - 1)[~noise.unstable].sum() / np.maximum(noise.pool, 1e-9)).clip(1.0, 2.0)
    worst = np.where(takes, np.minimum(noise.worst, runs.min(axis=-1)), noise.worst)
    best = np.where(takes, np.maximum(noise.best, runs.max(axis=-1)), noise.best)
    count, fixed = (np.broadcast_to(one, mean.shape) for one in (n, noise.fixed))
    return moderated(mean, count, raw, lost, np.ones((mean.shape[1],) * 2), fixed=fixed, ends=(worst, best))


def _is_decided(
    now: Standing, future: Noise, takes: Bool[np.ndarray, " arms"], units: float
) -> Bool[np.ndarray, " futures"]:
    """Return whether a transfer arm is significantly better, or none gains more than the margin (`whether.gains`)."""
    ways, controls = now.ways[takes[now.ways]], now.controls[takes[now.controls]]
    beside = pairs(future, ways, controls, now.examples, units)
    later = None if now.planned is None else False  # the planned look is over, or holds for all arms alone
    divided, share = looks(future.n[..., ways, None], later, beside.of_examples), 1 - now.level
    able = can_be_called(future, ways, controls)
    better = able & ((beside.below(0.0) * divided).max(-1) < share / len(now.ways))
    none = able.any(-1) & ((beside.above(now.margin) * divided).max(-2).min(-1) < share / len(now.controls))
    return np.asarray(better.any(-1) | none)
