"""What is to be expected of transfer: the chances that it helps or harms, and the gain after the choice of the arm."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from transferscope.decision.noise import Noise
from transferscope.decision.record import Expected
from transferscope.decision.which import Draws, draw_means

_SURE = 0.9
_OWN_CENTRE = 3
"""A kind of so many arms has a centre of its own."""


def expect(
    noise: Noise,
    draws: Draws,
    ways: Int[np.ndarray, " ways"],
    controls: Int[np.ndarray, " controls"],
    best: int,
    examples: Float[np.ndarray, "arms arms"] | None,
    margin: float,
    scale: float,
) -> Expected:
    """Return the chances that the best transfer arm is ahead of the best baseline, and the gain of one arm.

    Half of the draws have one centre for all arms, half have a centre for each kind, since transfer arms and baselines
    need not be alike. The largest of several means is too high; the draws are shrunk, and so is the gain.

    Args:
        best: The arm whose gain is returned.
        scale: See `Scores`.
    """
    means, rng = draws.means.copy(), np.random.default_rng(11)
    for kind in (ways, controls):
        if len(kind) >= _OWN_CENTRE:
            means[::2, kind] = _of_kind(noise, kind, examples, margin, len(means), scale)[::2]
        else:
            error = draws.variance[::2, kind] / noise.n[kind] + draws.added[kind]
            means[::2, kind] = noise.mean[kind] + np.sqrt(error) * rng.standard_normal(error.shape)
    without = means[:, controls].max(axis=1)
    ahead, own = means[:, ways].max(axis=1) - without, means[:, best] - without
    low, middle, high = np.quantile(own, [(1 - _SURE) / 2, 0.5, (1 + _SURE) / 2])
    helps, harms = float((ahead > margin).mean()), float((ahead < -margin).mean())
    return Expected(helps, 1.0 - helps - harms, harms, float(middle), float(low), float(high))


def _of_kind(
    noise: Noise,
    kind: Int[np.ndarray, " kind"],
    examples: Float[np.ndarray, "arms arms"] | None,
    margin: float,
    count: int,
    scale: float,
) -> Float[np.ndarray, "draws kind"]:
    """Return draws of the means of one kind of arms, as if there were no others."""
    names = ("mean", "n", "raw", "variance", "df", "unstable", "erratic", "lends", "worst", "best")
    own = {name: getattr(noise, name)[kind] for name in names}
    part = replace(noise, **own, loss=noise.loss[np.ix_(kind, kind)])
    return draw_means(
        part, None if examples is None else examples[np.ix_(kind, kind)], margin, count, scale=scale
    ).means
