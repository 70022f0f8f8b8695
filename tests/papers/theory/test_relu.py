"""The split of a ReLU target: golden values, sampled least squares, duplicates, the boundary of negative transfer."""

import math

import numpy as np
import pytest

from transferscope_papers.problems import ReluNetwork, ablate, relu_teacher
from transferscope_papers.theory.relu import (
    fit_power_law,
    kernel_alignment,
    negative_transfer_size,
    outside_features,
)

FEATURES = np.array([[1.0, 0, 0], [0, 1, 0]])
TARGET = ReluNetwork(np.array([[0.0, 0, 1], [0.6, 0.8, 0]]), np.array([1.0, -2.0]))


def test_the_split_has_its_golden_values() -> None:
    assert TARGET.squared_norm() == pytest.approx(0.4658450569081046, rel=1e-13)
    outside = outside_features(FEATURES, TARGET)
    assert outside.value == pytest.approx(0.19073743042601887, rel=1e-13)
    assert (outside.stderr, outside.n, outside.status) == (0.0, 0, "ok")


def test_the_part_outside_is_the_residual_of_least_squares() -> None:
    generator = np.random.default_rng(0)
    target, student = relu_teacher(6, 5, generator), relu_teacher(6, 12, generator)
    residuals = np.empty(6)
    for i in range(6):
        inputs = generator.standard_normal((40_000, 6))
        features, labels = student.features(inputs), target.predict(inputs)
        head = np.linalg.lstsq(features, labels, rcond=None)[0]
        residuals[i] = np.mean((features @ head - labels) ** 2)
    truth = outside_features(student.neurons, target).value
    assert abs(residuals.mean() - truth) < 4 * residuals.std(ddof=1) / math.sqrt(6)


def test_duplicates_and_scales_do_not_matter() -> None:
    doubled = np.concatenate([FEATURES, 3 * FEATURES, FEATURES[:1]])
    outside = outside_features(doubled, TARGET)
    assert outside.value == pytest.approx(0.19073743042601887, rel=1e-12)
    assert outside.status == "ok"


def test_near_duplicates_are_reported() -> None:
    generator = np.random.default_rng(1)
    target, student = relu_teacher(6, 5, generator), relu_teacher(6, 12, generator)
    near = np.concatenate([student.neurons + 1e-4 * generator.standard_normal((12, 6)) for _ in range(3)])
    outside = outside_features(near, target)
    assert outside.status == "not_identified"
    assert outside.value == pytest.approx(outside_features(student.neurons, target).value, rel=1e-2)


def test_the_alignment_of_kernels_is_the_cosine_of_sampled_gram_matrices() -> None:
    generator = np.random.default_rng(4)
    one, other = relu_teacher(3, 4, generator), relu_teacher(3, 6, generator)
    cosines = np.empty(20)
    for i in range(20):
        x, y = generator.standard_normal((2, 2000, 3))
        grams = [net.features(x) @ net.features(y).T for net in (one, other)]
        cosines[i] = (grams[0] * grams[1]).sum() / np.sqrt((grams[0] ** 2).sum() * (grams[1] ** 2).sum())
    truth = kernel_alignment(one.neurons, other.neurons)
    assert abs(cosines.mean() - truth) < 4 * cosines.std(ddof=1) / math.sqrt(20)
    assert kernel_alignment(one.neurons, 2 * np.repeat(one.neurons, 3, axis=0)) == pytest.approx(1)


def test_the_published_shares_outside_come_out_with_heads_of_one() -> None:
    """tahir2024 Fig. 4d: from near 0 to 0.04 over shares up to 0.7, of teachers with 100 neurons in 100 dimensions."""
    outside = {}
    for head_mean, head_std in ((1.0, 0.0), (0.0, 1.0)):
        generator = np.random.default_rng(5)
        target = relu_teacher(100, 100, generator, head_mean=head_mean, head_std=head_std)
        part = outside_features(ablate(target, 0.7, generator).source.neurons, target)
        outside[head_mean] = part.value / target.squared_norm()
    assert 0.03 < outside[1.0] < 0.05
    assert outside[0.0] > 0.3


def test_an_unablated_source_knows_all_and_ablation_loses_steadily() -> None:
    generator = np.random.default_rng(2)
    target = relu_teacher(30, 30, generator)
    outside = [
        outside_features(ablate(target, mu, np.random.default_rng(3)).source.neurons, target).value
        for mu in (0.0, 0.2, 0.5, 0.9)
    ]
    assert outside[0] == pytest.approx(0, abs=1e-14)
    assert outside[0] >= 0
    assert outside == sorted(outside)


def test_a_power_law_is_recovered_and_gives_the_boundary() -> None:
    n = np.array([50.0, 100, 400, 1000])
    law = fit_power_law(n, 3 * n**-1.18)
    assert law.amplitude == pytest.approx(3)
    assert law.exponent == pytest.approx(1.18)
    edge = negative_transfer_size(np.array([0.0, 0.01]), law)
    assert edge[0] == math.inf
    assert 3 * edge[1] ** -1.18 == pytest.approx(0.01)
