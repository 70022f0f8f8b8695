"""The error at sizes that were not measured, with an interval and a back-test."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Status
from transferscope.scaling.extrapolation.backtest import Origins, candidate_errors, origins
from transferscope.scaling.extrapolation.candidates import CANDIDATES, forecasts
from transferscope.scaling.extrapolation.combine import combination_weights, spread, winsorised_mean
from transferscope.scaling.extrapolation.curve import Curve, curve_of
from transferscope.scaling.extrapolation.interval import FACTORS, Scale, half_width
from transferscope.scaling.observations import observe

LEAST_POINTS = 3


@dataclass(frozen=True, slots=True)
class BackTest:
    """A prediction about a point there is, from fewer points.

    Attributes:
        origin: Largest size that was seen.
        size: Size that was predicted at.
        predicted: The prediction.
        observed: The error that was measured.
    """

    origin: float
    size: float
    predicted: float
    observed: float


@dataclass(frozen=True)
class Extrapolation:
    """Errors predicted at sizes.

    Attributes:
        sizes: Shape (T,).
        predicted: Shape (T,).
        low: Lower end of the interval, shape (T,); NaN when the status says that there is none.
        high: Upper end.
        level: Nominal coverage of the interval at each size.
        weights: Weight of each candidate by its description.
        candidates: Prediction of each candidate with a weight, by its description, shape (T,) each.
        backtests: What the same combination would have predicted before.
        scale: Parts of the width, in log error.
        status: "ok", or "too_few": under three points, the last value without an interval.
        notes: Sentences on the data.
    """

    sizes: Float[np.ndarray, " T"]
    predicted: Float[np.ndarray, " T"]
    low: Float[np.ndarray, " T"]
    high: Float[np.ndarray, " T"]
    level: float
    weights: Mapping[str, float]
    candidates: Mapping[str, Float[np.ndarray, " T"]]
    backtests: tuple[BackTest, ...]
    scale: Scale
    status: Status
    notes: tuple[str, ...]


def extrapolate(
    sizes: ArrayLike, errors: ArrayLike, *, at: ArrayLike, level: float = 0.9, rows: ArrayLike | None = None
) -> Extrapolation:
    """Predict the error at sizes beyond (or between) those measured.

    A weighted mean (of logarithms, winsorised) of several laws on several windows; the weights come from rolling
    back-tests at the asked horizon and stay close to equal. The interval is the spread of the forms with the back-test
    error and the noise, times a factor that was calibrated on development curves (docs/scaling.md). Broken rows of a
    long curve are left out, and a note names them.

    Args:
        sizes: Sizes x, shape (m,).
        errors: Errors or losses, shape (m,), >= 0.
        at: Sizes to predict at, above 0, shape (T,).
        level: Nominal coverage: 0.5, 0.8 or 0.9.
        rows: Rows of the table, counted from 1, by which broken ones are named; None when unknown.

    Returns:
        The prediction. With one or two points it is the last value, with status "too_few" and no interval.

    Raises:
        DataError: The numbers cannot be read, or no size is above 0.
        SettingsError: `level` or `at` is out of range.
    """
    targets = np.atleast_1d(np.asarray(at, dtype=np.float64))
    if level not in FACTORS:
        raise SettingsError(f"level = {level} is not calibrated; choose one of {', '.join(map(str, FACTORS))}")
    if not (np.isfinite(targets) & (targets > 0)).all():
        raise SettingsError("a size to predict at is not a finite number above 0")
    curve = curve_of(observe(sizes, errors, rows=rows))
    if len(curve) == 0:
        raise DataError(f"nothing can be extrapolated: {'; '.join(curve.notes)}")
    return _combined(curve, targets, level)


def _combined(curve: Curve, targets: Float[np.ndarray, " T"], level: float) -> Extrapolation:
    back = origins(curve, float(targets.max() / curve.x[-1]))
    everything = np.concatenate([curve.x, targets])
    values = forecasts(curve, np.concatenate([curve.x[-1:], back.sizes]), everything)  # (1 + O, K, m + T)
    m = len(curve)
    errors = candidate_errors(values[1:, :, :m], curve, back.scored)
    weights = combination_weights(errors, values[0])
    combined = winsorised_mean(values[0], weights)
    past = _past(values[1:, :, :m], weights)
    scale = Scale(
        spread=spread(values[0, :, m:], weights),
        backtest=_backtest_error(past, curve, back.scored),
        noise=_noise(combined[:m], curve),
    )
    half = half_width(scale, level=level, n_points=m) if m >= LEAST_POINTS else np.full(len(targets), np.nan)
    used = np.flatnonzero(weights)
    return Extrapolation(
        sizes=targets,
        predicted=np.exp(combined[m:]),
        low=np.exp(combined[m:] - half),
        high=np.exp(combined[m:] + half),
        level=level,
        weights={str(CANDIDATES[k]): float(weights[k]) for k in used},
        candidates={str(CANDIDATES[k]): np.exp(values[0, k, m:]) for k in used},
        backtests=_listed(past, curve, back),
        scale=scale,
        status="ok" if m >= LEAST_POINTS else "too_few",
        notes=curve.notes,
    )


def _past(values: Float[np.ndarray, "O K m"], weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, "O m"]:
    """The combination as it would have been at each origin, with the candidates there were."""
    there = np.isfinite(values).all(axis=2)
    rows = [winsorised_mean(values[o], weights * there[o]) for o in range(len(values))]
    return np.array(rows).reshape(len(values), values.shape[2])


def _backtest_error(past: Float[np.ndarray, "O m"], curve: Curve, scored: Bool[np.ndarray, "O m"]) -> float:
    """Root mean square over origins; without one, what the curve falls over its last doubling."""
    if len(past) == 0:
        slope = np.polyfit(np.log(curve.x), curve.log_y, 1)[0] if len(curve) > 1 else 0.0
        return float(abs(slope) * np.log(2))
    squared = np.where(scored, (past - curve.log_y) ** 2, 0.0).sum(axis=1) / scored.sum(axis=1)
    return float(np.sqrt(squared.mean()))


def _noise(combined: Float[np.ndarray, " m"], curve: Curve) -> float:
    """Root mean square residual over the last half of the points, for as many points as are left over."""
    m = len(curve)
    last = np.arange(m) >= m // 2
    residual = np.sqrt(np.average((combined - curve.log_y)[last] ** 2, weights=curve.counts[last]))
    return float(residual * np.sqrt(m / max(m - LEAST_POINTS, 1)))


def _listed(past: Float[np.ndarray, "O m"], curve: Curve, back: Origins) -> tuple[BackTest, ...]:
    return tuple(
        BackTest(float(back.sizes[o]), float(curve.x[i]), float(np.exp(past[o, i])), float(np.exp(curve.log_y[i])))
        for o, i in zip(*np.nonzero(back.scored), strict=True)
    )
