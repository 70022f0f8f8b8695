import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.paired import (
    behrens_fisher_p,
    paired_difference,
    pairs_to_decide,
    sd_of_test_set,
)

METHOD = np.array([0.941, 0.936, 0.944, 0.939, 0.951])
SCRATCH = np.array([0.915, 0.901, 0.922, 0.913, 0.907])


def test_the_paired_difference_is_the_one_of_scipy() -> None:
    found = paired_difference(METHOD, SCRATCH)
    expected = stats.ttest_rel(METHOD, SCRATCH)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_without_a_test_part_the_sum_is_students_t_and_without_seeds_normal() -> None:
    for df in (1, 2, 4, 30):
        for x in (0.3, 2.0, 12.0):
            assert behrens_fisher_p(x, 1.0, df, 0.0) == pytest.approx(2 * stats.t.sf(x, df), rel=1e-8)
        assert behrens_fisher_p(2.5, 1e-9, df, 1.0) == pytest.approx(2 * stats.norm.sf(2.5), rel=1e-5)


@pytest.mark.parametrize(("stderr", "df", "test_sd"), [(1.0, 2, 1.0), (0.3, 2, 1.0), (1.0, 4, 0.5), (0.2, 1, 1.0)])
def test_the_tail_of_the_sum_is_that_of_draws(stderr: float, df: int, test_sd: float) -> None:
    rng, n = np.random.default_rng(df), 400_000
    drawn = np.abs(stderr * rng.standard_t(df, n) + test_sd * rng.normal(size=n))
    for x in (1.0, 3.0):
        p = float(behrens_fisher_p(x, stderr, df, test_sd))
        assert abs((drawn >= x).mean() - p) < 4 * math.sqrt(p / n)


def test_interval_and_p_value_agree_and_widen_with_the_test_part() -> None:
    plain, wider = paired_difference(METHOD, SCRATCH), paired_difference(METHOD, SCRATCH, test_sd=0.01)
    assert wider.p_value > plain.p_value
    assert plain.interval is not None
    assert wider.interval is not None
    half = (wider.interval.high - wider.interval.low) / 2
    assert half > (plain.interval.high - plain.interval.low) / 2
    assert wider.mean - wider.interval.low == pytest.approx(half)
    stderr = wider.sd / math.sqrt(5)
    assert behrens_fisher_p(half, stderr, 4, 0.01) == pytest.approx(0.05)
    assert behrens_fisher_p(wider.mean, stderr, 4, 0.01) == pytest.approx(wider.p_value)
    none = paired_difference(METHOD, SCRATCH, test_sd=0.0)
    assert none.p_value == pytest.approx(plain.p_value, rel=1e-8)


def test_the_part_of_the_test_set_is_what_gains_share_over_seeds() -> None:
    """g_si = seed + example + both; the standard error is that of the example part alone, whatever the others are."""
    rng = np.random.default_rng(0)
    found = [
        sd_of_test_set(rng.normal(size=(4, 1)) + 0.5 * rng.normal(size=(1, 400)) + 1.5 * rng.normal(size=(4, 400))) ** 2
        for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(0.25 / 400, abs=4 * float(np.std(found)) / math.sqrt(200))
    one = rng.normal(size=(1, 50))
    assert sd_of_test_set(one) == pytest.approx(stats.sem(one[0]))
    assert sd_of_test_set(np.ones((3, 9))) == 0


@pytest.mark.parametrize("gains", [np.zeros((0, 5)), np.zeros((3, 1)), np.full((2, 4), np.nan)])
def test_gains_without_a_spread_over_examples_are_refused(gains: np.ndarray) -> None:
    with pytest.raises(DataError, match="expected finite numbers for at least one seed and two examples"):
        sd_of_test_set(gains)


@pytest.mark.parametrize("n_seeds", [3, 10])
def test_calls_about_new_test_data_are_false_as_rarely_as_they_say(n_seeds: int) -> None:
    """Two methods of equal accuracy on all data, and unequal on the one test set that all seeds share."""
    repeats, n, alpha = 600, 100, 0.05
    rng = np.random.default_rng(n_seeds)
    shared, own = 0.4 * rng.normal(size=(repeats, 1, n)), 0.3 * rng.normal(size=(repeats, n_seeds, n))
    gains = shared + own + 0.02 * rng.normal(size=(repeats, n_seeds, 1))
    of_seeds = gains.mean(axis=2)
    test_sd = np.array([sd_of_test_set(one) for one in gains])
    plain = int(np.sum(np.asarray(stats.ttest_1samp(of_seeds, 0.0, axis=1).pvalue) < alpha))
    found = behrens_fisher_p(of_seeds.mean(axis=1), stats.sem(of_seeds, axis=1), n_seeds - 1, test_sd)
    covered = int((found < alpha).sum())
    one = paired_difference(of_seeds[0], np.zeros(n_seeds), test_sd=float(test_sd[0]))
    assert one.p_value == pytest.approx(found[0])
    bound = 4 * math.sqrt(repeats * alpha * (1 - alpha))
    assert covered < alpha * repeats + bound
    assert plain > alpha * repeats + bound  # and the plain test, which speaks of this test set, is not enough


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


@pytest.mark.parametrize(("difference", "test_sd"), [(0.03, 0.005), (0.02, 0.004)])
def test_pairs_to_decide_have_the_power_they_promise(difference: float, test_sd: float) -> None:
    n = pairs_to_decide(difference, 0.02, test_sd=test_sd)
    assert n is not None
    rng, repeats = np.random.default_rng(0), 1500
    seeds = difference + 0.02 * rng.normal(size=(repeats, n))
    means = seeds.mean(axis=1) + test_sd * rng.normal(size=repeats)
    p = behrens_fisher_p(means, stats.sem(seeds, axis=1), n - 1, test_sd)
    assert 0.75 < (p < 0.05).mean() < 0.92  # the first n above 0.8, by an approximation


def test_no_number_of_pairs_decides_against_the_draw_of_the_test_examples() -> None:
    assert pairs_to_decide(0.03, 0.001, test_sd=0.02) is None
    assert pairs_to_decide(0.03, 0.001, test_sd=0.002) == pytest.approx(3, abs=1)


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
