import math

import numpy as np
import pytest
from scipy import stats

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.hierarchical_bootstrap import bootstrap_means, probability_of_best


def test_the_draws_scatter_as_two_way_resampling_must() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 4, 30)) + rng.normal(size=(1, 4, 1)) + rng.normal(size=(1, 1, 30))
    means = bootstrap_means(x, seed=1, n_draws=20_000)[:, 0]
    expected = _two_way_variance(x[0])
    assert means.mean() == pytest.approx(x.mean(), abs=4 * math.sqrt(expected / 20_000))
    assert means.var() == pytest.approx(expected, rel=4 * math.sqrt(2 / 20_000) * 1.5)


def test_with_one_seed_and_right_or_wrong_the_draws_are_binomial() -> None:
    correct = np.arange(200) < 150
    means = bootstrap_means(correct[None, None, :].astype(np.int8), seed=0, n_draws=5000)[:, 0]
    assert means.std() == pytest.approx(math.sqrt(0.75 * 0.25 / 200), rel=0.05)
    seen = np.bincount(np.rint(means * 200).astype(int), minlength=201)
    expected = 5000 * stats.binom.pmf(np.arange(201), 200, 0.75)
    common = expected > 20
    chi_square = ((seen - expected) ** 2 / expected)[common].sum()
    assert chi_square < stats.chi2.ppf(0.999, common.sum())


def test_seeds_and_examples_are_shared_by_all_methods() -> None:
    x = np.random.default_rng(0).normal(size=(1, 3, 40))
    means = bootstrap_means(np.concatenate([x, x + 0.25]), seed=0, n_draws=700)
    assert means[:, 1] - means[:, 0] == pytest.approx(np.full(700, 0.25), abs=1e-9)


def test_the_same_seed_gives_the_same_draws() -> None:
    x = np.random.default_rng(0).random((2, 3, 10))
    assert (bootstrap_means(x, seed=5) == bootstrap_means(x, seed=5)).all()
    assert (bootstrap_means(x, seed=5) != bootstrap_means(x, seed=6)).any()


def test_the_probability_of_best_shares_ties() -> None:
    means = np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.0], [0.5, 0.5, 0.5]])
    assert probability_of_best(means) == pytest.approx([(0.5 + 0 + 1 / 3) / 3, (0 + 1 + 1 / 3) / 3, (0.5 + 1 / 3) / 3])


def test_two_methods_of_equal_worth_are_best_equally_often_on_average() -> None:
    studies = np.random.default_rng(3).binomial(1, 0.8, size=(100, 2, 3, 100))
    p = [probability_of_best(bootstrap_means(study, seed=0, n_draws=200))[0] for study in studies]
    assert np.mean(p) == pytest.approx(0.5, abs=4 * np.std(p) / 10)


def test_ten_methods_take_well_under_a_second() -> None:
    correct = (np.random.default_rng(0).random((10, 5, 2007)) < 0.9).astype(np.int8)
    assert bootstrap_means(correct, seed=0).shape == (2000, 10)


def test_scores_that_are_missing_are_refused() -> None:
    with pytest.raises(DataError) as error:
        bootstrap_means(np.full((1, 2, 3), np.nan), seed=0)
    assert str(error.value) == "scores of shape (1, 2, 3) are empty or not finite; give one finite number for each"


def test_no_draws_are_refused() -> None:
    with pytest.raises(SettingsError) as error:
        bootstrap_means(np.zeros((1, 1, 1)), seed=0, n_draws=0)
    assert str(error.value) == "n_draws = 0 was given; expected at least 1"


def _two_way_variance(x: np.ndarray) -> float:
    """Exact variance of the doubly resampled mean: sum x x' E[w w'] E[v v'] - (mean)^2 with multinomial weights."""
    n_rows, n_columns = x.shape
    second = np.einsum("se,tf,st,ef->", x, x, _second_moments(n_rows), _second_moments(n_columns))
    return float(second - x.mean() ** 2)


def _second_moments(n: int) -> np.ndarray:
    """E[w w'] / n^2 for w multinomial with n trials over n equal cells."""
    covariance = (np.eye(n) / n - 1 / n**2) / n
    return np.asarray(covariance + 1 / n**2)
