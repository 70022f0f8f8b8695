import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Interval
from transferscope.numerics.intervals import t_interval, wilson_interval


def test_the_t_interval_is_the_one_of_scipy() -> None:
    values = np.array([0.941, 0.936, 0.944, 0.939, 0.951])
    summary = t_interval(values, level=0.9)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (summary.interval.low, summary.interval.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert (summary.value, summary.sd, summary.n) == pytest.approx((values.mean(), stats.tstd(values), 5))
    assert [t_interval(values + shift, level=0.9).sign for shift in (0.0, -0.94, -2.0)] == [1, 0, -1]


def test_one_sample_says_nothing_about_spread() -> None:
    summary = t_interval(np.array([0.9]))
    assert (summary.value, summary.n, summary.interval, summary.status) == (0.9, 1, None, "too_few")
    assert math.isnan(summary.sd)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_t_interval_covers_the_mean_as_often_as_it_says(n: int) -> None:
    repeats, level = 2000, 0.95
    samples = np.random.default_rng(n).normal(0.3, 2.0, size=(repeats, n))
    covered = sum(one.low <= 0.3 <= one.high for one in map(t_interval, samples))
    assert abs(covered - level * repeats) < 4 * math.sqrt(repeats * level * (1 - level))


def test_the_wilson_interval_is_the_one_of_scipy() -> None:
    expected = stats.binomtest(1889, 2007).proportion_ci(0.95, method="wilson")
    interval = wilson_interval(1889, 2007)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


@pytest.mark.parametrize(("successes", "edge"), [(0, "low"), (7, "high")])
def test_a_proportion_at_its_end_keeps_an_interval_inside_the_range(successes: int, edge: str) -> None:
    interval = wilson_interval(successes, 7)
    assert getattr(interval, edge) == pytest.approx(successes / 7, abs=1e-12)
    assert 0 <= interval.low < interval.high <= 1


def test_an_interval_is_cut_to_the_range_of_its_quantity() -> None:
    assert Interval(0.97, 1.02).clipped(0, 1) == Interval(0.97, 1.0)
    assert Interval(-3.0, -2.0).clipped(0, 1) == Interval(0, 0)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: t_interval(np.array([])), DataError, "there are no samples"),
        (lambda: t_interval(np.array([0.1, np.nan, np.inf])), DataError, "2 of 3 samples are NaN or infinite"),
        (lambda: t_interval(np.array([0.1, 0.2]), level=95), SettingsError, "level = 95 is out of range"),
        (lambda: wilson_interval(8, 7), DataError, "8 successes in 7 trials is out of range"),
    ],
)
def test_what_has_no_interval_is_refused(ask: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()
