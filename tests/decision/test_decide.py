"""What is to be expected of transfer, what an arm loses, what a point is worth, and planned looks."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from decision.studies import scores
from transferscope.decision import decide
from transferscope.decision.noise import noise
from transferscope.decision.which import draw_means

RNG = np.random.default_rng(53)


@pytest.mark.parametrize(("ahead", "chance"), [(8.0, "helps"), (0.0, "same"), (-8.0, "harms")])
def test_chances_add_up_and_follow_the_gain(ahead: float, chance: str) -> None:
    values = 0.2 * RNG.normal(size=(6, 6)) + 70
    values[:3] += ahead
    found = decide(scores(values, 3)).expected
    assert found is not None
    assert found.helps + found.same + found.harms == pytest.approx(1)
    assert getattr(found, chance) > 0.9
    assert found.low < found.gain < found.high
    assert found.gain == pytest.approx(ahead, abs=0.6)


@pytest.mark.parametrize("n_ways", [1, 2])
def test_no_accuracy_is_expected_to_lose_more_than_there_is(n_ways: int) -> None:
    """Two seeds far apart say little of a mean; whatever it is, it lies between 0 and 100 %."""
    values = [[84.7, 83.3], [75.0, 78.7], [28.3, 44.7]]
    found = decide(scores(values, n_ways, clusters=np.array([0, 0, 1]), bounds=(0.0, 100.0)))
    for arm in found.arms:
        assert arm.shortfall is not None
        assert arm.at_most is not None
        assert 0 <= arm.shortfall <= arm.at_most <= 100
    assert found.expected is not None
    assert -100 <= found.expected.low <= found.expected.high <= 100


def test_of_one_run_each_nothing_is_expected() -> None:
    assert decide(scores(RNG.normal(size=(4, 1)), 2)).expected is None
    assert decide(scores(RNG.normal(size=(4, 5)), 4)).expected is None


@pytest.mark.parametrize(
    ("seeds", "own"),
    [((1, 1), ()), (((3, 1, 1, 1), 1), (0,)), ((3, 1), (0,)), ((1, 3), (1,)), ((3, 2), (0, 1)), ((3, (2, 1)), (0,))],
)
def test_a_kind_without_second_runs_is_drawn_as_the_others_are(seeds: tuple[Any, Any], own: tuple[int, ...]) -> None:
    """Four transfer arms have a centre of their own once one of them has two runs, two baselines once both have."""
    values = np.random.default_rng(1).normal(70, 3, size=(6, 3))
    for kind, n in zip((range(4), range(4, 6)), seeds, strict=True):
        for arm, have in zip(kind, np.broadcast_to(n, len(kind)), strict=True):
            values[arm, have:] = np.nan
    both = (np.arange(4), np.arange(4, 6))
    read = noise(values, np.arange(6))
    alike, drawn = (draw_means(read, None, 1.0, 200, kinds=of).means for of in ((), both))
    for at, arms in enumerate(both):
        assert np.array_equal(alike[:, arms], drawn[:, arms]) == (at not in own)


@pytest.mark.parametrize(("ahead", "end"), [(20.0, "low"), (-20.0, "high")])
def test_the_interval_of_an_arm_of_two_runs_ends_at_no_gain_however_far_off_it_is(ahead: float, end: str) -> None:
    values = 0.3 * RNG.normal(size=(4, 3)) + np.array([70 + ahead, 70, 70, 70])[:, None]
    values[0, 2] = np.nan
    gain = decide(scores(values, 1)).arms[0].gain
    assert gain is not None
    assert (getattr(gain, end), gain.p) == (0, None)


@pytest.mark.parametrize("n_arms", [1, 2, 3])
def test_arms_of_one_mean_show_their_spread_by_one_difference_fewer_than_they_are(n_arms: int) -> None:
    """By quadrature: around a centre that is estimated, n variances v have the likelihood v^(-(n - 1) / 2).

    The prior is a half-Cauchy of twice the standard error, of arms around it a t with 2 degrees of freedom. An arm far
    below the best says nothing.
    """
    values = RNG.normal(size=(n_arms + 1, 400))
    values += np.array([80.0] * n_arms + [20.0])[:, None] - values.mean(axis=1, keepdims=True)
    read = noise(values, np.arange(n_arms + 1))
    found = (draw_means(read, None, 1.0).prior < 3**2 * read.variance / 400)[:, :n_arms]
    middles = (np.arange(1000) + 0.5) / 1000
    variance = (2 * np.tan(np.pi / 2 * middles))[:, None] ** 2 * 2 / stats.chi2.ppf(middles, 2)
    density = 1 / np.sqrt(variance + 1)
    weight = density.mean(axis=1) ** (n_arms - 1)
    share = np.where(variance < 3**2, density, 0).sum(axis=1) / density.sum(axis=1)
    assert found.mean() == pytest.approx(np.average(share, weights=weight), abs=3 * np.sqrt(0.25 / 2000))


@pytest.mark.long
def test_the_gain_of_the_best_of_many_is_shrunk_and_its_ends_cover() -> None:
    """Six transfer arms with true means of standard deviation 1 against two baselines, three seeds.

    Arms are taken to be more alike than these are, so that the gain is told too low, by less than .4 points.
    """
    off, plain, inside, helped, said, loss, end = [], [], [], [], [], [], []
    rng = np.random.default_rng(0)
    for _ in range(600):
        mean = rng.normal(size=8)
        found = decide(scores(mean[:, None] + rng.normal(size=(8, 3)) + 1.5 * rng.normal(size=3), 6))
        assert found.expected is not None
        assert found.difference is not None
        truth = mean[int(str(found.best_transfer_arm)[4:])] - mean[6:].max()
        off.append(found.expected.gain - truth)
        plain.append(found.difference.value - truth)
        inside.append(found.expected.low <= truth <= found.expected.high)
        said.append(found.expected.helps)
        helped.append(mean[:6].max() - mean[6:].max() > 1)
        arm = found.arms[int(str(found.recommended)[4:])]
        loss.append(mean.max() - mean[int(arm.name[4:])] <= (arm.at_most or 0.0))
        end.append((arm.at_most or 0.0) >= (arm.shortfall or 0.0))
    assert -0.4 < np.mean(off) < np.mean(plain)
    assert np.mean(inside) == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / 600))
    assert np.mean(said) == pytest.approx(np.mean(helped), abs=0.12)
    assert np.mean(loss) > 0.9 - 3 * np.sqrt(0.09 / 600)
    assert all(end)


@pytest.mark.parametrize("worth", [0.01, 3.0, 1000.0])
def test_a_worth_selects_the_least_expected_loss_with_the_cost(worth: float) -> None:
    values = 0.3 * RNG.normal(size=(4, 5)) + np.array([90, 87, 70, 60])[:, None]
    cost = np.array([60.0, 5.0, 1.0, np.nan])
    said = decide(scores(values, 2, cost=cost), worth=worth)
    by_hand = [np.inf if arm.cost is None else (arm.shortfall or 0.0) * worth + arm.cost for arm in said.arms]
    assert said.recommended == f"arm {int(np.argmin(by_hand))}"
    assert said.recommended == {0.01: "arm 2", 3.0: "arm 1", 1000.0: "arm 0"}[worth]


def test_a_worth_takes_a_cost_and_a_number() -> None:
    for given, cost in ((0.0, 1.0), (np.inf, 1.0), (5.0, np.nan)):
        with pytest.raises(ValueError, match="worth"):
            decide(scores(RNG.normal(size=(3, 3)), 1, cost=np.full(3, cost)), worth=given)


@pytest.mark.parametrize("seeds", [3, 5])
def test_the_planned_look_has_most_of_the_error(seeds: int) -> None:
    values = RNG.normal(size=(2, seeds)) + np.array([[1.5], [0.0]])
    p = stats.ttest_rel(values[0], values[1], alternative="greater").pvalue

    def found(planned: int | None, failed: int = 0) -> float:
        table = np.column_stack([values, np.full((2, failed), np.nan)])
        lost = np.isnan(table)
        gain = decide(scores(table, 1, failed=lost), planned=planned).arms[0].gain
        assert gain is not None
        assert gain.p is not None
        return gain.p

    looks = min(seeds - 0.5, 7)
    assert found(seeds) == pytest.approx(min(p / 0.8, 1))
    assert found(seeds + 1) == pytest.approx(min(looks * p / 0.3, 1))
    assert found(seeds + 1, failed=1) == pytest.approx(min(p / 0.8, 1))  # all that were planned were made


@pytest.mark.parametrize("n_arms", [2, 3, 5])
@pytest.mark.parametrize("level", [0.0, 37.5, 100.0])
def test_runs_that_are_all_the_same_make_no_difference(level: float, n_arms: int) -> None:
    """As an exact match of 0 everywhere: no arm is ahead, and none can be expected to lose a point."""
    found = decide(scores(np.full((n_arms, 4), level), n_arms - 1, bounds=(0.0, 100.0)))
    assert found.outcome == "tie"
    assert found.expected is not None
    assert found.expected.harms < 0.1
    assert found.expected.helps < 0.1
    assert all(arm.shortfall is not None and arm.shortfall < 1 for arm in found.arms)


@pytest.mark.parametrize("n_ways", [1, 2])
def test_of_runs_that_all_have_one_rounded_score_no_chance_is_told(n_ways: int) -> None:
    """Three runs of .8 each, known to ten points: the arms may differ by that, and nothing says which way."""
    found = decide(scores(np.full((n_ways + 1, 3), 80.0), n_ways, resolution=10.0, bounds=(0.0, 100.0)))
    assert (found.outcome, found.why) == ("inconclusive", "alike")
    assert found.expected is None
    assert found.more_seeds is None
    finer = decide(scores(np.full((n_ways + 1, 3), 80.0), n_ways, resolution=0.01, bounds=(0.0, 100.0)))
    assert (finer.outcome, finer.why) == ("tie", "")
