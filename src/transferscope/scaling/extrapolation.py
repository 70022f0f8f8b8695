"""Extrapolation of the error to other sizes: a combination of forecasts, with an interval and a rolling back-test.

The back-test predicts measured points from fewer points.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from scipy import special

from transferscope.errors import DataError, SettingsError, out_of_range
from transferscope.estimate import Interval, Status
from transferscope.scaling.forecast import LEVEL, Basis, Forecast
from transferscope.scaling.forecasts import CANDIDATES, Curve, curve_of, forecasts
from transferscope.scaling.observations import Observations, observe
from transferscope.scaling.take_off import late_falls, may_take_off
from transferscope.settings.questions import Loss

DEPTHS = (0.5, 1.0, 1.5)
"""Distances of the back-test origins, in requested horizons (log size)."""

LEAST_SEEN = 3
LEAST_HORIZON = 1.2


def origins(curve: Curve, horizon: float) -> tuple[Float[np.ndarray, " O"], Bool[np.ndarray, "O m"]]:
    """Return the origins of back-tests at a horizon, and the points that each is scored on.

    Each origin is the largest size at or below x_max / horizon^depth with LEAST_SEEN points behind it. When the curve
    is too short for that, the origins are its last points but one, at whatever horizon they have.

    Args:
        horizon: Largest asked size over the largest seen size; below LEAST_HORIZON counts as that.

    Returns:
        Sizes up to which points are seen, nearest first, without repeats, shape (O,), where O may be 0; and the points
        beyond each within the horizon, shape (O, m).
    """
    ratio = max(horizon, LEAST_HORIZON)
    places = [int((curve.x <= curve.x[-1] / ratio**depth).sum()) - 1 for depth in DEPTHS]
    places = [place for place in places if LEAST_SEEN - 1 <= place < len(curve) - 1]
    if not places:
        places = [place for place in (len(curve) - 2, len(curve) - 3) if place >= LEAST_SEEN - 1]
    last = np.array(list(dict.fromkeys(places)), dtype=int)
    sizes, steps = curve.x[last], np.arange(len(curve)) - last[:, None]
    return sizes, (steps == 1) | ((steps > 1) & (curve.x <= sizes[:, None] * ratio * (1 + 1e-9)))


def candidate_errors(
    predicted: Float[np.ndarray, "O K m"], curve: Curve, scored: Bool[np.ndarray, "O m"]
) -> Float[np.ndarray, " K"]:
    """Return the root mean square back-test error of each candidate in log error, every origin counting the same; NaN
    without one.

    From each origin, `predicted` are log errors at the points of the curve, and `scored` says which of them count.
    """
    squared = np.where(scored[:, None, :], (predicted - curve.log_y) ** 2, 0.0)
    by_origin = squared.sum(axis=2) / scored.sum(axis=1)[:, None]  # (O, K)
    known = np.isfinite(by_origin)
    count = known.sum(axis=0)
    total = np.where(known, by_origin, 0.0).sum(axis=0)
    return np.where(count > 0, np.sqrt(total / np.maximum(count, 1)), np.nan)


SHRINKAGE = 0.1
"""Share of the median squared back-test error that is added to that of every candidate."""

WINSORISED = 0.1
"""Share of the weight on each side that is winsorised, so that one outlying form cannot dominate the mean."""


def combination_weights(
    errors: Float[np.ndarray, " K"], available: Float[np.ndarray, "K T"]
) -> Float[np.ndarray, " K"]:
    r"""Return the weights w_k \propto (e_k^2 + \lambda \tilde e^2)^{-1/2}, with \tilde e the median error; 0 without a
    forecast.

    A candidate without a back-test has the median error. The square root keeps the weights close to equal: choosing the
    candidate with the smallest back-test error does worse than the plain mean.

    Args:
        errors: Back-test error of each candidate, NaN where unknown.
        available: Their forecasts; a candidate with NaN has weight 0.
    """
    usable = np.isfinite(available).all(axis=1)
    known = errors[np.isfinite(errors)]
    middle = float(np.median(known)) if len(known) else 1.0
    filled = np.where(np.isfinite(errors), errors, middle)
    weights = usable / np.sqrt(filled**2 + SHRINKAGE * middle**2 + 1e-24)
    return np.asarray(weights / weights.sum())


def weighted_quantile(
    values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"], level: float
) -> Float[np.ndarray, " T"]:
    """Return the quantile (`level` in [0, 1]) over candidates, interpolated between the middles of their weights.

    Rows of weight 0 are not read; at least one weight is above 0.
    """
    used = weights > 0
    values, weights = values[used], weights[used]
    order = np.argsort(values, axis=0)
    ordered, ordered_weights = np.take_along_axis(values, order, axis=0), weights[order]
    middles = (np.cumsum(ordered_weights, axis=0) - ordered_weights / 2) / weights.sum()
    return np.array([np.interp(level, middles[:, t], ordered[:, t]) for t in range(values.shape[1])])


def winsorised_mean(values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, " T"]:
    """Return the weighted mean after winsorising candidates beyond the outer quantiles (WINSORISED on each side)."""
    low = weighted_quantile(values, weights, WINSORISED)
    high = weighted_quantile(values, weights, 1 - WINSORISED)
    used = weights > 0
    return np.average(np.clip(values[used], low, high), axis=0, weights=weights[used])


def spread(values: Float[np.ndarray, "K T"], weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, " T"]:
    """Return half the distance between the weighted 16 % and 84 % quantiles: a standard deviation if normal."""
    low, high = weighted_quantile(values, weights, 0.16), weighted_quantile(values, weights, 0.84)
    return np.asarray((high - low) / 2)


FACTORS: dict[int, tuple[float, ...]] = {
    3: (1.2, 1.9, 3.0, 4.88),
    4: (1.6, 2.6, 5.0, 8.0),
    5: (1.9, 2.5, 3.9, 6.6),
    8: (1.4, 1.95, 3.1, 5.0),
    16: (1.48, 2.21, 3.83, 5.84),
}
"""Half width of a 90 % interval over scale by the fewest points it holds for, at the sizes of FACTORS_AT.

From the development half (by data set) of five families of real curves and one of simulated ones, cut and thinned
(benchmarks/scaling_calibrate.py). Three points have no back-test and a wide scale instead, four the shortest one.
"""

FACTORS_AT = (1.2, 2.0, 4.0, 8.0)
"""Predicted over largest measured sizes, between which factors are interpolated over the logarithm."""

BACKTEST_SHARE = 0.5

RESOLUTION = 1e-4
"""Least scale in log error: no error is known to more than one part in ten thousand. It prevents intervals without
width for constant curves, whose coverage rounding would decide."""


LEAST_POINTS = 3
DRAWS = 2000
STEADY = 0.5
"""A curve whose fall is this share of all its steps up and down has left chance, however little it has gained."""


@dataclass(frozen=True)
class Extrapolation:
    """Errors predicted at sizes.

    Attributes:
        low: Lower end of the 90 % interval at each size, shape (T,); NaN if the status says so.
        weights: Weight of each candidate by its description.
        scale: What factors (FACTORS) make an interval of, in log error, shape (T,): the spread of the forms, the
            back-test error of the combination and the residuals on the last half of the points.
        largest: The largest measured size.
        status: "ok", or "too_few": under three points, the last value without an interval.
        may_take_off: Whether the curve may still be at chance, so that lower ends allow for a sudden fall.
    """

    sizes: Float[np.ndarray, " T"]
    predicted: Float[np.ndarray, " T"]
    low: Float[np.ndarray, " T"]
    high: Float[np.ndarray, " T"]
    weights: Mapping[str, float]
    scale: Float[np.ndarray, " T"]
    status: Status
    notes: tuple[str, ...]
    largest: float = float("nan")
    may_take_off: bool = False

    @cached_property
    def each(self) -> tuple[Forecast, ...]:
        """The forecast at each size."""
        found = []
        for size, error, low, high in zip(self.sizes, self.predicted, self.low, self.high, strict=True):
            interval = Interval(float(low), float(high), LEVEL)
            basis: Basis = "few sizes" if np.isnan(low) else "beyond" if size > self.largest else "within"
            basis = "at zero" if error == 0 else basis
            found.append(Forecast((float(size),), float(error), interval, (float(size / self.largest),), basis))
        return tuple(found)


def extrapolate(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    at: ArrayLike,
    rows: ArrayLike | None = None,
    loss: Loss = "log",
    share: bool = False,
) -> Extrapolation:
    """Predict the error at sizes beyond (or between) those measured.

    A weighted mean (of logarithms, winsorised) of several laws on several windows; the weights come from rolling
    back-tests at the asked horizon and stay close to equal. The interval is the spread of the forms with the back-test
    error and the noise, times a factor that was calibrated on development curves (docs/scaling.md). Broken rows of a
    long curve are left out, and a note names them; from `Observations.zero_from` on the forecast is 0.

    Args:
        sizes: Sizes x, shape (m,).
        errors: Errors or losses, shape (m,), >= 0.
        at: Sizes to predict at, from the smallest measured one above 0 on, shape (T,).
        rows: Names of the rows of the table, as "line 2", used in notes on outliers; None if unknown.
        loss: Residual of the fits that are combined.
        share: Whether errors are fractions or percentages: a curve that has gained little may then still be at chance
            (`may_take_off`), and intervals allow for a sudden fall.

    Returns:
        The prediction. With one or two points it is the last value, with status "too_few" and no interval.

    Raises:
        DataError: Values are invalid, or no size is above 0.
        SettingsError: `at` is out of range.
    """
    targets = np.atleast_1d(np.asarray(at, dtype=np.float64))
    if not (np.isfinite(targets) & (targets > 0)).all():
        raise SettingsError("a size to predict at is not a finite number above 0; give such a number")
    data = observe(sizes, errors, rows=rows)
    curve = curve_of(data)
    if len(curve) == 0:
        raise DataError("no row has a size and an error above 0, so nothing can be extrapolated; give such rows")
    least = float(curve.x.min())
    if targets.min() < least:
        raise out_of_range(
            "size to predict at",
            f"{targets.min():g}",
            f"at least {least:g}, the smallest measured size",
        )
    seen, scored = origins(curve, float(targets.max() / curve.x[-1]))
    everything = np.concatenate([curve.x, targets])
    values = forecasts(curve, np.concatenate([curve.x[-1:], seen]), everything, loss)  # (1 + O, K, m + T)
    m = len(curve)
    errors = candidate_errors(values[1:, :, :m], curve, scored)
    weights = combination_weights(errors, values[0])
    combined = winsorised_mean(values[0], weights)
    there = np.isfinite(values[1:, :, :m]).all(axis=2)  # the candidates that there were at each origin
    past = [winsorised_mean(values[1 + o, :, :m], weights * there[o]) for o in range(len(there))]
    if past:
        (backtest,) = candidate_errors(np.array(past)[:, None], curve, scored)
    else:  # what the curve falls over its last doubling
        backtest = np.log(2) * np.polyfit(np.log(curve.x), curve.log_y, 1)[0] if m > 1 else 0.0
    last = slice(m // 2, m)  # whose residuals are the noise, for as many points as are left over
    noise = np.average((combined[last] - curve.log_y[last]) ** 2, weights=curve.counts[last]) * m
    squares = spread(values[0, :, m:], weights) ** 2 + (BACKTEST_SHARE * backtest) ** 2
    scale = np.sqrt(squares + noise / max(m - LEAST_POINTS, 1) + RESOLUTION**2)
    half = np.full(len(targets), np.nan)
    if m >= LEAST_POINTS:
        factors = FACTORS[max(least for least in FACTORS if least <= m)]
        half = np.interp(np.log(targets / curve.x[-1]), np.log(FACTORS_AT), factors) * scale
    predicted, low, high = np.exp([combined[m:], combined[m:] - half, combined[m:] + half])
    still = share and m >= LEAST_POINTS and may_take_off(Observations(curve.x[:, None], np.exp(curve.log_y)))
    still = still and bool(curve.log_y[0] - curve.log_y[-1] < STEADY * np.abs(np.diff(curve.log_y)).sum())
    if still:
        z = np.random.default_rng(3).standard_normal((DRAWS, 1)) / special.ndtri((1 + LEVEL) / 2)
        falls = late_falls(np.log(np.maximum(targets / curve.x[-1], 1.0)), DRAWS)
        low = np.exp(np.quantile(combined[m:] + half * z - falls, (1 - LEVEL) / 2, axis=0))
    if data.zero_from is not None:  # up to the least error that was seen above 0
        at_zero = targets >= data.zero_from
        predicted[at_zero], low[at_zero], high[at_zero] = 0.0, 0.0, float(np.exp(curve.log_y.min()))
    return Extrapolation(
        sizes=targets,
        predicted=predicted,
        low=low,
        high=high,
        weights={str(CANDIDATES[k]): float(weights[k]) for k in np.flatnonzero(weights)},
        scale=scale,
        status="ok" if m >= LEAST_POINTS else "too_few",
        notes=curve.notes,
        largest=float(data.sizes.max()),
        may_take_off=still,
    )
