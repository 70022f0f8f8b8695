"""Which arm, what would settle it, and races."""

from typing import Any

import numpy as np
import pytest

from decision.studies import scores
from transferscope.decision import Scores, decide, next_runs
from transferscope.decision.noise import noise
from transferscope.decision.race import Done, _Look
from transferscope.decision.which import draw_means, select

RNG = np.random.default_rng(12)


def filled(table: Scores, truth: np.ndarray) -> tuple[Scores, list[tuple[int, int]], Done]:
    """Run a race to its end."""
    order = []
    while (found := next_runs([table])).runs:
        for run in found.runs:
            table.values[run.arm, run.seed] = truth[run.arm, run.seed]
            order.append((run.arm, run.seed))
    return table, order, found.done


def proposed(table: Scores, **options: Any) -> list[tuple[int, int]]:
    """What is proposed of one number of labels."""
    return [(run.arm, run.seed) for run in next_runs([table], **options).runs]


def empty(arms: int, seeds: int, n_ways: int, **given: np.ndarray) -> Scores:
    return scores(np.full((arms, seeds), np.nan), n_ways, **given)


def test_the_cheapest_arm_that_loses_little_is_recommended() -> None:
    values = 0.1 * RNG.normal(size=(4, 6)) + np.array([90, 89.8, 85, 60])[:, None]
    said = decide(scores(values, 2, cost=np.array([100.0, 10, 1, 0.1])))
    assert (said.recommended, said.decided) == ("arm 1", True)
    assert said.arms[2].chance < 0.01
    unknown = decide(scores(values, 2, cost=np.array([100.0, np.nan, 1, 0.1])))
    assert unknown.recommended == "arm 0"


def test_every_arm_is_run_once_the_cheapest_first_and_unknown_times_last() -> None:
    """The transfer arm of 3 s, the first, comes before the second baseline of 2 s."""
    truth = RNG.normal(size=(4, 6)) + np.array([80, 60, 75, 50])[:, None]
    table, order, done = filled(empty(4, 6, 2, cost=np.array([3.0, np.nan, 1, 2])), truth)
    assert order[:4] == [(2, 0), (0, 0), (3, 0), (1, 0)]
    assert done == "decided"
    assert (decide(table).recommended, decide(table).outcome) == ("arm 0", "helps")


def test_second_runs_of_cheap_baselines_come_before_those_of_dear_arms() -> None:
    """A way of 100 s leads by 30 points: a baseline of 1 s is run again before it, and one of 1,000 s is not."""
    values = np.full((3, 6), np.nan)
    values[:, 0] = [90.0, 60.0, 55.0]
    table = scores(values, 1, cost=np.array([100.0, 1.0, 1000.0]))
    assert proposed(table) == [(1, 1)]
    values[1, 1] = 61.0
    assert [arm for arm, _ in proposed(table, at_once=3)] == [0, 0, 1]


def test_the_knowledge_gradient_is_the_rise_of_the_best_mean_by_hand() -> None:
    """Two arms with a run each, whose posterior means after further runs are simulated with the prior noise."""
    values = np.array([[72.0, np.nan], [70.0, np.nan]])
    nothing = np.zeros((2, 2), dtype=bool)
    look = _Look(scores(values, 2), 1.0, None, None, nothing, nothing, np.ones(2))
    rng = np.random.default_rng(0)
    prior, noise = 5.0**2, 1.5**2
    variance = 1 / (1 / prior + 1 / noise)
    mean = variance * (71.0 / prior + values[:, 0] / noise)
    rises = []
    for ahead in (1, 2, 3, 4):
        truth = mean[0] + np.sqrt(variance) * rng.standard_normal(400_000)
        seen = truth + np.sqrt(noise / ahead) * rng.standard_normal(400_000)
        after = (mean[0] / variance + ahead * seen / noise) / (1 / variance + ahead / noise)
        rises.append((np.maximum(after, mean[1]).mean() - mean[0]) / ahead)
    assert look.gains() == pytest.approx([max(rises)] * 2, rel=0.03)
    for seconds in (60.0, 6000.0):
        table = scores(np.pad(values, ((0, 0), (0, 2)), constant_values=np.nan), 2, cost=np.full(2, seconds))
        expected = min(60 / seconds * max(rises), look.at_stake)
        assert next_runs([table]).minute == pytest.approx(expected, rel=0.03)
    assert next_runs([scores(np.vstack([values, [[np.nan, np.nan]]]), 2)]).minute is None


def test_a_second_goes_where_it_gains_most_over_all_numbers_of_labels() -> None:
    """At one number of labels two ways are alike, at another one leads by 30 points."""
    values = np.full((3, 6), np.nan)
    alike, apart = values.copy(), values.copy()
    noise = np.array([[-1.0, 0.0, 1.0], [0.5, -1.0, 0.5], [0.0, 1.0, -1.0]])
    alike[:, :3] = np.array([[70.0], [69.5], [60.0]]) + noise
    apart[:, :3] = np.array([[90.0], [60.0], [50.0]]) + noise
    tables = [scores(apart, 2), scores(alike, 2)]
    (first,) = next_runs(tables).runs
    assert (first.table, first.arm in (0, 1), first.seed) == (1, True, 3)
    cheap = np.array([1.0, 1.0, 1.0])
    (dear,) = next_runs(tables, seconds=[cheap, 1e6 * cheap]).runs
    assert dear.table == 1  # nothing is open with the other


def test_the_first_transfer_arm_comes_before_baselines_of_a_tenth_of_its_cost() -> None:
    """Arms: a transfer arm of 30 s, baselines of 1, 4 and 2 s: the baseline of 4 s waits, not that of 2 s."""
    table = empty(4, 6, 1, cost=np.array([30.0, 1.0, 4.0, 2.0]))
    assert [arm for arm, _ in proposed(table, at_once=4)] == [1, 3, 0, 2]


def test_runs_that_failed_or_are_under_way_or_cannot_be_made() -> None:
    cost = np.array([1.0, 2, 1000])
    table = empty(3, 6, 2, cost=cost)
    assert proposed(table, at_once=3) == [(0, 0), (1, 0), (2, 0)]
    under_way = np.zeros((3, 6), dtype=bool)
    under_way[0, 0] = True
    assert proposed(table, under_way=[under_way]) == [(1, 0)]
    closed = np.zeros((3, 6), dtype=bool)
    closed[1] = True
    assert proposed(table, under_way=[under_way], closed=[closed]) == [(2, 0)]
    failed = np.zeros((3, 6), dtype=bool)
    failed[0, :2] = True
    assert proposed(empty(3, 6, 2, cost=cost, failed=failed)) == [(1, 0)]
    with pytest.raises(ValueError, match="at_once"):
        next_runs([table], at_once=0)


@pytest.mark.parametrize(("best", "outcome"), [(85.0, "helps"), (60.0, "no")])
def test_a_race_answers_both_questions(best: float, outcome: str) -> None:
    truth = 0.5 * RNG.normal(size=(6, 12)) + np.array([best, 60, 60, 80, 60, 60])[:, None]
    table, order, done = filled(empty(6, 12, 3), truth)
    said = decide(table)
    assert (said.outcome, said.decided, done) == (outcome, True, "decided")
    assert {arm for arm, _ in order} == set(range(6))
    assert len(order) < 24


def test_a_race_reads_the_scores_by_the_rule_of_the_page() -> None:
    """Three planned seeds decide what three of any number do not, and a point may be worth more than its seconds."""
    values = np.array([[82.0, 83.4, 82.0], [80.2, 79.0, 79.4]])
    for planned in (None, 3):
        said = decide(scores(values, 1), planned=planned)
        found = next_runs([scores(np.pad(values, ((0, 0), (0, 3)), constant_values=np.nan), 1)], planned=planned)
        assert (said.outcome, found.done) == (("inconclusive", "") if planned is None else ("helps", "decided"))
    cost = np.array([1000.0, 1.0])
    values = np.array([[80.9, 81.1, 81.0, 81.0], [80.0, 80.2, 79.9, 80.1]])
    for worth, arm in ((1.0, "arm 1"), (5000.0, "arm 0")):
        assert decide(scores(values, 1, cost=cost), worth=worth).recommended == arm
        assert next_runs([scores(values, 1, cost=cost)], worth=worth).done in ("seeds", "decided")


def test_arms_whose_runs_are_all_the_same_lend_no_variance() -> None:
    """Three of five arms that draw nothing: the two others are too few to lend theirs to an arm with one run."""
    values = np.array(
        [[81.0, 80.0, 82.0], [79.0, 81.0, 80.0], [70.0, 70.0, 70.0], [71.0, 71.0, 71.0], [75.0, np.nan, np.nan]]
    )
    said = decide(scores(values, 2))
    assert said.recommended == "arm 0"
    assert 0 < said.arms[1].chance < said.arms[0].chance < 1


def test_an_arm_of_which_little_is_known_makes_no_loss_infinite() -> None:
    """A run far below the best, where variances differ so much that each has the weight of one degree of freedom."""
    rng = np.random.default_rng(1)
    values = np.array([[88.0], [79.0], [82.0], [84.0], [87.3], [76.0], [85.0], [90.0]]) + np.array(
        [[2.0], [5.0], [1.0], [0.01], [0.4], [0.01], [1.8], [1.3]]
    ) * rng.standard_normal((8, 7))
    values[1:3, 1:] = np.nan
    values[[3, 5], 2:] = np.nan
    said = decide(scores(values, 6))
    worst = np.nanmax(values) - np.nanmin(values)
    assert all(arm.shortfall is not None and arm.shortfall < worst for arm in said.arms)


def test_a_significant_arm_is_not_recommended_where_it_loses_more_than_half_a_margin() -> None:
    """The way that leads by 5 points varies so much that it is not significant; the other one is."""
    values = np.array([[84.0, 75.0, 93.0, 88.0], [80.0, 80.2, 79.9, 80.1], [70.0, 70.1, 69.8, 70.2]])
    said = decide(scores(values, 2))
    assert said.helping == ("arm 1",)
    assert said.recommended == "arm 0"
    assert decide(scores(values, 2), margin=20.0).recommended == "arm 1"


def test_a_race_ends_where_seeds_would_not_decide_it() -> None:
    """The best way and the best baseline are alike but for a tenth of a point: seeds say neither "helps" nor "no"."""
    rng = np.random.default_rng(3)
    truth = 3.0 * rng.standard_normal((2, 40)) + np.array([[70.9], [70.0]])
    _, order, done = filled(empty(2, 40, 1), truth)
    assert done == "not worth it"
    assert len(order) < 80


@pytest.mark.long
def test_chances_come_true() -> None:
    """Full tables are in docs/results/decision.md."""
    chance, right = [], []
    for _ in range(1500):
        mean = RNG.choice([0.5, 1, 3]) * RNG.normal(size=8)
        values = mean[:, None] + RNG.choice([1, 2]) * RNG.normal(size=(8, RNG.choice([3, 5])))
        chosen = select(
            draw_means(noise(values, np.arange(8)), None, 1.0, 500).means, np.ones(8), 1.0, np.ones(8, dtype=bool)
        )
        chance.append(chosen.chance[chosen.arm])
        right.append(mean.max() - mean[chosen.arm] <= 1)
    for low, high in ((0.7, 0.9), (0.9, 1.01)):
        part = (np.array(chance) >= low) & (np.array(chance) < high)
        assert np.mean(np.array(right)[part]) == pytest.approx(np.mean(np.array(chance)[part]), abs=0.07)


@pytest.mark.long
def test_the_seeds_that_are_asked_for_settle_it_as_often_as_said() -> None:
    chances, settled = [], []
    for _ in range(300):
        mean = RNG.choice([0.5, 1, 3]) * RNG.normal(size=5) + np.array([RNG.choice([0, 1, 3]), 0, 0, 0, 0])
        truth = mean[:, None] + RNG.normal(size=(5, 15)) + 1.5 * RNG.normal(size=15)
        values = np.where(np.arange(15) < 3, truth, np.nan)
        asked = decide(scores(values, 3)).more_seeds
        if asked is not None:
            for name in asked.arms:
                values[int(name[4:]), 3 : 3 + asked.seeds] = truth[int(name[4:]), 3 : 3 + asked.seeds]
            chances.append(asked.chance)
            settled.append(decide(scores(values, 3)).outcome != "inconclusive")
    assert np.mean(settled) == pytest.approx(np.mean(chances), abs=0.1)


def test_baselines_that_draw_nothing_do_not_hide_what_a_seed_more_decides() -> None:
    """Each further run of them is the same, and one of the noisy arm is far above them as all others."""
    rng, said, came = np.random.default_rng(2), [], []
    for _ in range(60):
        truth = np.array([82.0, 71, 72])[:, None] + np.array([1.5, 0, 0])[:, None] * rng.normal(size=(3, 15))
        values = np.where(np.arange(15) < 3, truth, np.nan)
        asked = decide(scores(values, 1)).more_seeds
        if asked is not None:
            said.append(asked.chance)
            values[:, 3 : 3 + asked.seeds] = truth[:, 3 : 3 + asked.seeds]
            came.append(decide(scores(values, 1)).outcome == "helps")
    assert np.mean(said) > 0.75
    assert np.mean(came) == pytest.approx(np.mean(said), abs=0.15)


@pytest.mark.parametrize("n_ways", [2, 60])
def test_of_many_arms_with_one_mean_it_can_be_asked_what_would_settle_them(n_ways: int) -> None:
    values = np.random.default_rng(0).normal(size=(61, 3))
    asked = decide(scores(values - values.mean(1, keepdims=True), n_ways)).more_seeds
    assert asked is None or len(asked.arms) > 1
