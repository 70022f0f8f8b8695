"""What pretraining leaves: edges of products of Gaussian matrices, finite sources, heads on what is left."""

import math

import numpy as np
import pytest

from transferscope_papers.problems import LinearTeacher, isotropic, teachers_at_angle
from transferscope_papers.theory.gaussian_regression import regression_on_features
from transferscope_papers.theory.linear_transfer import linear_transfer_risk
from transferscope_papers.theory.sparsification import estimated_source_outside, leftover_features, remaining_features


def test_one_layer_has_the_edge_of_marchenko_and_pastur_and_square_ones_that_of_fuss_and_catalan() -> None:
    widths = np.array([10.0, 40.0, 90.0])
    edge = (math.sqrt(40) + np.sqrt(widths)) / math.sqrt(2.0)
    np.testing.assert_allclose(remaining_features(0.01, 40, depth=2, width=widths, source_norm=2.0), 0.01 * edge)
    for depth in (3, 4, 6):
        largest = math.sqrt(depth**depth / (depth - 1) ** (depth - 1) * 50.0 ** (depth - 1))
        assert float(remaining_features(0.1, 50, depth=depth, width=50)) == pytest.approx(
            0.1 ** (depth - 1) * largest, rel=1e-6
        )


def test_drawn_products_of_other_shapes_have_their_edge() -> None:
    d, width = 240, 120
    features = leftover_features(
        1e-9 * np.eye(d)[0], scale=1.0, depth=3, width=width, generator=np.random.default_rng(0)
    )
    found = float(np.linalg.norm(features, ord=2))
    assert found == pytest.approx(float(remaining_features(1.0, d, depth=3, width=width)), rel=0.04)


def test_a_vanishing_start_leaves_the_source_alone() -> None:
    source = np.array([0.0, 3.0, 4.0])
    features = leftover_features(source, scale=0.0, depth=3, width=5, generator=np.random.default_rng(1))
    np.testing.assert_allclose(features @ features.T, 5 ** (4 / 3) * np.outer(source, source) / 25, atol=1e-12)
    assert float(remaining_features(0.0, 3, depth=2, width=5)) == 0
    target = LinearTeacher(np.array([1.0, 1, 0]), 0.3, isotropic(3))
    theta = math.acos(3 / 5 / math.sqrt(2))
    truth = linear_transfer_risk(theta, 9, sigma=0.3, target_norm=math.sqrt(2))
    assert float(regression_on_features(target, features).risk(9)) == pytest.approx(float(truth))


@pytest.mark.parametrize("n_source", [12, 60, 150])
def test_the_feature_of_a_finite_source_is_that_of_least_squares(n_source: int) -> None:
    d, theta, generator = 30, 0.8, np.random.default_rng(2)
    pair = teachers_at_angle(d, theta=theta, source_norm=1.5)
    task = LinearTeacher(pair.source.weights, 0.6, isotropic(d))
    outside = np.empty(150)
    for i in range(len(outside)):
        sample = task.sample(n_source, generator)
        found = np.linalg.lstsq(sample.inputs, sample.targets, rcond=None)[0]
        outside[i] = 1 - (found @ pair.target.weights) ** 2 / (found @ found)
    truth = float(estimated_source_outside(theta, n_source, d, sigma=0.6, source_norm=1.5))
    assert abs(outside.mean() - truth) < 4 * outside.std(ddof=1) / math.sqrt(len(outside)) + 0.01


def test_an_endless_source_is_the_population_and_a_hopeless_one_a_random_direction() -> None:
    assert float(estimated_source_outside(0.8, math.inf, 30, sigma=0.6)) == pytest.approx(math.sin(0.8) ** 2)
    assert float(estimated_source_outside(0.8, 30, 30, sigma=0.6)) == pytest.approx(29 / 30)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_a_head_on_what_is_left_has_the_risk_of_drawn_examples(ridge: float) -> None:
    """The features of a start of finite scale: an exact head of least norm uses all of them, a ridge few."""
    generator = np.random.default_rng(3)
    pair = teachers_at_angle(50, theta=0.9, sigma=0.3)
    features = leftover_features(pair.source.weights, scale=0.004, depth=3, width=60, generator=generator)
    risks = np.empty(60)
    for i in range(len(risks)):
        sample = pair.target.sample(25, generator)
        seen = sample.inputs @ features
        head = seen.T @ np.linalg.solve(seen @ seen.T + 25 * ridge * np.eye(25), sample.targets)
        risks[i] = pair.target.risk(features @ head)
    truth = float(regression_on_features(pair.target, features).risk(25, ridge))
    assert abs(risks.mean() - truth) < 4 * risks.std(ddof=1) / math.sqrt(len(risks)) + 0.05 * truth
    if ridge == 0:  # far from the limit, however small the start
        assert truth > 1.1 * float(linear_transfer_risk(0.9, 25, sigma=0.3))
