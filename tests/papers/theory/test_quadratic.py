"""Quadratic networks: golden constants against minimisation of the penalised population loss."""

import numpy as np
import pytest
import torch
from scipy import optimize

from transferscope_papers.simulate.quadratic import population_loss
from transferscope_papers.theory.quadratic import (
    NONZERO_BELOW,
    OVERFITTING_BELOW,
    SPARSEST_PENALTY,
    WRONG_FEATURE_LOSS,
    source_minimum,
)


def loss_of(heads: np.ndarray, features: np.ndarray) -> float:
    """Of a source of which two entries of three tell y."""
    telling = torch.tensor([[1.0, 1, 0]], dtype=torch.float64)
    return float(population_loss(torch.from_numpy(features)[None], torch.from_numpy(heads)[None], telling)[0])


def test_constants_have_their_golden_values() -> None:
    assert pytest.approx(1.889882, abs=1e-6) == SPARSEST_PENALTY
    assert pytest.approx(0.370370, abs=1e-6) == WRONG_FEATURE_LOSS
    assert pytest.approx(0.36402, abs=1e-5) == OVERFITTING_BELOW
    assert pytest.approx(0.41997, abs=1e-5) == NONZERO_BELOW


def test_the_source_minimum_has_its_golden_values() -> None:
    result = source_minimum(np.array([0.01, 0.03]))
    np.testing.assert_allclose(result.value, [0.0188391, 0.0561555], atol=1e-7)
    np.testing.assert_allclose(result.mu, [0.99052, 0.97138], atol=1e-5)
    assert result.head[0] == pytest.approx(0.79118, abs=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 0.05, 0.2, 0.41, 0.43, 2.0])
def test_the_source_minimum_is_that_of_one_neuron(penalty: float) -> None:
    def objective(x: np.ndarray) -> float:
        return loss_of(x[:1], np.array([[x[1]], [0], [0]])) + penalty * float(x @ x)

    starts = (np.zeros(2), np.array([0.8, 1.1]), np.array([0.65, 0.9]))
    found = min(float(optimize.minimize(objective, x, tol=1e-12).fun) for x in starts)
    assert float(source_minimum(penalty).value) == pytest.approx(found, abs=1e-9)


def test_the_minimum_vanishes_at_its_threshold() -> None:
    edge = source_minimum(np.array([NONZERO_BELOW - 1e-9, NONZERO_BELOW + 1e-9]))
    assert edge.mu[0] == pytest.approx(0.5, abs=1e-4)
    assert edge.mu[1] == 0
    np.testing.assert_allclose(edge.value, 2 / 3, atol=1e-8)


@pytest.mark.long
def test_a_second_neuron_or_entry_does_not_help() -> None:
    penalty = 0.05

    def objective(x: np.ndarray) -> float:
        return loss_of(x[:2], x[2:].reshape(3, 2)) + penalty * float(x @ x)

    generator = np.random.default_rng(0)
    found = min(float(optimize.minimize(objective, generator.standard_normal(8)).fun) for _ in range(15))
    assert found == pytest.approx(float(source_minimum(penalty).value), abs=1e-6)
