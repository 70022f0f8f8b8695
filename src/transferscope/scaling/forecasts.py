"""Forecasts of one error curve, one for each candidate: a law on a window of the points."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transferscope.scaling.laws import Law, law_named
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import Noise, power_posterior
from transferscope.scaling.solve import QUICK, Problem, solve
from transferscope.settings.questions import Loss
from transferscope.wording import counted

MOST_POINTS = 64
"""Most points of a curve; longer ones are averaged over neighbouring sizes."""

LONG_ENOUGH, SIDE = 32, 8
"""Least points of a curve with outlier detection, and on each side of a tested point."""
BROKEN, BROKEN_LEAST = 16.0, 0.1
"""Distance of an outlier from its neighbourhood: in standard deviations of the noise, and in log error."""
MOST_NAMED = 12


@dataclass(frozen=True)
class Curve:
    """Positive errors at increasing sizes.

    Attributes:
        x: Sizes, strictly increasing, above 0, shape (m,).
        counts: How many observations each point stands for, shape (m,).
    """

    x: Float[np.ndarray, " m"]
    log_y: Float[np.ndarray, " m"]
    counts: Float[np.ndarray, " m"]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.x)


def curve_of(data: Observations) -> Curve:
    """Return the curve of observations in one size; size 0 and errors of 0 are left out, repeats are averaged."""
    positive = data.sizes[:, 0] > 0
    if not positive.all():
        left = f"left out {counted(int((~positive).sum()), 'observation')} at size 0, which has no logarithm"
        data = data.take(positive, left)
    data = data.above_zero()
    notes, x, y = data.notes, data.sizes[:, 0], data.errors
    bad = broken(x, y)
    if bad.any():
        places = np.flatnonzero(bad)
        numbers = data.rows
        named = [
            f"{'' if numbers is None else f'{numbers[place]}, '}{y[place]:.4g} at n = {x[place]:,.0f}"
            for place in places[:MOST_NAMED]
        ]
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        note = (
            f"{len(places)} of {len(x)} rows lie far from those before and after them and were left out of the "
            f"forecast: {'; '.join(named)}{more}"
        )
        notes, x, y = (*notes, note), x[~bad], y[~bad]
    distinct, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean = np.bincount(index, weights=y) / counts if len(x) else y
    return _thinned(Curve(distinct, np.log(mean), counts.astype(np.float64), notes))


def broken(x: Float[np.ndarray, " m"], y: Float[np.ndarray, " m"]) -> Bool[np.ndarray, " m"]:
    """Return points far above or below both neighbouring sides, such as broken rows of a training log.

    Over increasing sizes a falling curve lies between the median of the points before and that of the points after. A
    point counts as broken when it lies outside of both by BROKEN times the noise (the median step from point to point
    over sqrt(2), in units of a normal standard deviation) and by BROKEN_LEAST at least. Runs of up to half a side
    are found. Curves of fewer than LONG_ENOUGH points, and the SIDE first and last points, are not judged. Sizes
    increase, and errors are above 0.
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


def _thinned(curve: Curve) -> Curve:
    """Average neighbouring points in log size and log error; the last point is unchanged."""
    if len(curve) <= MOST_POINTS:
        return curve
    runs = [*np.array_split(np.arange(len(curve) - 1), MOST_POINTS - 1), np.array([len(curve) - 1])]
    log_x = np.array([np.average(np.log(curve.x[run]), weights=curve.counts[run]) for run in runs])
    log_y = np.array([np.average(curve.log_y[run], weights=curve.counts[run]) for run in runs])
    counts = np.array([curve.counts[run].sum() for run in runs])
    log_x[-1] = np.log(curve.x[-1])
    return Curve(np.exp(log_x), log_y, counts, curve.notes)


LAST_VALUE = "last-value"
"""The error at the largest size: the baseline of every law."""

LOWEST, HIGHEST = 0.02, 1.35
"""A forecast is kept above LOWEST times the least error and below HIGHEST times the largest."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One forecast: a law fitted to the last share of the points.

    Attributes:
        share: Share of the points, counted from the largest size, in (0, 1].
        least: Fewest points it is fitted to; with fewer in the curve there is no forecast.
        posterior: Whether it is the posterior mean under a weak prior (`power_posterior`) instead of the best fit:
            what keeps very short curves from fitting their noise. Only for curves of fewer than LONG points.
    """

    law: str
    share: float
    least: int
    posterior: bool = False

    def __str__(self) -> str:
        window = {1.0: "all points", 0.5: "last half"}.get(self.share, "last third")
        kind = " with a prior" if self.posterior else ""
        return self.law if self.law == LAST_VALUE else f"{self.law}{kind}, {window}"

    def window(self, n_points: int) -> int:
        """Return the number of last points that it is fitted to; 0 if there are too few."""
        return min(n_points, max(self.least, int(np.ceil(self.share * n_points)))) if n_points >= self.least else 0


THIRD = 1 / 3
LONG = 8
"""A curve of this many points can do without priors, and with laws of more parameters."""

NOISE = Noise(degrees=2.0, effective_points=float("inf"))
"""Of the posterior means, of which only the mean is read: all points as they are."""

CANDIDATES = (
    Candidate(LAST_VALUE, 1.0, 1),
    Candidate("power", 0.5, 3),
    Candidate("power", THIRD, 3),
    Candidate("power+floor", 1.0, 4),
    Candidate("power+floor", 0.5, 4),
    Candidate("power+floor", THIRD, 4),
    Candidate("saturating-power", 1.0, 4),
    Candidate("saturating-power", 0.5, 4),
    Candidate("saturating-power", THIRD, 4),
    Candidate("power+floor", 1.0, 3, posterior=True),
    Candidate("power+floor", 0.5, 3, posterior=True),
    Candidate("sigmoid", 1.0, LONG),
    Candidate("broken-power", 1.0, 9),
)
"""Combined forecasts. The two laws with five and six parameters see all points only: on windows they did worse."""


def forecasts(
    curve: Curve, origins: Float[np.ndarray, " O"], targets: Float[np.ndarray, " T"], loss: Loss = "log"
) -> Float[np.ndarray, "O K T"]:
    """Return the predictions of every candidate from the points up to each origin.

    Args:
        origins: Sizes up to which points are seen.
        targets: Sizes to predict at, above 0.
        loss: Residual of the fits.

    Returns:
        Log errors; NaN where a candidate has too few points, or sees the same points as an earlier one of its law.
    """
    seen = (curve.x <= origins[:, None] * (1 + 1e-9)).sum(axis=1)
    result = np.full((len(origins), len(CANDIDATES), len(targets)), np.nan)
    for name, posterior in dict.fromkeys((candidate.law, candidate.posterior) for candidate in CANDIDATES):
        members = [k for k, one in enumerate(CANDIDATES) if (one.law, one.posterior) == (name, posterior)]
        places, masks = _windows(members, seen, len(curve))
        if not places or (posterior and len(curve) >= LONG):
            continue
        if name == LAST_VALUE:
            values = curve.log_y[[np.flatnonzero(mask)[-1] for mask in masks], None]
        elif posterior:
            values = _posterior_mean(curve, masks, targets)
        else:
            values = _best_fit(law_named(name), curve, masks, targets, loss)
        result[tuple(np.array(places).T)] = values
    low, high = curve.log_y.min() + np.log(LOWEST), curve.log_y.max() + np.log(HIGHEST)
    return np.asarray(np.clip(result, low, high))


def _windows(
    members: list[int], seen: np.ndarray, n_points: int
) -> tuple[list[tuple[int, int]], Bool[np.ndarray, "B m"]]:
    """Return distinct windows of one law as masks over the points, and the (origin, candidate) each belongs to."""
    places, masks = [], []
    for origin, n_seen in enumerate(seen):
        used = set()
        for k in members:
            width = CANDIDATES[k].window(int(n_seen))
            if width and width not in used:
                used.add(width)
                index = np.arange(n_points)
                places.append((origin, k))
                masks.append((index < n_seen) & (index >= n_seen - width))
    return places, np.array(masks, dtype=bool).reshape(len(places), n_points)


def _best_fit(
    law: Law, curve: Curve, masks: Bool[np.ndarray, "B m"], targets: Float[np.ndarray, " T"], loss: Loss
) -> Float[np.ndarray, "B T"]:
    y = np.repeat(np.exp(curve.log_y)[None], len(masks), axis=0)
    fitted = solve(Problem(law, curve.x[:, None], y, masks * curve.counts, loss), QUICK)
    return np.asarray(np.log(np.maximum(law.value(targets[:, None], fitted.theta), 1e-300)))


def _posterior_mean(
    curve: Curve, masks: Bool[np.ndarray, "B m"], targets: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "B T"]:
    windows = [Observations(curve.x[mask, None], np.exp(curve.log_y[mask])) for mask in masks]
    posteriors = [power_posterior(window, noise=NOISE) for window in windows]
    return np.asarray(np.log(np.array([one.weights @ one.predict(targets) for one in posteriors])))
