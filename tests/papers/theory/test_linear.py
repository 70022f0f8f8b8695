"""Scratch, linear transfer and ridge: golden values, least squares on drawn data, boundaries, impossible parameters."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from transferscope_papers.problems import teachers_at_angle
from transferscope_papers.theory.linear_scratch import scratch_risk, scratch_risk_finite
from transferscope_papers.theory.linear_transfer import (
    linear_transfer_risk,
    linear_transferability,
    linear_transferability_finite,
    negative_transfer,
)
from transferscope_papers.theory.ridge import optimal_ridge, ridge_risk, ridge_risk_limit


def z_score(values: np.ndarray, truth: float) -> float:
    return float((values.mean() - truth) / (values.std(ddof=1) / math.sqrt(len(values))))


def test_scratch_risk_is_infinite_where_its_mean_does_not_exist() -> None:
    assert scratch_risk(1.0, sigma=0.1) == math.inf
    np.testing.assert_array_equal(
        np.isinf(scratch_risk_finite(np.arange(6, 15), 10, sigma=0.1)),
        [False, False, False, True, True, True, False, False, False],
    )


def test_scratch_risk_without_noise_vanishes_once_there_are_enough_examples() -> None:
    np.testing.assert_array_equal(scratch_risk(np.array([1.0, 2.0]), sigma=0), [0, 0])
    np.testing.assert_allclose(scratch_risk_finite(np.array([5, 10, 11]), 10, sigma=0), [0.5, 0, 0])


@pytest.mark.parametrize("n", [10, 45])
def test_scratch_risk_at_finite_size_is_that_of_least_squares(n: int) -> None:
    generator = np.random.default_rng(1)
    target = teachers_at_angle(30, theta=0.3, sigma=0.4, target_norm=1.5).target
    risks = np.empty(400)
    for i in range(len(risks)):
        sample = target.sample(n, generator)
        risks[i] = target.risk(np.linalg.lstsq(sample.inputs, sample.targets, rcond=None)[0])
    assert abs(z_score(risks, float(scratch_risk_finite(n, 30, sigma=0.4, target_norm=1.5)))) < 4


def test_the_limit_is_approached() -> None:
    np.testing.assert_allclose(
        scratch_risk_finite(np.array([3e5, 3e6]), 1e6, sigma=0.7),
        scratch_risk(np.array([0.3, 3]), sigma=0.7),
        rtol=1e-5,
    )


def test_linear_transfer_needs_more_than_two_examples() -> None:
    np.testing.assert_array_equal(
        np.isinf(linear_transfer_risk(1.0, np.array([1, 2, 3]), sigma=0.1)), [True, True, False]
    )
    assert linear_transfer_risk(0.0, 1, sigma=0) == 0
    assert linear_transfer_risk(math.pi, 1, sigma=0) == 0


@pytest.mark.parametrize("seed", range(3))
def test_linear_transfer_is_the_regression_on_the_sources_direction(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pair = teachers_at_angle(20, theta=1.0, sigma=0.3, source_norm=2.0, target_norm=1.3, generator=generator)
    risks = np.empty(3000)
    for i in range(len(risks)):
        sample = pair.sample(12, generator)
        feature = sample.inputs @ pair.source.weights
        risks[i] = pair.target.risk(pair.source.weights * (feature @ sample.targets) / (feature @ feature))
    assert abs(z_score(risks, float(linear_transfer_risk(1.0, 12, sigma=0.3, target_norm=1.3)))) < 4


def test_transferability_is_the_difference_of_the_risks() -> None:
    theta, gamma = np.linspace(0, math.pi, 7)[:, None], np.array([0.2, 0.9, 1.4])
    truth = scratch_risk(gamma, sigma=0.4, target_norm=2) - linear_transfer_risk(
        theta, math.inf, sigma=0.4, target_norm=2
    )
    np.testing.assert_allclose(linear_transferability(theta, gamma, sigma=0.4, target_norm=2), truth)
    assert linear_transferability(1.0, 1.0, sigma=0.4) == math.inf


def test_where_both_risks_are_infinite_transfer_is_no_way_out() -> None:
    assert linear_transferability_finite(1.0, 2, 3, sigma=0.4) == -math.inf
    assert linear_transferability_finite(1.0, 10, 10, sigma=0.4) == math.inf


def test_the_boundaries_have_their_golden_values() -> None:
    region = negative_transfer(np.arccos([0.5, 0.3, 0.85]), sigma=np.array([0.2, 0.5, 0.2]))
    np.testing.assert_allclose(region.lower, [0.264375573395, 0.126061230866, math.inf], rtol=1e-11)
    np.testing.assert_allclose(region.upper, [0.945624426605, 0.713938769134, -math.inf], rtol=1e-11)


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.6, 1.0, 3.0])
def test_the_boundaries_are_where_the_transferability_changes_sign(sigma: float) -> None:
    theta = np.linspace(0.02, math.pi - 0.02, 41)
    region = negative_transfer(theta, sigma=sigma)
    for gamma in np.linspace(0.013, 2.5, 97):
        inside = (region.lower < gamma) & (gamma < region.upper) | (gamma > region.from_above)
        np.testing.assert_array_equal(inside, linear_transferability(theta, gamma, sigma=sigma) < 0)


def test_equal_teachers_never_transfer_badly() -> None:
    region = negative_transfer(np.array([0.0, math.pi]), sigma=0.0)
    np.testing.assert_array_equal([region.lower, region.from_above], np.full((2, 2), math.inf))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 400])
@pytest.mark.parametrize("ridge", [1e-3, 0.4, 30.0])
def test_ridge_is_the_integral_over_chi_squared(n: int, ridge: float) -> None:
    c, s2, sigma, a = math.cos(1.0), math.sin(1.0) ** 2, 0.6, n * ridge

    def risk(u: float) -> float:
        return 1 + c**2 * (u / (u + a)) ** 2 + (s2 + sigma**2) * u / (u + a) ** 2 - 2 * c**2 * u / (u + a)

    law = stats.chi2(n)
    cuts = law.ppf([1e-13, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-6, 1 - 1e-13])
    truth = sum(
        integrate.quad(lambda v: risk(v**2) * law.pdf(v**2) * 2 * v, math.sqrt(lo), math.sqrt(hi), epsabs=1e-13)[0]
        for lo, hi in zip([0.0, *cuts[:-1]], cuts, strict=True)
    )
    assert float(ridge_risk(ridge, 1.0, n, sigma=sigma)) == pytest.approx(truth, rel=1e-9)


def test_ridge_tends_to_no_ridge_and_to_its_limit() -> None:
    n = np.array([3, 7, 50])
    np.testing.assert_allclose(ridge_risk(0, 1.0, n, sigma=0.4), linear_transfer_risk(1.0, n, sigma=0.4), rtol=1e-12)
    assert ridge_risk(0, 1.0, 2, sigma=0.4) == math.inf
    assert float(ridge_risk(0.3, 1.0, 10**6, sigma=0.4)) == pytest.approx(float(ridge_risk_limit(0.3, 1.0)), rel=1e-5)


def test_the_optimal_ridge_is_where_the_risk_is_least() -> None:
    found = optimize.minimize_scalar(
        lambda x: float(ridge_risk(x, 1.0, 9, sigma=0.4, source_norm=2, target_norm=1.5, depth=3)),
        bounds=(0.01, 5),
        method="bounded",
        options={"xatol": 1e-9},
    )
    formula = float(optimal_ridge(1.0, 9, sigma=0.4, source_norm=2, target_norm=1.5, depth=3))
    assert found.x == pytest.approx(formula, rel=1e-4)
    assert optimal_ridge(math.pi / 2, 9, sigma=0.4) == math.inf


def test_the_ridge_acts_through_the_norm_of_the_feature() -> None:
    generator = np.random.default_rng(4)
    pair = teachers_at_angle(4, theta=0.9, source_norm=2.0, target_norm=1.2, sigma=0.5)
    feature_of = pair.source.weights * 2.0 ** (-1 / 3)  # depth 3: norm 2^(2/3)
    risks = np.empty(4000)
    for i in range(len(risks)):
        sample = pair.sample(8, generator)
        feature = sample.inputs @ feature_of
        head = feature @ sample.targets / (feature @ feature + 8 * 0.2)
        risks[i] = pair.target.risk(head * feature_of)
    truth = ridge_risk(0.2, 0.9, 8, sigma=0.5, source_norm=2.0, target_norm=1.2, depth=3)
    assert abs(z_score(risks, float(truth))) < 4
