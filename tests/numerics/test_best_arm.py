import numpy as np
import pytest
from scipy import stats

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.best_arm import best_arm, probability_of_best


def test_arms_that_do_not_differ_share_the_chance() -> None:
    rng = np.random.default_rng(1)
    chances = np.mean(
        [best_arm(rng.normal(size=(4, 5)) - rng.normal(size=5), n_draws=1000).chance for _ in range(40)], 0
    )
    np.testing.assert_allclose(chances, 0.2, atol=0.06)


def test_an_arm_far_ahead_is_the_best_and_alone_in_the_set() -> None:
    rng = np.random.default_rng(2)
    differences = 0.1 * rng.normal(size=(5, 4)) + np.array([0.0, 3.0, 1.0, -5.0, 0.0])[:, None]
    found = best_arm(differences)
    assert found.chance[2] > 0.99
    assert found.chance.sum() == pytest.approx(1)
    assert (found.p >= 0.05).tolist() == [False, False, True, False, False, False]


def test_with_one_arm_the_test_is_the_one_sided_t_test() -> None:
    differences = np.random.default_rng(3).normal(size=(1, 4)) + 1.0
    expected = stats.ttest_1samp(differences[0], 0.0, alternative="greater").pvalue
    found = best_arm(differences, n_draws=40_000)
    assert found.p[0] == pytest.approx(float(expected), abs=0.006)
    assert found.p[1] > 0.5


def test_the_set_holds_the_best_arm_as_often_as_it_says() -> None:
    rng, repeats, missed = np.random.default_rng(4), 200, 0
    for _ in range(repeats):
        true = np.array([0.0, 1.0, 1.0, 0.2, 0.9])  # two best arms: the hardest case for either
        scores = true[:, None] + rng.normal(size=(5, 4))
        missed += best_arm(scores[1:] - scores[0], n_draws=1000).p[1] < 0.05
    assert missed < 0.05 * repeats + 4 * np.sqrt(repeats * 0.05 * 0.95)


def test_an_arm_that_fails_does_not_make_the_choice_among_the_others_sure() -> None:
    rng = np.random.default_rng(5)
    differences = rng.normal(size=(6, 3)) - rng.normal(size=3)
    alone = best_arm(differences).chance.max()
    failed = best_arm(np.vstack([differences, rng.normal(size=(3, 3)) - 500])).chance.max()
    assert failed < alone + 0.2


def test_an_uncertain_test_set_makes_the_choice_less_sure() -> None:
    rng = np.random.default_rng(6)
    gains = (rng.random((5, 3, 60)) < 0.5).astype(np.float64) * rng.choice([-1, 1], size=(1, 3, 60))
    gains = np.repeat(gains[:1], 5, axis=0) + 0.001 * rng.normal(size=(5, 3, 1))
    differences = gains.mean(axis=2).T
    assert best_arm(differences, gains=gains).chance.max() < best_arm(differences).chance.max()
    assert best_arm(differences, gains=gains).p.min() > best_arm(differences).p.min()


def test_missing_runs_and_seeds_without_spread_have_no_chance() -> None:
    differences = np.random.default_rng(7).normal(size=(3, 4))
    differences[1, 1:] = np.nan
    found = best_arm(differences)
    assert np.isnan(found.chance).tolist() == [False, False, True, False]
    assert np.nansum(found.chance) == pytest.approx(1)
    assert np.isnan(best_arm(np.ones((2, 3))).chance).all()
    assert np.isnan(best_arm(np.ones((2, 1))).p).all()


@pytest.mark.parametrize(
    ("differences", "gains", "n_draws", "error"),
    [
        (np.full((1, 3), np.inf), None, 1000, DataError),
        (np.zeros((1, 3)), np.zeros((1, 3, 9)), 1000, DataError),
        (np.zeros((1, 3)), None, 10, SettingsError),
    ],
)
def test_what_makes_no_sense_is_refused(
    differences: np.ndarray, gains: np.ndarray | None, n_draws: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        best_arm(differences, gains=gains, n_draws=n_draws)


def test_the_probability_of_best_shares_ties() -> None:
    means = np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.0], [0.5, 0.5, 0.5]])
    assert probability_of_best(means) == pytest.approx([(0.5 + 0 + 1 / 3) / 3, (0 + 1 + 1 / 3) / 3, (0.5 + 1 / 3) / 3])


def test_the_chances_are_the_same_without_p_values() -> None:
    rng = np.random.default_rng(3)
    differences, gains = rng.normal(size=(4, 5)), rng.integers(-1, 2, size=(5, 4, 30))
    both, alone = (best_arm(differences, gains=gains, n_draws=1000, with_p=with_p) for with_p in (True, False))
    np.testing.assert_array_equal(both.chance, alone.chance)
    assert np.isnan(alone.p).all()
