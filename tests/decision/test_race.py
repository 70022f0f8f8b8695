"""Which arm, what would settle it, and races."""

import numpy as np
import pytest

from decision.studies import scores
from transferscope.decision import Question, Scores, decide, next_runs
from transferscope.decision.noise import noise
from transferscope.decision.which import draw_means, select

RNG = np.random.default_rng(12)


def filled(table: Scores, truth: np.ndarray, question: Question = "which") -> tuple[Scores, list[tuple[int, int]]]:
    """Run a race to its end."""
    order = []
    while runs := next_runs(table, question=question):
        for arm, seed in runs:
            table.values[arm, seed] = truth[arm, seed]
        order += runs
    return table, order


def empty(arms: int, seeds: int, n_ways: int, **given: np.ndarray) -> Scores:
    return scores(np.full((arms, seeds), np.nan), n_ways, **given)


def test_the_cheapest_arm_that_loses_little_is_recommended() -> None:
    values = 0.1 * RNG.normal(size=(4, 6)) + np.array([90, 89.8, 85, 60])[:, None]
    said = decide(scores(values, 2, cost=np.array([100.0, 10, 1, 0.1])))
    assert (said.recommended, said.settled) == ("arm 1", True)
    assert said.arms[2].chance < 0.01
    unknown = decide(scores(values, 2, cost=np.array([100.0, np.nan, 1, 0.1])))
    assert unknown.recommended == "arm 0"


def test_the_cheapest_arms_come_first_and_a_dear_one_is_asked_for_at_the_end() -> None:
    truth = RNG.normal(size=(4, 6)) + np.array([80, 60, 75, 50])[:, None]
    table, order = filled(empty(4, 6, 2, cost=np.array([3.0, 1e6, 1, 2])), truth)
    assert [arm for arm, _ in order[:3]] == [2, 3, 0]
    assert 1 in [arm for arm, _ in order]
    assert [arm for arm, _ in order].index(1) > 3  # the second runs of the others are cheap beside it
    assert decide(table).recommended == "arm 0"
    assert len(order) < 12


def test_runs_that_failed_or_are_under_way() -> None:
    cost = np.array([1.0, 2, 1000])
    table = empty(3, 6, 2, cost=cost)
    assert next_runs(table, at_once=3) == [(0, 0), (1, 0), (2, 0)]
    under_way = np.zeros((3, 6), dtype=bool)
    under_way[0, 0] = True
    assert next_runs(table, under_way=under_way) == [(1, 0)]
    failed = np.zeros((3, 6), dtype=bool)
    failed[0, :2] = True
    assert next_runs(empty(3, 6, 2, cost=cost, failed=failed)) == [(1, 0)]
    with pytest.raises(ValueError, match="at_once"):
        next_runs(table, at_once=0)


@pytest.mark.parametrize(("best", "outcome"), [(85.0, "helps"), (60.0, "no")])
def test_a_race_of_whether_ends_with_its_answer(best: float, outcome: str) -> None:
    truth = 0.5 * RNG.normal(size=(6, 12)) + np.array([best, 60, 60, 80, 60, 60])[:, None]
    table, order = filled(empty(6, 12, 3), truth, "whether")
    assert decide(table).outcome == outcome
    assert {arm for arm, _ in order} == set(range(6))
    assert len(order) < 20
    assert next_runs(table, question="whether") == []


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
        asked = decide(scores(values, 3)).settles
        if asked is not None and asked.question == "whether":
            for name in asked.arms:
                values[int(name[4:]), 3 : 3 + asked.seeds] = truth[int(name[4:]), 3 : 3 + asked.seeds]
            chances.append(asked.chance)
            settled.append(decide(scores(values, 3)).outcome != "open")
    assert np.mean(settled) == pytest.approx(np.mean(chances), abs=0.1)


@pytest.mark.parametrize("n_ways", [2, 60])
def test_of_many_arms_with_one_mean_it_can_be_asked_what_would_settle_them(n_ways: int) -> None:
    values = np.random.default_rng(0).normal(size=(61, 3))
    asked = decide(scores(values - values.mean(1, keepdims=True), n_ways)).settles
    assert asked is None or len(asked.arms) > 1
