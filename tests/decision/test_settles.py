import numpy as np
import pytest

from decision.studies import scores
from transferscope.decision import decide
from transferscope.decision.noise import moderated
from transferscope.decision.settles import _after


def test_further_runs_give_the_mean_and_variance_of_all_runs_together() -> None:
    rng = np.random.default_rng(0)
    first, more = rng.normal(80, 3, (4, 3)), rng.normal(82, 3, (5, 4, 2))  # 4 arms of 3 runs, 2 more in 5 futures
    ends = (first.min(axis=-1), first.max(axis=-1))
    n, ones = np.full(4, 3.0), np.ones((4, 4))
    now = moderated(first.mean(axis=-1), n, first.var(axis=-1, ddof=1), np.ones(1), ones, ends=ends)
    takes = np.array([True, False, True, True])
    after = _after(now, more, takes)
    for future in range(5):
        for arm in range(4):
            runs = np.append(first[arm], more[future, arm]) if takes[arm] else first[arm]
            found = [one[future, arm] for one in (after.n, after.mean, after.raw, after.worst, after.best)]
            np.testing.assert_allclose(found, [len(runs), runs.mean(), runs.var(ddof=1), runs.min(), runs.max()])


def test_two_runs_of_two_arms_far_apart_lack_the_third_that_a_call_takes() -> None:
    values = np.array([[90.0, 91.0], [60.0, 61.5]])
    asked = decide(scores(values, 1)).more_seeds
    assert asked is not None
    assert (asked.arms, asked.seeds) == (("arm 0", "arm 1"), 1)
    assert asked.chance == pytest.approx(1, abs=0.02)
    assert decide(scores(values[:, :1], 1)).more_seeds is None  # of whose noise nothing is known


@pytest.mark.parametrize(("gain", "examples"), [(1.0, 400.0), (6.0, 25.0), (1.0, None)])
def test_test_examples_have_the_variance_that_more_seeds_leave(gain: float, examples: float | None) -> None:
    """Two arms alone have the variance of their differences: 4 for (1, 3, 5), of which 3 + more seeds leave a share."""
    values = np.array([[70.0, 74, 71], [69.0, 71, 66]]) + np.array([[gain], [0]])
    drawn = None if examples is None else examples * (1 - np.eye(2))
    asked = decide(scores(values, 1, example_variance=drawn)).more_seeds
    assert asked is not None
    left = 4 / (3 + asked.seeds)
    assert asked.of_examples == pytest.approx(0.0 if examples is None else examples / (examples + left))
    if examples == 400.0:
        assert (asked.seeds, asked.chance) == (12, 0.0)
