"""Temperatures against the law that drew the labels, a grid of them, and SciPy's solver of the same problem."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from transferscope.numerics.calibration import fit_temperature


@pytest.mark.parametrize("temperature", [0.05, 1.0, 30.0])
def test_the_temperature_that_drew_the_labels_is_found(temperature: float) -> None:
    rng = np.random.default_rng(0)
    outputs = 2 * temperature * rng.normal(size=(20_000, 4))
    chances = softmax(outputs / temperature, axis=1)
    labels = (chances.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert fit_temperature(outputs, labels) == pytest.approx(temperature, rel=0.03)


def test_so_is_that_of_several_labels() -> None:
    rng = np.random.default_rng(1)
    outputs = 3 * rng.normal(size=(20_000, 3))
    assert fit_temperature(outputs, rng.random((20_000, 3)) < expit(outputs / 2)) == pytest.approx(2, rel=0.03)


def test_no_other_temperature_makes_the_smoothed_labels_likelier() -> None:
    rng = np.random.default_rng(2)
    outputs, labels = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    share = np.full((50, 3), 1 / 52 / 2)
    share[np.arange(50), labels] = 51 / 52

    def risk(inverse: np.ndarray) -> float:
        return -float((share * log_softmax(inverse[0] * outputs, axis=1)).sum())

    expected = minimize(risk, np.ones(1), bounds=[(1e-9, None)]).x[0]
    found = fit_temperature(outputs, labels)
    assert risk(np.array([1 / found])) == pytest.approx(risk(np.array([expected])), rel=1e-6)


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_where_every_prediction_is_right_nobody_is_sure_beyond_the_number_of_examples(n: int) -> None:
    labels = np.arange(n) % 2
    chances = softmax(0.1 * np.eye(2)[labels] / fit_temperature(0.1 * np.eye(2)[labels], labels), axis=1)
    assert chances.max() == pytest.approx((n + 1) / (n + 2), rel=1e-3)


def test_outputs_that_tell_nothing_stay_as_they_are() -> None:
    assert fit_temperature(np.ones((5, 3)), np.zeros(5, np.int64)) == 1.0
    assert fit_temperature(np.empty((0, 3)), np.empty(0, np.int64)) == 1.0
