"""Distances between tasks: golden values, the full-dimensional formulas, transport of samples."""

import math

import numpy as np
import pytest
from scipy import linalg

from transferscope_papers.problems import teachers_at_angle
from transferscope_papers.tahir2024.sampled_distance import reduced
from transferscope_papers.theory.distances import kl_divergence, teacher_distance, wasserstein_1, wasserstein_2

GOLDEN = [
    (1, 1, math.pi / 4, 0.2, 7.32233047, 0.62635439, 0.390944, 0.610674),
    (1, 1, math.pi / 2, 0.2, 25.00000000, 1.20873937, 0.722371, 1.128379),
    (1, 2, math.pi / 3, 0.5, 6.00000000, 1.35216244, 0.968215, 1.352162),
    (1, 1, math.pi, 0.2, 50.00000000, 1.80997512, 1.021586, 1.595769),
]


@pytest.mark.parametrize(("s", "tau", "theta", "sigma", "kl", "w2", "lower", "upper"), GOLDEN)
def test_distances_have_their_golden_values(
    s: float, tau: float, theta: float, sigma: float, kl: float, w2: float, lower: float, upper: float
) -> None:
    assert float(kl_divergence(theta, sigma=sigma, source_norm=s, target_norm=tau)) == pytest.approx(kl, abs=1e-8)
    assert float(wasserstein_2(theta, sigma=sigma, source_norm=s, target_norm=tau)) == pytest.approx(w2, abs=1e-8)
    below, above = wasserstein_1(theta, sigma=sigma, source_norm=s, target_norm=tau)
    assert float(below) == pytest.approx(lower, abs=1e-5)
    assert float(above) == pytest.approx(upper, abs=1e-6)


def joint_covariance(weights: np.ndarray, sigma: float) -> np.ndarray:
    d = len(weights)
    covariance = np.eye(d + 1)
    covariance[:d, d] = covariance[d, :d] = weights
    covariance[d, d] = weights @ weights + sigma**2
    return covariance


def test_three_dimensions_stand_for_all() -> None:
    pair = teachers_at_angle(
        12, theta=1.1, source_norm=0.8, target_norm=1.7, sigma=0.4, generator=np.random.default_rng(0)
    )
    first, second = joint_covariance(pair.source.weights, 0.4), joint_covariance(pair.target.weights, 0.4)
    root = linalg.sqrtm(first)
    w2 = math.sqrt(np.trace(first + second - 2 * np.real(linalg.sqrtm(root @ second @ root))))
    kl = 0.5 * (np.trace(linalg.solve(second, first)) - 13 + np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1])
    assert float(wasserstein_2(1.1, sigma=0.4, source_norm=0.8, target_norm=1.7)) == pytest.approx(w2, abs=1e-7)
    assert float(kl_divergence(1.1, sigma=0.4, source_norm=0.8, target_norm=1.7)) == pytest.approx(kl, abs=1e-9)
    small = reduced(pair)
    assert small.target.d == 2
    assert small.theta == pytest.approx(1.1)
    assert (small.source.norm, small.target.norm, small.target.sigma) == pytest.approx((0.8, 1.7, 0.4))


def test_equal_tasks_have_no_distance_and_noise_keeps_the_divergence_finite() -> None:
    assert kl_divergence(0.0, sigma=0.0) == 0
    assert kl_divergence(0.1, sigma=0.0) == math.inf
    assert [float(end) for end in wasserstein_1(0.0, sigma=0.3)] == [0, 0]
    assert float(teacher_distance(math.pi, source_norm=2, target_norm=1)) == pytest.approx(3)
