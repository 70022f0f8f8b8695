"""The forecasts that are combined: laws on windows of the curve."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transferscope.scaling.extrapolation.curve import Curve
from transferscope.scaling.laws import Law, law_named
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import Noise, power_posterior
from transferscope.scaling.solve import QUICK, Problem, solve

LOWEST, HIGHEST = 0.02, 1.35
"""A forecast is kept above LOWEST times the least error and below HIGHEST times the largest."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One forecast: a law fitted to the last share of the points.

    Attributes:
        law: Name of the law.
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
        return self.law if self.law == "last-value" else f"{self.law}{kind}, {window}"

    def window(self, n_points: int) -> int:
        """How many of the last points it is fitted to; 0 when there are too few."""
        return min(n_points, max(self.least, int(np.ceil(self.share * n_points)))) if n_points >= self.least else 0


THIRD = 1 / 3
LONG = 8
"""A curve of this many points can do without priors, and with laws of more parameters."""

NOISE = Noise(degrees=2.0, effective_points=float("inf"))
"""Of the posterior means, of which only the mean is read: all points as they are."""

CANDIDATES = (
    Candidate("last-value", 1.0, 1),
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
"""What is combined. The two laws with five and six parameters see all points only: on windows they did worse."""


def forecasts(
    curve: Curve, origins: Float[np.ndarray, " O"], targets: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "O K T"]:
    """What every candidate predicts from the points up to each origin.

    Args:
        curve: The curve.
        origins: Sizes up to which points are seen.
        targets: Sizes to predict at, above 0.

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
        predict = _posterior_mean if posterior else _best_fit
        result[tuple(np.array(places).T)] = predict(law_named(name), curve, masks, targets)
    low, high = curve.log_y.min() + np.log(LOWEST), curve.log_y.max() + np.log(HIGHEST)
    kept: Float[np.ndarray, "O K T"] = np.clip(result, low, high)
    return kept


def _windows(
    members: list[int], seen: np.ndarray, n_points: int
) -> tuple[list[tuple[int, int]], Bool[np.ndarray, "B m"]]:
    """Distinct windows of one law as masks over the points, and the (origin, candidate) each belongs to."""
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
    law: Law, curve: Curve, masks: Bool[np.ndarray, "B m"], targets: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "B T"]:
    if law.last_only:
        last = masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)
        return np.repeat(curve.log_y[last][:, None], len(targets), axis=1)
    y = np.repeat(np.exp(curve.log_y)[None], len(masks), axis=0)
    fitted = solve(Problem(law, curve.x[:, None], y, masks * curve.counts), QUICK)
    result: Float[np.ndarray, "B T"] = np.log(np.maximum(law.value(targets[:, None], fitted.theta), 1e-300))
    return result


def _posterior_mean(
    law: Law, curve: Curve, masks: Bool[np.ndarray, "B m"], targets: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "B T"]:
    windows = [Observations(curve.x[mask, None], np.exp(curve.log_y[mask])) for mask in masks]
    posteriors = [power_posterior(window, noise=NOISE) for window in windows]
    result: Float[np.ndarray, "B T"] = np.log(np.array([one.weights @ one.predict(targets) for one in posteriors]))
    return result
