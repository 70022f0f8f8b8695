r"""The next arm to try on a new task, from scores on other tasks: a cover of similar tasks, then a low-rank model.

Scores of every known task are standardised over its arms, so that tasks of different difficulty or metric are
comparable; more is better. Arms that together are good on the known tasks come first (a greedy cover): the next is the
one that most raises the best score so far, in the mean over the known tasks, each with the weight

    w_t \propto \exp(4 (1 - 2 / P) r_t),

r_t the correlation of its scores with those of the P arms that were tried on the new task (the probes). After
COVER_RUNS probes the cover and a model alternate, since with many known tasks the cover takes dozens of runs. The model
names the arm with the highest expected improvement on the best probe (Jones et al. 1998): tasks are draws of a normal
distribution over arms, around their means over the known tasks, whose covariance has few directions (Tipping and Bishop
1999); predictions are its conditional distribution given the probes. The scale of the new task is estimated from the
probes and the median spread of the known tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

RANK = 2
LEAST_SPREAD = 0.15
"""Least standard deviation of an arm on a new task around the low-rank prediction, in standardised scores."""
PASSES = 30
UNKNOWN_LEVEL = 3.0
"""Standard deviation of the level of a new task around its probes, in standardised scores: nearly uninformative."""
COVER_RUNS = 5
"""Probes that the cover chooses alone: of 3 to 8 the best on nine tables (docs/results/history.md)."""
LIKENESS = 4.0
"""Logarithm of the weight of a known task with correlation 1 to the new one."""


@dataclass(frozen=True)
class Prediction:
    """The prediction for every arm on the new task, in the unit of its scores.

    Attributes:
        mean: Shape (A,).
        sd: Shape (A,); 0 for a probe.
        improvement: Expected improvement on the best probe, shape (A,); 0 for probes.
        cover: By how much each arm raises the best standardised score of the probes, in the weighted mean over the
            known tasks, shape (A,); 0 without probes.
        n_tried: Number of tried arms.
    """

    mean: Float[np.ndarray, " A"]
    sd: Float[np.ndarray, " A"]
    improvement: Float[np.ndarray, " A"]
    cover: Float[np.ndarray, " A"]
    n_tried: int = 0

    @property
    def order(self) -> list[int]:
        """The order in which to try arms: COVER_RUNS by the cover, then by improvement and by the cover in turn.

        Ties go to the higher mean. Tried arms come last.
        """
        by_cover = list(np.lexsort((-self.mean, -self.improvement, -self.cover)))
        by_model = list(np.lexsort((-self.mean, -self.cover, -self.improvement)))
        chosen: dict[int, None] = {}
        for run in range(self.n_tried, self.n_tried + len(by_cover)):
            turn = by_cover if run < COVER_RUNS or (run - COVER_RUNS) % 2 else by_model
            chosen[int(next(arm for arm in turn if arm not in chosen))] = None
        return list(chosen)


def standardised(scores: Float[np.ndarray, "T A"]) -> Float[np.ndarray, "T A"]:
    """Return the scores of each task minus their mean, over their standard deviation; NaN stays."""
    centred = scores - np.nanmean(scores, axis=1, keepdims=True)
    spread = np.nanstd(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def predict(scores: Float[np.ndarray, "T A"], probes: Mapping[int, float]) -> Prediction:
    """Predict every arm on the new task.

    Args:
        scores: Scores on known tasks, higher is better, NaN if an arm was not tried; at least one task with two arms.

    Returns:
        The prediction; without probes, in units of standardised scores, with improvements that follow the mean.
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
        return Prediction(mean + shift, sd / spread, np.exp(mean + shift), np.zeros(len(mean)))
    best = values.max()
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (expected - best) / sd
        density = np.exp(-np.square(u) / 2) / np.sqrt(2 * np.pi)
        improvement = np.where(sd > 0, (expected - best) * special.ndtr(u) + sd * density, 0.0)
    return Prediction(expected, sd, np.nan_to_num(improvement), _cover(z, places, values), len(places))


def _cover(
    z: Float[np.ndarray, "T A"], places: Int[np.ndarray, " P"], values: Float[np.ndarray, " P"]
) -> Float[np.ndarray, " A"]:
    """Return the weighted mean rise of the best score over the probes; an arm that a task lacks is its worst there."""
    known = np.isfinite(z[:, places])
    own, other = np.where(known, values, 0.0), np.where(known, z[:, places], 0.0)
    own, other = (
        one - one.sum(axis=1, keepdims=True) / known.sum(axis=1, keepdims=True).clip(1) for one in (own, other)
    )
    own, other = own * known, other * known
    scale = np.sqrt((own**2).sum(axis=1) * (other**2).sum(axis=1))
    likeness = np.divide((own * other).sum(axis=1), scale, out=np.zeros(len(z)), where=scale > 0)
    weights = np.exp(LIKENESS * max(0.0, 1 - 2 / len(places)) * likeness)
    filled = np.where(np.isfinite(z), z, np.nanmin(z))
    rise = np.maximum(filled - filled[:, places].max(axis=1, keepdims=True), 0.0)
    return np.asarray(weights @ rise / weights.sum())


def _low_rank(
    left: Float[np.ndarray, "T A"],
    known: Bool[np.ndarray, "T A"],
    places: Int[np.ndarray, " P"],
    seen: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"]]:
    """Return conditional mean and standard deviation of all arms, by a covariance with RANK directions and a rest."""
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
    wider = np.sqrt(1 + 6 / max(len(left) - 1, 1))  # where few tasks were known; from simulated tasks
    return gain @ seen, np.sqrt(np.maximum(variance, 0.0)) * wider
