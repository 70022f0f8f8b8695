"""Noise and calls beside SciPy, loops written out, and simulated truths."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from decision.studies import scores
from transferscope.decision import Scores, decide
from transferscope.decision.noise import moderated, noise
from transferscope.decision.whether import gains

RNG = np.random.default_rng(35)


@pytest.mark.parametrize("seeds", [3, 4, 8])
def test_two_arms_alone_have_the_paired_t_test(seeds: int) -> None:
    values = RNG.normal(size=(2, seeds)) + np.array([[3.0], [0.0]]) + 5 * RNG.normal(size=seeds)
    gain: Any = decide(scores(values, 1)).arms[0].gain
    looks = min(seeds - 0.5, 7)
    test = stats.ttest_rel(values[0], values[1], alternative="greater")
    assert gain.p == pytest.approx(min(looks * test.pvalue, 1.0))
    low = test.confidence_interval(1 - 0.05 / looks)[0]
    assert gain.low == pytest.approx(min(low, 0) if gain.p >= 0.05 else low)
    assert gain.high == pytest.approx(2 * gain.value - low)


@pytest.mark.parametrize("drawn", [0.02, 0.5, 8.0])
@pytest.mark.parametrize("units", [7, 1000])
def test_looks_that_share_the_test_examples_count_as_fewer(drawn: float, units: int) -> None:
    values = RNG.normal(size=(2, 5)) + np.array([[2.0], [0.0]])
    differences = values[0] - values[1]
    over_seeds = differences.var(ddof=1) / 5
    squared = over_seeds + drawn
    study = replace(scores(values, 1), example_variance=drawn * (1 - np.eye(2)), test_units=units)
    share = over_seeds / squared
    looks = 1 + (4.5 - 1) * np.sqrt(share)
    test = stats.t(1 / (share / 4 + (1 - share) / (units - 1)), scale=np.sqrt(squared))
    gain: Any = decide(study).arms[0].gain
    assert gain.p == pytest.approx(min(looks * test.sf(differences.mean()), 1.0))
    low = differences.mean() - test.isf(0.05 / looks)
    assert gain.low == pytest.approx(low if gain.p < 0.05 else min(low, 0.0))
    planned: Any = decide(study, planned=5).arms[0].gain
    assert planned.p == pytest.approx(min(test.sf(differences.mean()) / 0.8, 1.0))


def test_the_variance_of_an_arm_is_that_of_a_loop() -> None:
    values, clusters = RNG.normal(size=(6, 4)) + RNG.normal(size=4), np.array([0, 0, 0, 1, 2, 3])
    centred = [[y - np.mean(arm) for y in arm] for arm in values]
    expected = np.zeros(6)
    effects = []
    for s in range(4):
        of_clusters = [np.median([centred[a][s] for a in range(6) if clusters[a] == g]) for g in range(4)]
        effects.append(np.median(of_clusters))
    for a in range(6):
        expected[a] = 4 / 3 * sum((centred[a][s] - effects[s] + np.mean(effects)) ** 2 for s in range(4)) / 3
    np.testing.assert_allclose(noise(values, clusters).raw, expected)


def test_a_seed_that_few_arms_have_does_not_move_their_difference() -> None:
    values = RNG.normal(size=(5, 6))
    values[2:, 3:] = np.nan
    shifted = values + np.array([0, 0, 0, 9.0, -7.0, 30.0])
    one, two = noise(values, np.arange(5)), noise(shifted, np.arange(5))
    assert one.mean[0] - one.mean[1] == pytest.approx(two.mean[0] - two.mean[1])
    np.testing.assert_allclose(one.raw, two.raw, rtol=1e-9)


def test_seeds_that_are_not_shared_cost_what_least_squares_says() -> None:
    there = np.ones((4, 6), dtype=bool)
    there[2:, 3:], there[3, 0] = False, False
    arm, seed = np.nonzero(there)
    design = np.column_stack([np.eye(4)[arm], np.eye(6)[seed]])
    covariance = np.linalg.pinv(design.T @ design)
    values = np.where(there, RNG.normal(size=(4, 6)), np.nan)
    found = noise(values, np.arange(4))
    beside = noise(np.column_stack([values, [5.0, np.nan, np.nan, np.nan]]), np.arange(4))
    np.testing.assert_allclose(beside.mean, found.mean)  # a seed that one arm alone has says nothing
    for one, other in ((1, 2), (2, 3), (1, 3)):
        contrast = np.zeros(10)
        contrast[[one, other]] = 1, -1
        expected = contrast @ covariance @ contrast / (1 / found.n[one] + 1 / found.n[other])
        assert found.loss[one, other] == pytest.approx(expected, rel=0.02)
    assert (noise(RNG.normal(size=(4, 6)), np.arange(4)).loss == 1).all()


def test_many_arms_alike_share_their_variance_and_unlike_ones_keep_theirs() -> None:
    n, ones = np.full(400, 4.0), np.ones(1)
    alike = moderated(np.zeros(400), n, stats.chi2.rvs(3, size=400, random_state=1) / 3, ones, np.ones((400, 400)))
    assert alike.variance.mean() == pytest.approx(1.0, abs=0.1)
    assert alike.variance.std() == pytest.approx(np.sqrt(2 / 3) * 3 / alike.df[0], rel=0.15)
    assert alike.df.min() > 10
    scattered = stats.chi2.rvs(3, size=400, random_state=1) / 3 * np.tile([1.0, 30.0], 200)
    unlike = moderated(np.zeros(400), n, scattered, ones, np.ones((400, 400)))
    assert unlike.df[~unlike.unstable].max() < 6
    np.testing.assert_allclose(unlike.variance[unlike.unstable], scattered[unlike.unstable])


def test_an_arm_is_called_where_it_beats_each_of_those_without() -> None:
    values = RNG.normal(size=(6, 5)) + np.array([9, 9, 4, 0, 0, 4.5])[:, None]
    found, ways, controls = noise(values, np.arange(6)), np.arange(3), np.arange(3, 6)
    known = gains(found, ways, controls)
    for t in ways:
        pairs = []
        for c in controls:
            squares = found.variance[[t, c]] / 5
            df = min(squares.sum() ** 2 / (squares**2 / found.df[[t, c]]).sum(), max(found.pool[0], *found.df[[t, c]]))
            pairs.append((values[t].mean() - values[c].mean(), np.sqrt(squares.sum()), df))
        p = max(stats.t.sf(d / se, df) for d, se, df in pairs)
        assert known.low[t] == pytest.approx(min(d - stats.t.isf(0.05 / 4.5 / 3, df) * se for d, se, df in pairs))
        assert known.value[t] <= 0 or known.p[t] == pytest.approx(min(3 * 4.5 * p, 1))
    said = decide(scores(values, 3))
    assert said.outcome == "helps"
    assert set(said.helping) == {"arm 0", "arm 1"}
    assert said.best_baseline == "arm 5"


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_baselines_without_noise_do_not_hide_a_gain(seeds: int) -> None:
    """Two baselines that draw nothing, as scikit-learn's, and a network ten points above them."""
    drawn = np.array([[82.0], [72.0], [71.0]]) + np.array([[1.5], [0.0], [0.0]]) * RNG.normal(size=(25, 3, seeds))
    said = [decide(scores(values, 1)) for values in drawn]
    assert np.mean([one.outcome == "helps" for one in said]) > 0.9
    assert all(one.unstable == () and one.recommended == "arm 0" for one in said)


def test_a_noisy_arm_whose_worst_run_beats_every_baseline_is_called() -> None:
    """Six times as noisy as the others and four of its own standard deviations above them: .24 before with 5 seeds."""
    called = []
    for _ in range(100):
        values = RNG.normal(size=(6, 5)) * np.array([6.0, 1, 1, 1, 1, 1])[:, None]
        values[0] += 24
        called.append(decide(scores(values, 2)).arms[0].call == "better")
    assert np.mean(called) > 0.9


def test_arms_of_little_spread_are_not_unstable_beside_others_that_move_together() -> None:
    spread = np.array([0.1, 0.1, 0.1, 0.9, 0.5])[:, None]
    values = 80 + spread * RNG.normal(size=(5, 10))
    values[:3] += 2.5 * RNG.normal(size=10)
    found = noise(values, np.arange(5))
    assert found.unstable[3:].all()  # by what is left of the seeds' effects
    assert not found.erratic.any()
    assert decide(scores(values, 3)).unstable == ()


def test_an_arm_of_two_runs_is_erratic_by_their_variance() -> None:
    seeds = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # of variance 2.5, which is that of each quiet arm but for its noise
    values = np.tile(80 + seeds, (6, 1)) + np.random.default_rng(0).normal(0, 0.02, (6, 5))
    for half, is_erratic in ((1.2, True), (1.0, False)):  # against the seeds, of variance 2 half^2: 2.88 and 2
        values[5] = np.nan
        values[5, [0, 4]] = 80 + half, 80 - half
        found = noise(values, np.arange(6))
        assert (found.unstable[5], found.erratic[5]) == (True, is_erratic)


def test_the_recommendation_is_not_given_to_an_arm_that_is_far_worse() -> None:
    """A probe is significant with three seeds; a network with two is nine points above it in every run."""
    values = 0.3 * RNG.normal(size=(5, 3)) + np.array([82.3, 73, 70, 70, 70])[:, None]
    values[0, 2] = np.nan
    said = decide(scores(values, 2))
    assert said.helping == ("arm 1",)
    assert (said.outcome, said.recommended) == ("helps", "arm 0")
    assert said.arms[1].chance < 0.01


@pytest.mark.parametrize(("cost", "chosen"), [((1.0, 1.0), 1), ((np.nan, np.nan), 1), ((1.0, 1.2), 1), ((1.0, 5.0), 0)])
def test_in_an_inconclusive_question_a_tie_goes_to_the_baseline(cost: tuple[float, float], chosen: int) -> None:
    values = np.array([[70.0, 72, 71, 72], [71, 71, 71, 71.9]])
    said = decide(scores(values, 1, cost=np.array(cost)))
    assert (said.outcome, said.recommended) == ("inconclusive", f"arm {chosen}")


def test_nothing_is_decided_by_one_run() -> None:
    said = decide(scores([[90.0], [60.0]], 1))
    assert said.chance > 0.95
    assert not said.decided


def test_an_unstable_arm_is_named_and_hides_no_other() -> None:
    values = np.random.default_rng(7).normal(size=(7, 4)) + np.array([5, 5, 0, 0, 0, 0, 0.0])[:, None]
    said = decide(scores(values, 4))
    values[1, 2] -= 60
    collapsed = decide(scores(values, 4))
    assert set(said.helping) == {"arm 0", "arm 1"}
    assert collapsed.unstable == ("arm 1",)
    assert (collapsed.helping, collapsed.arms[1].call, collapsed.arms[1].why) == (("arm 0",), "not tested", "unstable")


def five_arms(
    seeds: int = 5, gain: float = 8.0, noise: float = 1.0, n_ways: int = 3, unfinished: Sequence[int] = (0,) * 5
) -> Scores:
    values = noise * np.random.default_rng(4).normal(size=(5, seeds)) + 70
    values[:3] += gain
    cost = np.array([50.0, 60, 70, 1, 2])
    return scores(values, n_ways, unfinished=np.array(unfinished, dtype=bool), cost=cost)


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a clear gain": ({}, "helps", ""),
    "one seed": ({"seeds": 1}, "inconclusive", "one seed"),
    "two seeds": ({"seeds": 2}, "inconclusive", "too few seeds"),
    "an arm without a source could rise": ({"unfinished": [0, 0, 0, 1, 0]}, "inconclusive", "unfinished"),
    "an arm with a source could rise": ({"unfinished": [1, 1, 0, 0, 0]}, "helps", ""),
    "all have a source": ({"n_ways": 5}, "no control", ""),
    "none has": ({"n_ways": 0}, "no source", ""),
    "a cheap arm without a source loses little": ({"gain": 0.45, "noise": 0.05}, "helps, within the margin", ""),
    "nothing is gained or lost": ({"gain": 0.0, "noise": 0.1}, "tie", ""),
    "nothing is gained and more than the margin may be lost": ({"gain": -1.0, "noise": 0.1}, "no", ""),
    "noise": ({"gain": 0.5}, "inconclusive", "noise"),
}


@pytest.mark.parametrize("name", CASES)
def test_outcomes(name: str) -> None:
    change, outcome, why = CASES[name]
    said = decide(five_arms(**change))
    assert (said.outcome, said.why) == (outcome, why)
    if why == "unfinished":
        assert {arm.why for arm in said.arms if arm.with_source} == {"unfinished"}
        assert said.more_seeds is None


def test_what_examples_add_widens_intervals_and_is_named() -> None:
    values = RNG.normal(size=(4, 5)) + np.array([4.0, 0, 0, 0])[:, None]
    wide = decide(scores(values, 2, example_variance=9.0 * (1 - np.eye(4))))
    assert decide(scores(values, 2)).covers == "seeds"
    assert wide.covers == "seeds and test examples"
    assert (decide(scores(values, 2)).outcome, wide.outcome) == ("helps", "inconclusive")
    single = decide(scores(values[:, :1], 2, example_variance=1.0 - np.eye(4)))
    assert (single.covers, single.outcome) == ("test examples", "inconclusive")
    partly = np.where(np.eye(4) + np.eye(4)[::-1], np.nan, 1.0)
    assert decide(scores(values, 2, example_variance=partly)).covers == "seeds"


@pytest.mark.long
@pytest.mark.parametrize("clusters", [[0, 1, 2], [0, 0, 0, 0, 0, 0, 1, 2, 3]])
def test_a_false_call_at_any_look_is_rarer_than_promised(clusters: list[int]) -> None:
    """One baseline is as good as all transfer arms, the others are worse: each side errs in 5 % at most, by itself."""
    ways, controls = np.arange(max(1, len(clusters) - 3)), np.arange(max(1, len(clusters) - 3), len(clusters))
    values = RNG.normal(size=(1500, len(clusters), 12))
    values[:, controls[1:]] -= 4
    better, worse = np.zeros((2, 1500), dtype=bool)
    for seeds in range(3, 13):
        known = gains(noise(values[..., :seeds], np.array(clusters)), ways, controls)
        better |= (known.callable & (known.low > 0)).any(1)
        worse |= (known.callable & (known.high < 0)).any(1)
    assert 0 < better.mean() < 0.05 + 2 * 0.0056
    assert worse.mean() < 0.05 + 2 * 0.0056


def test_one_arm_far_ahead_is_found() -> None:
    values = RNG.normal(size=(200, 9, 5))
    values[:, 0] += 4
    known = gains(noise(values, np.r_[0, 0, 0, 0, 0, 0, 1, 2, 3]), np.arange(6), np.arange(6, 9))
    assert (known.callable & (known.low > 0))[:, 0].mean() > 0.9
