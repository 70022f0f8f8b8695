import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.paired import paired_difference, pairs_to_decide

METHOD = np.array([0.941, 0.936, 0.944, 0.939, 0.951])
SCRATCH = np.array([0.915, 0.901, 0.922, 0.913, 0.907])


def test_the_paired_difference_is_the_one_of_scipy() -> None:
    found = paired_difference(METHOD, SCRATCH)
    expected = stats.ttest_rel(METHOD, SCRATCH)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_one_pair_is_too_few_for_a_test() -> None:
    found = paired_difference(METHOD[:1], SCRATCH[:1])
    assert (found.status, found.interval, found.n) == ("too_few", None, 1)
    assert found.mean == pytest.approx(0.026)
    assert math.isnan(found.p_value)


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_equal_differences_leave_nothing_to_test_against(shift: float) -> None:
    found = paired_difference(SCRATCH + shift, SCRATCH)
    assert (found.status, found.interval, found.sd) == ("undefined", None, 0.0)
    assert found.mean == pytest.approx(shift, abs=1e-15)


def test_the_test_raises_false_alarms_as_often_as_it_says() -> None:
    repeats, alpha = 2000, 0.05
    rng = np.random.default_rng(0)
    seeds = rng.normal(size=(repeats, 5))  # shared by both treatments: pairing must take it out
    first, second = (seeds + 0.1 * rng.normal(size=(repeats, 5)) for _ in range(2))
    alarms = sum(paired_difference(a, b).p_value < alpha for a, b in zip(first, second, strict=True))
    assert abs(alarms - alpha * repeats) < 4 * math.sqrt(repeats * alpha * (1 - alpha))


@pytest.mark.parametrize(("difference", "sd", "alpha"), [(0.01, 0.01, 0.05), (-0.02, 0.015, 0.01), (0.3, 1.0, 0.05)])
def test_the_number_of_pairs_is_the_one_of_statsmodels(difference: float, sd: float, alpha: float) -> None:
    n = TTestPower().solve_power(effect_size=abs(difference) / sd, alpha=alpha, power=0.8)
    assert pairs_to_decide(difference, sd, alpha=alpha) == math.ceil(n)


def test_a_difference_far_above_its_spread_takes_two_or_three_pairs() -> None:
    assert pairs_to_decide(1.0, 1e-6) == 2
    assert pairs_to_decide(5.0, 1.0, alpha=0.05) == 3


def test_a_difference_too_small_for_the_budget_is_said_to_be() -> None:
    assert pairs_to_decide(0.001, 1.0, at_most=50) is None
    assert pairs_to_decide(0.0, 1.0) is None


def test_a_spread_of_nothing_is_refused() -> None:
    with pytest.raises(DataError) as error:
        pairs_to_decide(0.1, 0.0)
    assert str(error.value) == "difference = 0.1, sd = 0.0 were given; expected finite numbers with sd above 0"


def test_an_impossible_level_is_refused() -> None:
    with pytest.raises(SettingsError) as error:
        pairs_to_decide(0.1, 1.0, alpha=0.0)
    assert str(error.value) == (
        "alpha = 0.0, power = 0.8, at_most = 200 were given; expected alpha and power between 0 and 1 and at_most >= 2"
    )
