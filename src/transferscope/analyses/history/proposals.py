r"""What to try next on a new task from scores of other tasks: a low-rank model around the mean of each arm.

Scores of every known task are standardised over its arms, so that tasks of another difficulty or measure can be read
together; more is better. Of the new task a few arms are known (the probes), whose scale is taken from them and from the
median spread of the known tasks. Tasks are draws of a normal distribution over arms, around their means over the known
tasks, whose covariance has few directions (Tipping and Bishop 1999); what the probes say of the others is its
conditional distribution. The next arm is the one with the highest expected improvement on the best probe (Jones et al.
1998).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

RANK = 2
LEAST_SPREAD = 0.15
"""Least standard deviation of an arm on a new task around what the low-rank directions say, in standardised scores."""
PASSES = 30
UNKNOWN_LEVEL = 3.0
"""Standard deviation of the level of a new task around its probes, in standardised scores: next to unknown."""


@dataclass(frozen=True)
class Prediction:
    """What is expected of every arm on the new task, in the unit of its scores.

    Attributes:
        mean: Shape (A,).
        sd: Shape (A,); 0 for a probe.
        improvement: Expected improvement on the best probe, shape (A,); 0 for probes.
    """

    mean: Float[np.ndarray, " A"]
    sd: Float[np.ndarray, " A"]
    improvement: Float[np.ndarray, " A"]

    @property
    def order(self) -> list[int]:
        """Arms by improvement, the best first; of equal ones, those with the higher mean."""
        return sorted(range(len(self.mean)), key=lambda arm: (-self.improvement[arm], -self.mean[arm]))


def standardised(scores: Float[np.ndarray, "T A"]) -> Float[np.ndarray, "T A"]:
    """Scores of each task minus their mean, over their standard deviation; NaN stays."""
    centred = scores - np.nanmean(scores, axis=1, keepdims=True)
    spread = np.nanstd(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def predict(scores: Float[np.ndarray, "T A"], probes: Mapping[int, float]) -> Prediction:
    """What is expected of every arm on the new task.

    Args:
        scores: Of known tasks, more is better, NaN where an arm was not tried; at least one task with two arms.

    Returns:
        The prediction. Without probes its unit is that of standardised scores, and all improvements follow the mean.
    """
    z = standardised(scores)
    known = np.isfinite(z).sum(axis=0)
    mean = np.nansum(z, axis=0) / (known + 0.5)  # towards 0, the mean of all arms
    places = np.array(sorted(probes), dtype=int)
    values = np.array([probes[place] for place in places])
    spread = float(np.median(np.nanstd(scores, axis=1)))
    if len(values) > 1:  # as if two more arms with the usual spread had been seen
        spread = float(np.sqrt((2 * spread**2 + ((values - values.mean()) ** 2).sum()) / (1 + len(values))))
    spread = max(spread, 1e-12)
    centre = float(np.mean(values - spread * mean[places])) if len(values) else 0.0
    seen = (values - centre) / spread - mean[places]
    shift, sd = _low_rank(np.where(np.isfinite(z), z - mean, 0.0), np.isfinite(z), places, seen)
    expected, sd = centre + spread * (mean + shift), spread * sd
    expected[places], sd[places] = values, 0.0
    if not len(values):
        return Prediction(mean + shift, sd / spread, np.exp(mean + shift))
    best = values.max()
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (expected - best) / sd
        density = np.exp(-np.square(u) / 2) / np.sqrt(2 * np.pi)
        improvement = np.where(sd > 0, (expected - best) * special.ndtr(u) + sd * density, 0.0)
    return Prediction(expected, sd, np.nan_to_num(improvement))


def _low_rank(
    left: Float[np.ndarray, "T A"],
    known: Bool[np.ndarray, "T A"],
    places: Int[np.ndarray, " P"],
    seen: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"]]:
    """Conditional mean and standard deviation of all arms, of a covariance with RANK directions and a rest by arm."""
    filled = left.copy()
    rank = min(RANK, len(left) - 1)
    for _ in range(PASSES if rank and not known.all() else 1):
        u, s, v = np.linalg.svd(filled, full_matrices=False)
        smooth = (u[:, :rank] * s[:rank]) @ v[:rank]
        filled = np.where(known, left, smooth)
    basis = v[:rank].T * s[:rank] / np.sqrt(len(left))  # (A, rank)
    rest = np.where(known, left - smooth, 0.0)
    degrees = np.maximum(known.sum(axis=0) - rank - 1, 1)  # what the mean and the directions leave
    noise = np.maximum((rest**2).sum(axis=0) / degrees, LEAST_SPREAD**2)
    noise = (degrees * noise + 2 * np.median(noise)) / (degrees + 2)
    covariance = basis @ basis.T + np.diag(noise)
    if not len(places):
        return np.zeros(len(noise)), np.sqrt(np.diag(covariance))
    covariance = covariance + UNKNOWN_LEVEL**2  # how high the task is, which the probes have to tell
    gain = np.linalg.solve(covariance[np.ix_(places, places)], covariance[places]).T  # (A, P)
    variance = np.diag(covariance) - np.einsum("ap,pa->a", gain, covariance[places])
    variance += noise / np.maximum(known.sum(axis=0), 1)
    return gain @ seen, np.sqrt(np.maximum(variance, 0.0)) * _for_few(len(left))


def _for_few(n_tasks: int) -> float:
    """How much wider what is expected has to be when few tasks were known; from simulated tasks."""
    return float(np.sqrt(1 + 6 / max(n_tasks - 1, 1)))
