"""The bounds of shachaf2021 section 4: golden values, validity on drawn data, and the crossing that Figure 1 shows."""

import math

import numpy as np
import pytest

from transferscope_papers.problems import isotropic, power_law_covariance, two_level
from transferscope_papers.problems.linear import Covariance
from transferscope_papers.theory.fine_tuning_bounds import (
    benign_overfitting_bound,
    deviation_bound,
    fine_tuning_bound,
)

GOLDEN_SPECTRUM = np.array([2.0, 1, 1])
DIFFERENCE = np.array([1.0, 2, 3])


def test_the_deviation_bound_has_its_golden_value() -> None:
    assert deviation_bound(GOLDEN_SPECTRUM, 4) == pytest.approx(math.sqrt(2))
    assert deviation_bound(GOLDEN_SPECTRUM, 4, constant=3) == pytest.approx(3 * math.sqrt(2))


def test_theorem_4_2_has_its_golden_value() -> None:
    bound = fine_tuning_bound(DIFFERENCE, Covariance(GOLDEN_SPECTRUM), deviation=deviation_bound(GOLDEN_SPECTRUM, 4))
    assert bound.values[0] == pytest.approx(38.1837661841)
    assert bound.best == pytest.approx(2 * 14)  # lambda_1 ||D||^2, below all of them
    assert bound.values.min() > 28


def test_a_null_direction_bounds_nothing() -> None:
    bound = fine_tuning_bound(DIFFERENCE, Covariance(np.array([1.0, 1, 0])), deviation=0.1)
    np.testing.assert_array_equal(np.isinf(bound.values), [False, False, True])


def observed_deviation(inputs: np.ndarray, covariance: Covariance) -> float:
    """The g of the data, for which Theorem 4.2 holds with certainty: ||X'X/n - Sigma||."""
    basis = covariance.eigenvectors if covariance.eigenvectors is not None else np.eye(60)
    sigma = basis * covariance.eigenvalues @ basis.T
    return float(np.linalg.norm(inputs.T @ inputs / len(inputs) - sigma, ord=2))


@pytest.mark.parametrize("covariance", [isotropic(60), two_level(60, n_top=5), power_law_covariance(60, exponent=1)])
@pytest.mark.parametrize("n", [10, 50])
def test_theorem_4_2_holds_for_every_m_with_the_deviation_of_the_data(covariance: Covariance, n: int) -> None:
    generator = np.random.default_rng(n)
    for _ in range(10):
        inputs, difference = covariance.sample(n, generator), generator.standard_normal(60)
        risk = covariance.squared_norm(difference - np.linalg.pinv(inputs) @ inputs @ difference)
        bound = fine_tuning_bound(difference, covariance, deviation=observed_deviation(inputs, covariance))
        assert (bound.values >= risk).all()
        assert bound.best >= risk


@pytest.mark.parametrize("covariance", [isotropic(60), power_law_covariance(60, exponent=1)])
def test_a_constant_of_three_covers_the_deviation(covariance: Covariance) -> None:
    generator = np.random.default_rng(0)
    seen = [observed_deviation(covariance.sample(40, generator), covariance) for _ in range(40)]
    assert max(seen) <= deviation_bound(covariance.eigenvalues, 40, constant=3)
    assert max(seen) > deviation_bound(covariance.eigenvalues, 40)


def test_the_bound_adapted_from_benign_overfitting_has_its_golden_values() -> None:
    spectrum = np.array([1.0] + [0.1] * 99)
    assert benign_overfitting_bound(np.eye(100)[0], spectrum, 20) == pytest.approx(0.7382411530)
