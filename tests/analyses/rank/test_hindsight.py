"""Hindsight, counted by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from transferscope.analyses.rank.hindsight import SizeCases, hindsight_of
from transferscope.analyses.rank.ranking import Choice, Hindsight

NAMES = ("a", "b", "c")
MEASURED = np.array([[0.9, 0.8, 0.7], [0.9, 0.8, 0.7]])
SCORES = {
    "right": np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]),
    "wrong": np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]),
    "tied": np.array([[2.0, 2.0, 1.0], [2.0, 2.0, 1.0]]),
    "half": np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]),
}


def of(sizes: tuple[SizeCases, ...]) -> Hindsight:
    return hindsight_of("fine-tuning", "accuracy", NAMES, sizes)


def test_regret_is_that_counted_by_hand() -> None:
    found = {choice.score: choice for choice in of((SizeCases(100, (0, 1), MEASURED, SCORES),)).choices}
    assert list(found) == ["right", "wrong", "tied", "half", ""]
    regrets = {name: choice.regret.value for name, choice in found.items()}
    assert regrets == pytest.approx({"right": 0.0, "wrong": 0.2, "tied": 0.05, "half": 0.1, "": 0.1})
    assert found[""].saved is None
    assert found["wrong"].saved.value == pytest.approx(-0.1)
    assert found["wrong"].saved.sign == -1
    assert all(choice.n_cases == 2 for choice in found.values())


def test_what_transfer_gave_is_paired_by_seed() -> None:
    measured = np.random.default_rng(0).uniform(0.4, 0.6, size=(4, 3))
    best = int(measured.mean(axis=0).argmax())
    for i, found in enumerate(of((SizeCases(100, (0, 1, 2, 3), measured, {}),)).transferred):
        assert found.performance.value == pytest.approx(measured[:, i].mean())
        assert found.performance.stderr == pytest.approx(stats.sem(measured[:, i]))
        if i == best:
            assert found.behind is None
            continue
        behind = measured[:, best] - measured[:, i]
        ends = stats.ttest_1samp(behind, 0.0).confidence_interval(0.95)
        assert found.behind.stderr == pytest.approx(stats.sem(behind))
        assert (found.behind.interval.low, found.behind.interval.high) == pytest.approx((ends.low, ends.high))


def test_a_case_without_a_result_or_a_value_is_left_out() -> None:
    measured, right = MEASURED.copy(), SCORES["right"].copy()
    measured[0, 1], right[1, 0] = math.nan, math.nan
    choice, at_random = of((SizeCases(100, (0, 1), measured, {"right": right}),)).choices
    assert (choice.n_cases, choice.regret.status) == (0, "undefined")
    assert at_random.n_cases == 1
    assert (at_random.regret.interval, at_random.regret.status) == (None, "too_few")


def test_with_many_seeds_the_interval_is_about_that_of_t() -> None:
    rng = np.random.default_rng(0)
    seeds, sizes = 30, (50, 100)
    cases = tuple(
        SizeCases(n, tuple(range(seeds)), rng.normal(size=(seeds, 3)), {"any": rng.normal(size=(seeds, 3))})
        for n in sizes
    )
    choice = of(cases).choices[0]
    per_seed = np.mean(
        [case.measured.max(1) - case.measured[range(seeds), case.scores["any"].argmax(1)] for case in cases], axis=0
    )
    low, high = stats.t.interval(0.95, seeds - 1, loc=per_seed.mean(), scale=stats.sem(per_seed))
    assert choice.regret.value == pytest.approx(per_seed.mean())
    assert choice.regret.stderr == pytest.approx(stats.sem(per_seed), rel=0.05)
    assert (choice.regret.interval.low, choice.regret.interval.high) == pytest.approx((low, high), rel=0.08)
    assert choice.n_cases == seeds * len(sizes)


def test_intervals_of_three_seeds_cover_as_often_as_they_say() -> None:
    """Of the 27 ways to draw three of three, 1 in 27 has one value alone: the 2.5 % point is the smallest value.

    With that the coverage for normal savings is counted; without sqrt(3 / 2) it is .927, without t / z .818.
    """
    gains = np.random.default_rng(0).normal(size=(100_000, 3))
    mean = gains.mean(axis=1)
    factor = math.sqrt(3 / 2) * stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975)
    low, high = (mean + factor * (end - mean) for end in (gains.min(axis=1), gains.max(axis=1)))
    for i in range(3):
        found = _saving(gains[i]).saved
        assert (found.interval.low, found.interval.high) == pytest.approx((low[i], high[i]))
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize(("measure", "least"), [("accuracy", 0.0), ("matthews", -1.0), ("r2", -math.inf)])
def test_no_interval_of_two_seeds_goes_beyond_what_the_measure_can_be(measure: str, least: float) -> None:
    measured = np.array([[0.9, 0.5, 0.1], [0.1, 0.9, 0.3]])
    cases = SizeCases(10, (0, 1), measured, {"any": np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])})
    found = hindsight_of("fine-tuning", measure, NAMES, (cases,))
    of_a, behind, saved = found.transferred[0].performance, found.transferred[0].behind, found.choices[0].saved
    for estimate, centre, half, low, high in (
        (of_a, 0.5, stats.sem([0.9, 0.1]), least, 1.0),
        (behind, 0.2, stats.sem([-0.4, 0.8]), least - 1, 1 - least),
    ):
        ends = np.clip(stats.t.interval(0.95, 1, loc=centre, scale=half), low, high)
        assert (estimate.interval.low, estimate.interval.high) == pytest.approx(ends)
    assert least - 1 <= saved.interval.low < saved.interval.high <= 1 - least


def _saving(gains: np.ndarray) -> Choice:
    """A score that puts first, of two candidates, the one whose results are higher by twice the gains."""
    measured = np.stack([gains, -gains], axis=1)
    values = np.tile([1.0, 0.0], (len(gains), 1))
    cases = SizeCases(10, tuple(range(len(gains))), measured, {"any": values})
    return hindsight_of("fine-tuning", "r2", ("a", "b"), (cases,)).choices[0]  # a measure without a lowest value
