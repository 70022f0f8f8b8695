"""An error curve as forecasts need it: one error per size, positive, not too many points."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transferscope.scaling.observations import Observations

MOST_POINTS = 64
"""Longer curves are averaged over runs of neighbouring sizes."""


@dataclass(frozen=True)
class Curve:
    """Positive errors at increasing sizes.

    Attributes:
        x: Sizes, strictly increasing, above 0, shape (m,).
        log_y: Logarithms of the errors, shape (m,).
        counts: How many observations each point stands for, shape (m,).
        notes: Sentences on what was changed.
    """

    x: Float[np.ndarray, " m"]
    log_y: Float[np.ndarray, " m"]
    counts: Float[np.ndarray, " m"]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.x)


def curve_of(data: Observations) -> Curve:
    """The curve of observations in one size; size 0 is left out, repeats are averaged.

    An error of 0 is read as half the smallest positive one.
    """
    notes = data.notes
    positive = data.sizes[:, 0] > 0
    if not positive.all():
        notes = (*notes, f"left out {(~positive).sum()} observation(s) at size 0, which has no logarithm")
    x, y = data.sizes[positive, 0], data.errors[positive]
    if (y > 0).any() and not (y > 0).all():
        floor = float(y[y > 0].min()) / 2
        notes = (*notes, f"{(y == 0).sum()} error(s) of 0 were read as {floor:.2g}")
        y = np.maximum(y, floor)
    elif not (y > 0).any():
        x, y = x[:0], y[:0]
        notes = (*notes, "every error is 0: there is nothing left to predict")
    distinct, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean = np.bincount(index, weights=y) / counts if len(x) else y
    return _thinned(Curve(distinct, np.log(mean), counts.astype(np.float64), notes))


def _thinned(curve: Curve) -> Curve:
    """Runs of neighbouring points averaged in log size and log error; the last point stays as it is."""
    if len(curve) <= MOST_POINTS:
        return curve
    runs = [*np.array_split(np.arange(len(curve) - 1), MOST_POINTS - 1), np.array([len(curve) - 1])]
    log_x = np.array([np.average(np.log(curve.x[run]), weights=curve.counts[run]) for run in runs])
    log_y = np.array([np.average(curve.log_y[run], weights=curve.counts[run]) for run in runs])
    counts = np.array([curve.counts[run].sum() for run in runs])
    log_x[-1] = np.log(curve.x[-1])
    return Curve(np.exp(log_x), log_y, counts, curve.notes)
