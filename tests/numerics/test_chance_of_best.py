import numpy as np
import pytest

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.chance_of_best import chance_of_best, probability_of_best


def test_the_probability_of_best_shares_ties() -> None:
    means = np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.0], [0.5, 0.5, 0.5]])
    assert probability_of_best(means) == pytest.approx([(0.5 + 0 + 1 / 3) / 3, (0 + 1 + 1 / 3) / 3, (0.5 + 1 / 3) / 3])


@pytest.mark.parametrize("spread", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("n_seeds", [3, 10])
def test_what_is_claimed_for_the_first_is_no_more_than_what_comes_true(spread: float, n_seeds: int) -> None:
    """True means from N(0, spread^2), in standard errors of a difference, of which half is the test set's."""
    repeats = 150
    rng = np.random.default_rng(n_seeds)
    claimed, true = [], []
    for _ in range(repeats):
        truth = spread * rng.normal(size=5)
        p = chance_of_best(_scores(truth, n_seeds, rng), seed=0, n_draws=500)
        claimed.append(p.max())
        true.append(p.argmax() == truth.argmax())
    assert np.mean(claimed) < np.mean(true) + 3 * np.std(true) / np.sqrt(repeats)
    assert np.mean(claimed) > np.mean(true) - 0.2


def _scores(truth: np.ndarray, n_seeds: int, rng: np.random.Generator, n: int = 40) -> np.ndarray:
    """Means over seeds and examples with variance 1/2: 1/4 by seeds, 1/4 by examples; shared parts cancel."""
    k = len(truth)
    of_seeds = np.sqrt(n_seeds / 4) * rng.normal(size=(k, n_seeds, 1)) + rng.normal(size=(1, n_seeds, 1))
    of_examples = np.sqrt(n / 4) * rng.normal(size=(k, 1, n)) + rng.normal(size=(1, 1, n))
    return np.asarray(truth[:, None, None] + of_seeds + of_examples + 0.1 * rng.normal(size=(k, n_seeds, n)))


def test_methods_that_do_not_differ_have_equal_chances() -> None:
    x = np.random.default_rng(0).normal(size=(1, 3, 40))
    assert chance_of_best(np.repeat(x, 4, axis=0), seed=0) == pytest.approx(np.full(4, 0.25), abs=0.03)


def test_two_equal_methods_over_few_seeds_are_about_even() -> None:
    """A difference of one standard error between two methods over three seeds."""
    rng = np.random.default_rng(1)
    leading = [chance_of_best(_scores(np.zeros(2), 3, rng), seed=0, n_draws=400).max() for _ in range(100)]
    assert 0.5 < np.mean(leading) < 0.72


def test_a_difference_far_above_its_error_is_sure() -> None:
    scores = np.random.default_rng(0).normal(scale=0.1, size=(3, 5, 200))
    scores[1] += 0.5
    assert chance_of_best(scores, seed=0)[1] > 0.99
    apart = np.zeros((2, 3, 10))
    apart[0] += 0.1  # the same in all seeds and examples
    assert chance_of_best(apart, seed=0)[0] > 0.99


def test_what_is_shared_by_all_methods_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4, 30))
    moved = x + 5 * rng.normal(size=(1, 4, 1)) + 5 * rng.normal(size=(1, 1, 30))
    assert chance_of_best(moved, seed=0) == pytest.approx(chance_of_best(x, seed=0), abs=1e-3)


def test_one_test_set_bounds_what_many_seeds_can_say() -> None:
    """20 seeds, all better on the same 30 examples by what these happen to be: not sure for other examples."""
    rng = np.random.default_rng(0)
    luck = rng.normal(size=30)
    luck += 0.3 - luck.mean()  # 1.6 standard errors
    scores = np.stack([np.tile(luck, (20, 1)), np.zeros((20, 30))]) + 0.01 * rng.normal(size=(2, 20, 30))
    assert chance_of_best(scores, seed=0)[0] < 0.95


def test_the_same_seed_gives_the_same_chances() -> None:
    x = np.random.default_rng(0).random((2, 3, 10))
    assert (chance_of_best(x, seed=5) == chance_of_best(x, seed=5)).all()
    assert (chance_of_best(x, seed=5) != chance_of_best(x, seed=6)).any()


@pytest.mark.parametrize("scores", [np.full((2, 2, 3), np.nan), np.zeros((1, 2, 3)), np.zeros((2, 1, 3))])
def test_scores_that_cannot_be_compared_are_refused(scores: np.ndarray) -> None:
    with pytest.raises(DataError) as error:
        chance_of_best(scores, seed=0)
    assert str(error.value) == (
        f"scores of shape {scores.shape} are too few or not finite; give finite numbers of at least two methods, two "
        "seeds and two examples"
    )


def test_no_draws_are_refused() -> None:
    with pytest.raises(SettingsError) as error:
        chance_of_best(np.zeros((2, 2, 2)), seed=0, n_draws=0)
    assert str(error.value) == "n_draws = 0 was given; expected at least 1"
