"""What would decide an inconclusive question: more seeds, simulated from what is known."""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from transferscope.decision.noise import Noise, moderated
from transferscope.decision.record import Scores, Settles
from transferscope.decision.standing import Standing
from transferscope.decision.whether import can_be_called, looks, pairs
from transferscope.decision.which import APART, SETTLED, shrunk

_MORE = (1, 2, 3, 4, 6, 8, 12)
_ENOUGH = 0.8
_FUTURES, _DRAWS = 200, 200
_IN_PLAY = 0.05


def what_settles(now: Standing, scores: Scores) -> Settles | None:
    """Return the fewest more seeds that decide the first inconclusive question with 80 %, or the chance with the most
    of `_MORE`.

    True means and variances are drawn as the runs leave them, then the seeds, and each future is read by the same rule.
    Seeds are for the arms that may still matter. None where nothing is open, where no arm has two seeds, or where more
    seeds do not help: an arm that could still rise or an unstable one is in the way.
    """
    noise = now.noise
    whether = now.outcome == "inconclusive"
    if not (noise.df > 0).all() or (whether and now.why in ("unfinished", "unstable")):
        return None
    if not whether and now.selection.chance[now.selection.arm] >= SETTLED:
        return None
    rng = np.random.default_rng(7)
    draws = now.draws
    variance = draws.variance[:_FUTURES]
    prior = draws.prior[:_FUTURES].copy()
    prior[::2] = APART  # arms of two kinds need not be alike: half of the futures do without a common centre
    truth = shrunk(noise.mean, variance / noise.n, prior, draws.centre, rng)  # on these test examples
    takes = _in_play(now, truth) if whether else (truth >= truth.max(1, keepdims=True) - now.margin).mean(0) > _IN_PLAY
    takes[now.selection.arm] |= not whether
    best = (0, 0.0)
    for more in _MORE:
        future = _after(noise, truth, variance, np.where(takes, float(more), 0.0), rng)
        done = _whether(now, future, takes) if whether else _which(now, future, takes, scores.cost[now.at], rng)
        chance = float(done.mean())
        if chance > best[1]:
            best = more, chance
        if chance >= _ENOUGH:
            break
    if best[1] == 0:
        return None
    question: Literal["whether", "which"] = "whether" if whether else "which"
    return Settles(question, tuple(scores.arms[now.at[arm]] for arm in np.flatnonzero(takes)), *best)


def _in_play(now: Standing, truth: Float[np.ndarray, "futures arms"]) -> Bool[np.ndarray, " arms"]:
    takes = np.zeros(truth.shape[1], dtype=bool)
    for kind in (now.ways, now.controls):
        best = (truth[:, kind] == truth[:, kind].max(1, keepdims=True)).mean(0)
        takes[kind] = best > min(_IN_PLAY, best.max() / 2)  # of many that are alike none need be the best that often
    return takes


def _after(
    noise: Noise,
    truth: Float[np.ndarray, "futures arms"],
    variance: Float[np.ndarray, "futures arms"],
    more: Float[np.ndarray, " arms"],
    rng: np.random.Generator,
) -> Noise:
    n = noise.n + more
    added = truth + rng.standard_normal(truth.shape) * np.sqrt(variance / np.maximum(more, 1))
    mean = (noise.n * noise.mean + more * added) / n
    squares = (noise.n - 1) * noise.raw + np.where(more > 0, noise.n * more / n * (added - noise.mean) ** 2, 0.0)
    squares = squares + variance * rng.chisquare(np.maximum(more - 1, 1e-9), truth.shape)
    raw = squares / np.maximum(n - 1, 1)
    lost = np.sqrt((noise.n - 1)[~noise.unstable].sum() / np.maximum(noise.pool, 1e-9)).clip(1.0, 2.0)
    return moderated(mean, np.broadcast_to(n, truth.shape), raw, lost, np.ones((truth.shape[1],) * 2))


def _whether(now: Standing, future: Noise, takes: Bool[np.ndarray, " arms"]) -> Bool[np.ndarray, " futures"]:
    """Return whether a transfer arm is significantly better, or none gains more than the margin (`whether.gains`)."""
    ways, controls = now.ways[takes[now.ways]], now.controls[takes[now.controls]]
    beside = pairs(future, ways, controls, now.examples)
    later = None if now.planned is None else False  # the planned look is over, or holds for all arms alone
    divided, share = looks(future.n[..., ways], later)[..., None], 1 - now.level
    able = can_be_called(future, ways, controls)
    better = able & ((beside.below(0.0) * divided).max(-1) < share / len(now.ways))
    none = able.any(-1) & ((beside.above(now.margin) * divided).max(-2).min(-1) < share / len(now.controls))
    return np.asarray(better.any(-1) | none)


def _which(
    now: Standing,
    future: Noise,
    takes: Bool[np.ndarray, " arms"],
    cost: Float[np.ndarray, " arms"],
    rng: np.random.Generator,
) -> Bool[np.ndarray, " futures"]:
    """Return whether the arm that `which.select` recommends is decided, given the current spread of true means."""
    draws, mean, df = now.draws, future.mean[:, takes], future.df[:, takes]
    error = future.variance[:, takes] / future.n[:, takes] * df / rng.chisquare(df, (_DRAWS, *df.shape))
    error = error + draws.added[takes]
    drawn = shrunk(mean, error, draws.prior[-_DRAWS:, None, takes], draws.centre, rng)
    short = drawn.max(-1, keepdims=True) - drawn
    chance, shortfall = (short <= now.margin).mean(0), short.mean(0)
    loses_little = shortfall <= np.maximum(now.margin / 2, 1.25 * shortfall.min(-1, keepdims=True))
    arm = np.where(loses_little, np.nan_to_num(cost[takes], nan=1e300), np.inf).argmin(-1)
    return np.asarray(np.take_along_axis(chance, arm[:, None], axis=1)[:, 0] >= SETTLED)
