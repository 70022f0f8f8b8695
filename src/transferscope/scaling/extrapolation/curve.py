"""An error curve as forecasts need it: one error per size, positive, not too many points."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from transferscope.scaling.observations import Observations

MOST_POINTS = 64
"""Longer curves are averaged over runs of neighbouring sizes."""

LONG_ENOUGH, SIDE = 32, 8
"""Fewest points of a curve whose points are judged, and fewest on each side of one that is."""
BROKEN, BROKEN_LEAST = 16.0, 0.1
"""How far outside its neighbourhood a broken point lies: in standard deviations of the noise, and in log error."""
MOST_NAMED = 12


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
    numbers = None if data.rows is None else data.rows[positive]
    bad = broken(x, y)
    if bad.any():
        notes = (*notes, _left_out(x, y, bad, numbers))
        x, y = x[~bad], y[~bad]
    distinct, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean = np.bincount(index, weights=y) / counts if len(x) else y
    return _thinned(Curve(distinct, np.log(mean), counts.astype(np.float64), notes))


def broken(x: Float[np.ndarray, " m"], y: Float[np.ndarray, " m"]) -> Bool[np.ndarray, " m"]:
    """Points far above or below both sides of their neighbourhood, as broken rows of a training log are.

    Over increasing sizes a falling curve lies between the median of the points before and that of the points after. A
    point counts as broken when it lies outside of both by BROKEN times the noise (the median step from point to point
    over sqrt(2), in units of a normal standard deviation) and by BROKEN_LEAST at least. Runs of up to half a side
    are found. Curves of fewer than LONG_ENOUGH points, and the SIDE first and last points, are not judged.

    Args:
        x: Sizes, increasing.
        y: Errors, above 0.

    Returns:
        Which points are broken.
    """
    m = len(x)
    result = np.zeros(m, dtype=bool)
    if m < LONG_ENOUGH:
        return result
    log_y, side = np.log(y), max(SIDE, m // 8)
    noise = 1.4826 * float(np.median(np.abs(np.diff(log_y)))) / np.sqrt(2)
    for place in range(1, m - 1):
        before, after = log_y[max(place - side, 0) : place], log_y[place + 1 : place + 1 + side]
        if min(len(before), len(after)) < SIDE:
            continue
        low, high = sorted((float(np.median(before)), float(np.median(after))))
        result[place] = max(log_y[place] - high, low - log_y[place]) > max(BROKEN * noise, BROKEN_LEAST)
    return result


def _left_out(
    x: Float[np.ndarray, " m"],
    y: Float[np.ndarray, " m"],
    bad: Bool[np.ndarray, " m"],
    rows: Int[np.ndarray, " m"] | None,
) -> str:
    """Which points were left out, by their rows where they are known."""
    places = np.flatnonzero(bad)
    named = [
        f"{'' if rows is None else f'row {rows[place]}, '}{y[place]:.4g} at n = {x[place]:,.0f}"
        for place in places[:MOST_NAMED]
    ]
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    return (
        f"{len(places)} of {len(x)} rows lie far from those before and after them and were left out of the forecast: "
        f"{'; '.join(named)}{more}"
    )


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
