"""Forecasts: what they must do on curves with a known future."""

import numpy as np
import pytest

from scaling.examples import OBJDET, SIZES
from transferscope.scaling import extrapolate
from transferscope.scaling.extrapolation import (
    Extrapolation,
    combination_weights,
    origins,
    weighted_quantile,
    winsorised_mean,
)
from transferscope.scaling.forecasts import broken, curve_of, forecasts
from transferscope.scaling.observations import observe

LONG = 100.0 * 1.25 ** np.arange(30)
LATER = LONG[-1] * np.array([1.5, 2.0, 4.0])


def law(x: np.ndarray) -> np.ndarray:
    return 2.0 * x**-0.4 + 0.1


def test_a_noisy_power_law_is_continued() -> None:
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(30))
    result = extrapolate(LONG, law(LONG) * noise, at=LATER)
    np.testing.assert_allclose(result.predicted, law(LATER), rtol=0.04)
    assert ((result.low < law(LATER)) & (law(LATER) < result.high)).all()
    assert len(result.weights) == 11
    assert sum(result.weights.values()) == pytest.approx(1)


def test_a_flat_noisy_curve_stays_where_it_is() -> None:
    y = 0.3 * np.exp(0.05 * np.random.default_rng(1).standard_normal(30))
    result = extrapolate(LONG, y, at=LATER)
    np.testing.assert_allclose(result.predicted, 0.3, rtol=0.1)


def test_a_curve_at_chance_may_fall_suddenly() -> None:
    """A third of the draws falls by up to 1.5 in log error for each unit of log size, from up to 8 times on."""
    x, y, at = 10.0 * 2.0 ** np.arange(6), [0.9, 0.902, 0.898, 0.901, 0.897, 0.899], np.array([160.0, 640.0, 1280.0])
    share, loss = (extrapolate(x, y, at=at, share=one) for one in (True, False))
    assert (share.may_take_off, loss.may_take_off) == (True, False)
    np.testing.assert_allclose(share.low[0], loss.low[0], rtol=0.01)
    assert (share.low[1:] < 0.9 * loss.low[1:]).all()
    ahead = np.log(4)  # of draws that fall, the share 5 / 30 falls further than this
    begins, rate = np.random.default_rng(0).uniform(size=(2, 100_000))
    falls = np.quantile(1.5 * rate * np.maximum(ahead - np.log(8) * begins, 0), 1 - 5 / 30)
    assert np.log(share.low[2] / share.predicted[2]) == pytest.approx(-falls, rel=0.1)
    np.testing.assert_array_equal(share.high, loss.high)
    assert not extrapolate(x, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], at=at, share=True).may_take_off


def test_a_curve_that_turns_up_does_not_fall() -> None:
    y = np.concatenate([np.linspace(0.5, 0.3, 6), np.linspace(0.32, 0.45, 6)])
    result = extrapolate(LONG[:12], y, at=[2 * LONG[11]])
    assert 0.3 < result.predicted[0] < 0.6
    assert result.low[0] < 0.45 < result.high[0]


@pytest.mark.parametrize("unit", [1e-3, 1e6])
def test_the_unit_of_size_does_not_matter(unit: float) -> None:
    first, second = extrapolate(SIZES, OBJDET, at=[1e6]), extrapolate(SIZES * unit, OBJDET, at=[1e6 * unit])
    np.testing.assert_allclose(second.predicted, first.predicted, rtol=1e-5)


def test_two_points_are_the_last_value_without_an_interval_and_three_have_one() -> None:
    result = extrapolate([1000, 2000], [0.5, 0.4], at=[4000])
    assert result.status == "too_few"
    assert result.predicted.tolist() == pytest.approx([0.4])
    assert np.isnan(result.low).all()
    result = extrapolate([1000, 2000, 4000], [0.5, 0.4, 0.35], at=[8000])
    assert result.status == "ok"
    assert result.low[0] < result.predicted[0] < result.high[0]


def test_back_tests_see_only_what_lies_before() -> None:
    spoilt = OBJDET.copy()
    spoilt[-1] *= 0.98
    plain, changed = (forecasts(curve_of(observe(SIZES, y)), SIZES[-3:-1], SIZES) for y in (OBJDET, spoilt))
    np.testing.assert_allclose(changed, plain, rtol=1e-9)


def test_origins_lie_at_the_asked_horizon() -> None:
    curve = curve_of(observe(LONG, law(LONG)))
    sizes, scored_from = origins(curve, 4.0)
    assert (sizes <= LONG[-1] / 4.0 ** np.array([0.5, 1.0, 1.5]) * (1 + 1e-9)).all()
    for size, scored in zip(sizes, scored_from, strict=True):
        assert curve.x[scored].min() > size
        assert curve.x[scored].max() <= 4 * size * (1 + 1e-9)


def test_an_error_of_zero_before_one_above_is_left_out() -> None:
    result = extrapolate([1, 2, 4, 8, 16], [2.5, 1.4, 0.5, 0.0, 0.1], at=[32])
    assert result.notes == ("left out 1 observation with error 0, which has no logarithm",)
    assert result.predicted == extrapolate([1, 2, 4, 16], [2.5, 1.4, 0.5, 0.1], at=[32]).predicted


def test_an_error_that_has_come_to_zero_stays_there() -> None:
    sizes, errors = [100, 200, 400, 800, 1600, 3200, 6400], [0.9, 0.5, 0.2, 0.05, 0.0, 0.0, 0.0]
    result = extrapolate(sizes, errors, at=[1200, 1600, 12_800, 25_600])
    assert result.predicted[1:].tolist() == result.low[1:].tolist() == [0, 0, 0]
    assert result.high[1:] == pytest.approx([0.05] * 3)  # the least error that was seen above 0
    before = extrapolate(sizes[:4], errors[:4], at=[1200])
    assert result.predicted[0] == pytest.approx(before.predicted[0], rel=0.2)
    assert observe(sizes, errors).zero_from == 1600
    assert observe([1, 2, 2], [0.1, 0.0, 0.1]).zero_from is None


def test_weights_stay_close_to_equal() -> None:
    weights = combination_weights(np.array([0.01, 0.1, np.nan]), np.zeros((3, 1)))
    assert weights.sum() == pytest.approx(1)
    assert weights[0] < 6 * weights[1]  # inverse errors would give 10, inverse squares 100
    assert combination_weights(np.array([0.1, 0.1]), np.array([[np.nan], [1.0]])).tolist() == [0, 1]


def test_the_median_of_equal_weights_is_numpys() -> None:
    values = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(weighted_quantile(values, np.full(5, 0.2), 0.5), np.median(values, axis=0))


def test_one_wild_forecast_cannot_move_the_mean_far() -> None:
    values = np.append(np.linspace(-1, 1, 10), 1000.0)[:, None]
    assert winsorised_mean(values, np.full(11, 1 / 11))[0] < 0.5 * values.mean()


@pytest.fixture(scope="module")
def whole_curve() -> tuple[np.ndarray, np.ndarray, Extrapolation]:
    """Sizes and errors of a long curve, and what its first half forecasts of the second."""
    x = 1000.0 * np.arange(1, 445)
    y = (2 + 30 * x**-0.4) * np.exp(0.005 * np.random.default_rng(0).standard_normal(444))
    return x, y, extrapolate(x[:222], y[:222], at=x[222:])


@pytest.mark.parametrize("first", [20, 90, 150, 190])
@pytest.mark.parametrize("factor", [0.3, 2.0, 50.0])
def test_a_block_of_broken_rows_is_left_out_and_named(
    whole_curve: tuple[np.ndarray, np.ndarray, Extrapolation], first: int, factor: float
) -> None:
    x, y, clean = whole_curve
    seen = y[:222].copy()
    seen[first : first + 11] *= factor
    rows = [f"line {number}" for number in range(2, 224)]
    forecast = extrapolate(x[:222], seen, at=x[222:], rows=rows)
    assert np.abs(np.log(forecast.predicted / clean.predicted)).max() < 0.01
    (note,) = forecast.notes
    assert note.startswith(
        "11 of 222 rows lie far from those before and after them and were left out of the forecast: line "
    )
    assert f": line {first + 2}, " in note
    assert clean.notes == ()


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("shape", ["power", "step", "bump"])
def test_no_point_of_a_whole_curve_is_called_broken(noise: float, shape: str) -> None:
    x = np.geomspace(10, 1e6, 120)
    log_y = {
        "power": np.log(5 * x**-0.5 + 0.1),
        "step": np.where(x < 3e3, 0.0, -2.0),
        "bump": -0.2 * np.log(x) + 0.8 * np.exp(-((np.log(x) - 7) ** 2) / 4),  # double descent
    }[shape]
    y = np.exp(log_y + noise * np.random.default_rng(1).standard_normal(120))
    assert not broken(x, y).any()


def test_one_loss_counts_for_fits_and_forecasts() -> None:
    """A curve with one row 20 % too high: in absolute values the forecast is that of the curve without it."""
    x = 1000.0 * 2.0 ** np.arange(12)
    clean, bad = law(x), law(x)
    bad[7] *= 1.2
    at = [8 * x[-1]]
    plain = extrapolate(x, clean, at=at).predicted[0]
    off = {name: abs(np.log(extrapolate(x, bad, at=at, loss=name).predicted[0] / plain)) for name in ("log", "huber")}
    assert off["huber"] < 0.5 * off["log"]
