"""Ridge regression on Gaussian inputs: older closed forms, drawn examples, the best ridge by another search."""

import math

import numpy as np
import pytest
from scipy import optimize

from transferscope_papers.problems import Covariance, LinearTeacher, isotropic, teachers_at_angle
from transferscope_papers.theory.gaussian_regression import (
    GaussianRegression,
    regression_from_scratch,
    regression_on_features,
    ridge_weights,
)
from transferscope_papers.theory.linear_scratch import scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk
from transferscope_papers.theory.ridge import optimal_ridge, ridge_risk

SIZES = np.array([3, 12, 24, 25, 26, 60])


def turned(eigenvalues: np.ndarray, seed: int) -> Covariance:
    d = len(eigenvalues)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d))).Q
    return Covariance(np.sort(eigenvalues)[::-1].copy(), basis)


def test_for_equal_variances_the_older_closed_forms_come_out() -> None:
    pair = teachers_at_angle(25, theta=0.7, sigma=0.4, source_norm=2.0, target_norm=1.5)
    scratch = regression_from_scratch(pair.target)
    known = {"sigma": 0.4, "target_norm": 1.5}
    np.testing.assert_allclose(scratch.risk(SIZES), scratch_risk_finite(SIZES, 25, **known), rtol=1e-9)
    assert scratch.is_exact(SIZES).all()
    best = scratch.risk(SIZES, scratch.best_ridge(SIZES))
    gamma = 25 / SIZES  # Dobriban and Wager 2018, Theorem 2.1
    a = 1.5**2 * (1 - gamma) + 0.4**2 * gamma
    limit = (np.sqrt(a**2 + 4 * gamma**2 * 0.4**2 * 1.5**2) - a) / (2 * gamma)
    np.testing.assert_allclose(best, limit, rtol=1e-9)
    feature = regression_on_features(pair.target, pair.source.weights[:, None] / math.sqrt(2))  # two layers
    np.testing.assert_allclose(feature.risk(SIZES), linear_transfer_risk(0.7, SIZES, **known), rtol=1e-9)
    ridged = ridge_risk(0.3, 0.7, SIZES, source_norm=2.0, **known)
    np.testing.assert_allclose(feature.risk(SIZES, 0.3), ridged, rtol=1e-9)
    ridge = optimal_ridge(0.7, SIZES, source_norm=2.0, **known)
    np.testing.assert_allclose(feature.best_ridge(SIZES), ridge, rtol=1e-9)


def test_several_features_cost_what_they_leave_and_what_they_learn() -> None:
    generator = np.random.default_rng(2)
    task = LinearTeacher(generator.standard_normal(9), 0.4, turned(generator.gamma(2.0, 0.5, 9), 2))
    basis = task.covariance.eigenvectors
    assert basis is not None
    sigma, features = basis @ np.diag(task.covariance.eigenvalues) @ basis.T, generator.standard_normal((9, 3))
    cross = features.T @ sigma @ task.weights
    left = task.weights @ sigma @ task.weights - cross @ np.linalg.inv(features.T @ sigma @ features) @ cross
    truth = left + (left + 0.4**2) * 3 / (11 - 3 - 1)
    assert float(regression_on_features(task, features).risk(11)) == pytest.approx(truth)
    assert np.isinf(regression_on_features(task, features).risk(np.array([2, 3, 4]))).all()


@pytest.mark.parametrize("ridge", [0.0, 0.15, "best"])
def test_theory_agrees_with_drawn_examples_for_unequal_variances(ridge: float | str) -> None:
    """At d = 70 the limit is off by less than the error of 40 draws."""
    generator = np.random.default_rng(4)
    task = LinearTeacher(generator.standard_normal(70) / 8, 0.5, turned(np.geomspace(0.05, 4, 70), 3))
    regression = regression_from_scratch(task)
    for n in (20, 45, 110):
        chosen = float(regression.best_ridge(n)) if ridge == "best" else float(ridge)
        samples = [task.sample(n, generator) for _ in range(40)]
        risks = np.array([task.risk(ridge_weights(one.inputs, one.targets, chosen)) for one in samples])
        truth = float(regression.risk(n, chosen))
        assert abs(risks.mean() - truth) < 3.5 * risks.std(ddof=1) / math.sqrt(40)
        assert risks.mean() == pytest.approx(truth, rel=0.15)


def test_ridge_weights_are_those_of_the_normal_equations() -> None:
    generator = np.random.default_rng(8)
    x, y = generator.standard_normal((15, 6)), generator.standard_normal(15)
    for ridge in (0.0, 0.3):
        truth = np.linalg.inv(x.T @ x / 15 + ridge * np.eye(6)) @ x.T @ y / 15
        np.testing.assert_allclose(ridge_weights(x, y, ridge), truth)
    np.testing.assert_allclose(ridge_weights(x[:4], y[:4], 0.0), np.linalg.pinv(x[:4]) @ y[:4])
    np.testing.assert_array_equal(ridge_weights(x, y, math.inf), np.zeros(6))


@pytest.mark.parametrize("n", [10.0, 30.0, 80.0])
def test_the_best_ridge_is_that_of_a_search_over_ridges(n: float) -> None:
    generator = np.random.default_rng(9)
    regression = GaussianRegression(np.geomspace(3, 0.01, 30), generator.uniform(0, 1, 30), noise=0.8)
    least = optimize.minimize_scalar(
        lambda x: float(regression.risk(n, math.exp(x))), bounds=(-12, 6), method="bounded", options={"xatol": 1e-6}
    )
    best = float(regression.best_ridge(n))
    assert float(regression.risk(n, best)) == pytest.approx(least.fun, rel=1e-7)
    assert best == pytest.approx(math.exp(least.x), rel=1e-2)


def test_without_noise_or_without_signal_the_best_ridge_is_at_an_end() -> None:
    eigenvalues, ones = np.geomspace(2, 0.1, 10), np.ones(10)
    assert float(GaussianRegression(eigenvalues, ones).best_ridge(20)) == 0
    assert math.isinf(float(GaussianRegression(eigenvalues, 0 * ones, noise=1.0).best_ridge(20)))
    orthogonal = regression_on_features(LinearTeacher(np.eye(4)[1], 0.2, isotropic(4)), np.eye(4)[:, :1])
    assert math.isinf(float(orthogonal.best_ridge(6)))
    assert float(orthogonal.risk(6, math.inf)) == pytest.approx(1.0)


def test_directions_without_variance_count_neither_as_inputs_nor_as_risk() -> None:
    full = LinearTeacher(np.array([1.0, 0, 2, 7]), 0.3, Covariance(np.array([2.0, 1, 1, 0])))
    part = LinearTeacher(full.weights[:3], 0.3, Covariance(full.covariance.eigenvalues[:3]))
    for ridge in (0.0, 0.2):
        known = regression_from_scratch(part).risk(SIZES, ridge)
        np.testing.assert_allclose(regression_from_scratch(full).risk(SIZES, ridge), known)
