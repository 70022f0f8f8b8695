"""Rolling back-tests: what would have been predicted, from fewer points, about the points there are."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transferscope.scaling.extrapolation.curve import Curve

DEPTHS = (0.5, 1.0, 1.5)
"""How far back the origins lie, in asked horizons (log size)."""

LEAST_SEEN = 3
LEAST_HORIZON = 1.2


@dataclass(frozen=True)
class Origins:
    """Where back-tests start, and which points each is scored on.

    Attributes:
        sizes: Sizes up to which points are seen, shape (O,); O may be 0.
        scored: Points beyond each origin and within the horizon, shape (O, m).
    """

    sizes: Float[np.ndarray, " O"]
    scored: Bool[np.ndarray, "O m"]


def origins(curve: Curve, horizon: float) -> Origins:
    """Back-test origins at an asked horizon.

    Each origin is the largest size at or below x_max / horizon^depth with LEAST_SEEN points behind it. When the curve
    is too short for that, the origins are its last points but one, at whatever horizon they have.

    Args:
        curve: The curve.
        horizon: Largest asked size over the largest seen size; below LEAST_HORIZON counts as that.

    Returns:
        The origins, nearest first, without repeats.
    """
    ratio = max(horizon, LEAST_HORIZON)
    places = [int((curve.x <= curve.x[-1] / ratio**depth).sum()) - 1 for depth in DEPTHS]
    places = [place for place in places if LEAST_SEEN - 1 <= place < len(curve) - 1]
    if not places:
        places = [place for place in (len(curve) - 2, len(curve) - 3) if place >= LEAST_SEEN - 1]
    places = list(dict.fromkeys(places))
    sizes = curve.x[places] if places else np.zeros(0)
    scored = np.zeros((len(places), len(curve)), dtype=bool)
    for row, place in enumerate(places):
        within = curve.x <= sizes[row] * ratio * (1 + 1e-9)
        scored[row] = (np.arange(len(curve)) > place) & (within | (np.arange(len(curve)) == place + 1))
    return Origins(sizes, scored)


def candidate_errors(
    predicted: Float[np.ndarray, "O K m"], curve: Curve, scored: Bool[np.ndarray, "O m"]
) -> Float[np.ndarray, " K"]:
    """Root mean square back-test error of each candidate in log error, every origin counting the same; NaN without one.

    Args:
        predicted: Log errors that each candidate predicts from each origin at the points of the curve.
        curve: The curve.
        scored: Which points each origin is scored on.
    """
    squared = np.where(scored[:, None, :], (predicted - curve.log_y) ** 2, 0.0)
    by_origin = squared.sum(axis=2) / scored.sum(axis=1)[:, None]  # (O, K)
    known = np.isfinite(by_origin)
    count = known.sum(axis=0)
    total = np.where(known, by_origin, 0.0).sum(axis=0)
    return np.where(count > 0, np.sqrt(total / np.maximum(count, 1)), np.nan)
