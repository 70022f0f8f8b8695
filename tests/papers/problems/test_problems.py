"""Every problem's population quantities against the average over its own samples."""

import math

import numpy as np
import pytest
import torch

from transferscope_papers.problems import (
    Covariance,
    QuadraticProblem,
    ablate,
    isotropic,
    power_law_covariance,
    power_law_transfer,
    relu_teacher,
    teachers_apart,
    teachers_at_angle,
)
from transferscope_papers.problems.relu import relu_overlap
from transferscope_papers.simulate.quadratic import population_loss


def z_score(values: np.ndarray, truth: float) -> float:
    return float((values.mean() - truth) / (values.std(ddof=1) / math.sqrt(len(values))))


def rotated(eigenvalues: np.ndarray, seed: int) -> Covariance:
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(eigenvalues),) * 2)).Q
    return Covariance(eigenvalues, basis)


@pytest.mark.parametrize(
    "covariance", [isotropic(4), power_law_covariance(4, exponent=1.5), rotated(np.array([3.0, 2, 1, 0]), 1)]
)
def test_the_risk_of_a_linear_model_is_its_mean_squared_error_less_the_noise(covariance: Covariance) -> None:
    pair = teachers_at_angle(4, theta=0.7, sigma=0.5, covariance=covariance)
    student = np.array([0.3, -0.2, 0.9, 0.4])
    sample = pair.sample(100_000, np.random.default_rng(2))
    errors = (sample.inputs @ student - sample.targets) ** 2
    assert abs(z_score(errors, float(pair.target.risk(student)) + 0.25)) < 4


def test_relu_overlaps_have_their_golden_values() -> None:
    assert relu_overlap(np.array([[2.0, 0.0]]), np.array([[1.0, 1.0]])).item() == pytest.approx(
        1.0683098861837907, rel=1e-14
    )
    units = np.array([[math.cos(a), math.sin(a)] for a in (0, math.pi / 3, math.pi / 2, math.pi)])
    golden = [[0.5, 0.30449889052211476, 0.15915494309189535, 0.0]]
    np.testing.assert_allclose(relu_overlap(units[:1], units), golden, atol=1e-15)


def test_a_zero_neuron_overlaps_with_nothing() -> None:
    np.testing.assert_array_equal(relu_overlap(np.zeros((1, 3)), np.eye(3)), np.zeros((1, 3)))


def test_the_risk_of_a_relu_student_is_its_mean_squared_error_less_the_noise() -> None:
    generator = np.random.default_rng(7)
    teacher = relu_teacher(6, 5, generator, sigma=0.2)
    student = relu_teacher(6, 3, generator)
    sample = teacher.sample(100_000, generator)
    errors = (student.predict(sample.inputs) - sample.targets) ** 2
    assert abs(z_score(errors, teacher.risk(student) + 0.04)) < 4
    assert teacher.risk(teacher) == pytest.approx(0.0, abs=1e-15)


def test_ablation_keeps_the_share_that_was_asked_for() -> None:
    generator = np.random.default_rng(8)
    target = relu_teacher(6, 10, generator)
    pair = ablate(target, 0.3, generator)
    assert len(pair.source.heads) == 7
    assert {tuple(row) for row in pair.source.neurons} <= {tuple(row) for row in target.neurons}


QUADRATIC = np.array([[0.5, 0.1, 0], [0.1, 0.2, -0.3], [0, -0.3, 0.4]])


@pytest.mark.parametrize(("k", "golden"), [(1, 0.2822222222), (2, 0.2466666667)])
def test_the_quadratic_population_loss_has_its_golden_value(k: int, golden: float) -> None:
    head, phi = torch.linalg.eigh(torch.from_numpy(QUADRATIC)[None])
    telling = (torch.arange(3) < k).double()[None]
    assert float(population_loss(phi, head, telling)[0]) == pytest.approx(golden, abs=1e-10)
    sample = QuadraticProblem(d=3, k=k).sample(100_000, np.random.default_rng(9))
    outputs = np.einsum("ni,ij,nj->n", sample.inputs, QUADRATIC, sample.inputs)
    assert abs(z_score((outputs - sample.targets) ** 2, golden)) < 4


def test_the_risk_of_a_power_law_target_is_its_mean_squared_error() -> None:
    pair = power_law_transfer(8, r0=1.0, r1=0.5, xi=2.0)
    sample = pair.sample(100_000, np.random.default_rng(11))
    errors = (sample.inputs @ pair.source.weights - sample.targets) ** 2
    assert abs(z_score(errors, float(pair.target.risk(pair.source.weights)))) < 4
    assert float(pair.target.risk(pair.source.weights)) == pytest.approx(1.0)


@pytest.mark.parametrize("theta", [0.0, 0.7, 2.5])
def test_the_angle_of_teachers_is_that_of_any_norms(theta: float) -> None:
    pair = teachers_at_angle(4, theta=theta, source_norm=2.0, target_norm=0.3)
    assert pair.theta == pytest.approx(theta, abs=1e-7)
    assert (pair.source.norm, pair.target.norm) == pytest.approx((2.0, 0.3))


def test_teachers_apart_differ_by_the_vector_that_was_given() -> None:
    difference = np.array([1.0, -2.0, 0.0])
    pair = teachers_apart(difference, source=np.ones(3), covariance=isotropic(3))
    np.testing.assert_allclose(pair.target.weights - pair.source.weights, difference)
    assert float(pair.target.risk(pair.source.weights)) == pytest.approx(5.0)
