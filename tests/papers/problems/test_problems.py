"""Every problem's population quantities against the average over its own samples."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from transferscope.errors import SettingsError
from transferscope_papers.problems import (
    Covariance,
    QuadraticProblem,
    ReluNetwork,
    ablate,
    isotropic,
    power_law_covariance,
    power_law_transfer,
    relu_teacher,
    smooth_coefficients,
    teachers_apart,
    teachers_at_angle,
    two_level,
)
from transferscope_papers.problems.relu import relu_overlap


def z_score(values: np.ndarray, truth: float) -> float:
    return float((values.mean() - truth) / (values.std(ddof=1) / math.sqrt(len(values))))


def rotated(eigenvalues: np.ndarray, seed: int) -> Covariance:
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(eigenvalues),) * 2)).Q
    return Covariance(eigenvalues, basis)


def test_linear_teachers_have_the_angle_and_norms_that_were_asked_for() -> None:
    pair = teachers_at_angle(
        7, theta=1.1, source_norm=2.0, target_norm=0.5, sigma=0.3, generator=np.random.default_rng(0)
    )
    assert pair.theta == pytest.approx(1.1)
    assert pair.source.norm == pytest.approx(2.0)
    assert pair.target.norm == pytest.approx(0.5)
    assert (pair.source.sigma, pair.target.sigma) == (0.0, 0.3)


@pytest.mark.parametrize(
    "covariance", [isotropic(4), power_law_covariance(4, exponent=1.5), rotated(np.array([3.0, 2, 1, 0]), 1)]
)
def test_the_risk_of_a_linear_model_is_its_mean_squared_error_less_the_noise(covariance: Covariance) -> None:
    pair = teachers_at_angle(4, theta=0.7, sigma=0.5, covariance=covariance)
    student = np.array([0.3, -0.2, 0.9, 0.4])
    sample = pair.sample(100_000, np.random.default_rng(2))
    errors = (sample.inputs @ student - sample.targets) ** 2
    assert abs(z_score(errors, float(pair.target.risk(student)) + 0.25)) < 4


def test_the_inputs_have_the_covariance_that_was_asked_for() -> None:
    covariance = rotated(np.array([2.0, 1.0, 0.25]), 3)
    inputs = covariance.sample(200_000, np.random.default_rng(4))
    assert covariance.eigenvectors is not None
    dense = covariance.eigenvectors @ np.diag(covariance.eigenvalues) @ covariance.eigenvectors.T
    np.testing.assert_allclose(inputs.T @ inputs / len(inputs), dense, atol=0.03)
    np.testing.assert_allclose(covariance.squared_norm(np.eye(3)), np.diag(dense), atol=1e-12)


def test_two_levels_of_eigenvalues() -> None:
    np.testing.assert_array_equal(two_level(5, n_top=2).eigenvalues, [1.5, 1.5, 0.3, 0.3, 0.3])


def test_teachers_apart_differ_by_the_vector_that_was_given() -> None:
    difference = np.array([1.0, -2.0, 0.0])
    pair = teachers_apart(difference, source=np.ones(3), covariance=isotropic(3))
    np.testing.assert_allclose(pair.target.weights - pair.source.weights, difference)
    assert float(pair.target.risk(pair.source.weights)) == pytest.approx(5.0)


def test_relu_overlaps_have_their_golden_values() -> None:
    assert relu_overlap(np.array([[2.0, 0.0]]), np.array([[1.0, 1.0]])).item() == pytest.approx(
        1.0683098861837907, rel=1e-14
    )
    units = np.array([[math.cos(a), math.sin(a)] for a in (0, math.pi / 3, math.pi / 2, math.pi)])
    golden = [[0.5, 0.30449889052211476, 0.15915494309189535, 0.0]]
    np.testing.assert_allclose(relu_overlap(units[:1], units), golden, atol=1e-15)


def test_a_zero_neuron_overlaps_with_nothing() -> None:
    np.testing.assert_array_equal(relu_overlap(np.zeros((1, 3)), np.eye(3)), np.zeros((1, 3)))


def test_the_norm_of_a_relu_teacher_has_its_golden_value() -> None:
    teacher = ReluNetwork(np.array([[0.0, 0, 1], [0.6, 0.8, 0]]), np.array([1.0, -2.0]))
    assert teacher.squared_norm() == pytest.approx(0.4658450569081046, rel=1e-14)


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
    assert pair.ablated == pytest.approx(0.3)
    assert {tuple(row) for row in pair.source.neurons} <= {tuple(row) for row in target.neurons}


QUADRATIC = np.array([[0.5, 0.1, 0], [0.1, 0.2, -0.3], [0, -0.3, 0.4]])


@pytest.mark.parametrize(("k", "golden"), [(1, 0.2822222222), (2, 0.2466666667)])
def test_the_quadratic_population_loss_has_its_golden_value(k: int, golden: float) -> None:
    problem = QuadraticProblem(d=3, k=k)
    assert float(problem.population_loss(QUADRATIC)) == pytest.approx(golden, abs=1e-10)
    sample = problem.sample(100_000, np.random.default_rng(9))
    outputs = np.einsum("ni,ij,nj->n", sample.inputs, QUADRATIC, sample.inputs)
    assert abs(z_score((outputs - sample.targets) ** 2, golden)) < 4


def test_the_best_loss_of_a_wrong_quadratic_feature_is_10_27ths() -> None:
    wrong = np.zeros((5, 2, 2))
    wrong[:, 1, 1] = [0.0, 0.5, 2 / 3, 0.8, 1.0]
    losses = QuadraticProblem(d=2, k=1).population_loss(wrong)
    assert int(losses.argmin()) == 2
    assert losses[2] == pytest.approx(10 / 27, abs=1e-15)
    assert losses[0] == pytest.approx(2 / 3)


def test_the_quadratic_label_is_any_of_the_first_k_squares() -> None:
    sample = QuadraticProblem(d=6, k=4).sample(500, np.random.default_rng(10))
    np.testing.assert_array_equal(sample.inputs[:, :4] ** 2, np.tile(sample.targets[:, None], 4))


def test_the_risk_of_a_power_law_target_is_its_mean_squared_error() -> None:
    pair = power_law_transfer(8, r0=1.0, r1=0.5, xi=2.0)
    sample = pair.sample(100_000, np.random.default_rng(11))
    errors = (sample.inputs @ pair.source.weights - sample.targets) ** 2
    assert abs(z_score(errors, float(pair.target.risk(pair.source.weights)))) < 4
    assert float(pair.target.risk(pair.source.weights)) == pytest.approx(1.0)


def test_smooth_coefficients_have_their_size_and_slope() -> None:
    coefficients = smooth_coefficients(16, r=0.75, xi=2.0, size=3.0)
    assert np.linalg.norm(coefficients) == pytest.approx(3.0)
    assert coefficients[0] / coefficients[9] == pytest.approx(10.0**2)


def test_the_same_seed_gives_the_same_sample() -> None:
    problem = teachers_at_angle(3, theta=1.0)
    first, again = (problem.sample(4, np.random.default_rng(12)) for _ in range(2))
    np.testing.assert_array_equal(first.inputs, again.inputs)
    np.testing.assert_array_equal(first.targets, again.targets)
    assert len(first) == 4


def test_impossible_settings_are_answered_in_a_sentence() -> None:
    generator = np.random.default_rng(0)
    cases: dict[str, Callable[[], object]] = {
        "theta = 4.0 is out of range; the angle between two teachers lies in [0, pi] radians": lambda: (
            teachers_at_angle(3, theta=4.0)
        ),
        "d = 1 is out of range; d must be at least 2": lambda: teachers_at_angle(1, theta=0.0),
        "sigma = -1 is out of range; sigma must be at least 0": lambda: teachers_at_angle(3, theta=0.0, sigma=-1.0),
        "a sample of n = 0 examples was asked for; n must be at least 1": lambda: QuadraticProblem(d=2, k=1).sample(
            0, generator
        ),
        "k = 3 is out of range; the number of entries that tell y lies in 1..d = 2": lambda: QuadraticProblem(d=2, k=3),
        "mu = 1.0 is out of range; the share of ablated neurons lies in [0, 1)": lambda: ablate(
            relu_teacher(2, 3, generator), 1.0, generator
        ),
        "r0 = 0.2 is out of range; mikami2021 (Assumption A3) has 1/2 <= r0 <= 1": lambda: power_law_transfer(
            4, r0=0.2, r1=0.5, xi=2.0
        ),
        "xi = 1.0 is out of range; the eigenvalues s^-xi need xi > 1 (mikami2021, Assumption A4)": lambda: (
            power_law_transfer(4, r0=0.5, r1=0.5, xi=1.0)
        ),
        "the eigenvalues of a covariance must be finite, decreasing and not negative": lambda: Covariance(
            np.array([1.0, 2.0])
        ),
    }
    for message, attempt in cases.items():
        with pytest.raises(SettingsError) as caught:
            attempt()
        assert str(caught.value) == message
