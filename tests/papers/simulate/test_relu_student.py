import numpy as np
import pytest
import torch

from transferscope_papers.problems import ReluNetwork, ablate, relu_teacher
from transferscope_papers.simulate import relu_student
from transferscope_papers.simulate.descent import DescentSettings, Weights
from transferscope_papers.simulate.relu_student import (
    RULE,
    Students,
    pretrain,
    random_students,
    refit_heads,
    risks,
    train_from_scratch,
)
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.relu import kernel_alignment, outside_features

ONE_STEP = DescentSettings(max_steps=1, stability=1e-3, movement=float("inf"), tolerance=1e-12)


def a_student(seed: int) -> Weights:
    neurons, _ = random_students([seed], 4, width=3)
    return neurons, torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64)


def as_network(weights: Weights) -> ReluNetwork:
    return ReluNetwork(weights[0][0].numpy(), weights[1][0].numpy())


def check_one_step(trained: Students, start: Weights, loss_of: object) -> None:
    """One step of a small known rate against central differences of the loss in the unit-norm parameters."""
    assert callable(loss_of)
    rate = 1e-3 * 2 * 3 / (1 + 1.75)  # stability / ((1 + mean c^2)/(2 m))
    neurons, heads = start[0][0].numpy(), start[1][0].numpy()
    expected_w, expected_c, h = neurons.copy(), heads.copy(), 1e-5
    for index in np.ndindex(neurons.shape):
        up, down = neurons.copy(), neurons.copy()
        up[index] += h
        down[index] -= h
        values = [loss_of(w / np.linalg.norm(w, axis=1, keepdims=True), heads) for w in (up, down)]
        expected_w[index] -= rate * (values[0] - values[1]) / (2 * h)
    for i in range(3):
        values = [loss_of(neurons, heads + sign * h * np.eye(3)[i]) for sign in (1, -1)]
        expected_c[i] -= rate * (values[0] - values[1]) / (2 * h)
    expected_w /= np.linalg.norm(expected_w, axis=1, keepdims=True)
    np.testing.assert_allclose(trained.networks[0].neurons - neurons, expected_w - neurons, rtol=1e-4, atol=1e-10)
    np.testing.assert_allclose(trained.networks[0].heads - heads, expected_c - heads, rtol=1e-4, atol=1e-10)


def test_a_step_on_the_population_goes_down_the_closed_form_risk() -> None:
    teacher, start = relu_teacher(4, 2, generator(0)), a_student(1)
    trained = pretrain([teacher], start, ONE_STEP)
    check_one_step(trained, start, lambda w, c: teacher.risk(ReluNetwork(w, c)) / 2)


def test_a_step_on_a_sample_goes_down_its_loss() -> None:
    sample, start = relu_teacher(4, 2, generator(0)).sample(6, generator(1)), a_student(1)
    trained = train_from_scratch([sample], start, ONE_STEP)

    def loss(w: np.ndarray, c: np.ndarray) -> float:
        return float(np.mean((ReluNetwork(w, c).predict(sample.inputs) - sample.targets) ** 2) / 2)

    check_one_step(trained, start, loss)


def test_pretraining_ends_with_the_kernel_of_the_source() -> None:
    teachers = [relu_teacher(10, 10, generator(seed), head_mean=1.0, head_std=0.0) for seed in range(2)]
    start = random_students(range(2), 10, width=100)
    students = pretrain(teachers, start)
    assert students.status.tolist() == ["converged"] * 2
    for student, teacher, before in zip(students.networks, teachers, start[0].numpy(), strict=True):
        assert teacher.risk(student) <= RULE**2 * teacher.squared_norm() * (1 + 1e-9)
        np.testing.assert_allclose(np.linalg.norm(student.neurons, axis=1), 1)
        assert kernel_alignment(before, teacher.neurons) < 0.85
        assert (
            kernel_alignment(student.neurons, teacher.neurons) > 0.97
        )  # "nearly indistinguishable", tahir2024 Figure 4a-b


def test_the_risk_of_linear_transfer_tends_to_the_part_outside_the_features() -> None:
    n, n_features, n_seeds = 4000, 8, 20
    pair = ablate(relu_teacher(6, 16, generator(5)), 0.5, generator(6))
    students = Students((pair.source,) * n_seeds, np.full(n_seeds, "ok"))
    samples = [pair.sample(n, generator(seed)) for seed in range(n_seeds)]
    outcome = risks(refit_heads(students, samples, rcond=1e-8), [pair.target] * n_seeds)
    outside = outside_features(pair.source.neurons, pair.target).value
    # What is left of the target acts as noise on n_features coefficients: outside * O(n_features/n) on top.
    estimate = outcome.means(n_seeds)[0]
    assert estimate.stderr is not None
    assert outside - 4 * estimate.stderr < estimate.value < outside * (1 + 5 * n_features / n) + 4 * estimate.stderr


def test_the_descended_head_is_that_of_steps_of_gradient_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = ablate(relu_teacher(5, 8, generator(1)), 0.5, generator(2))
    sample, m = pair.sample(30, generator(3)), 12
    neurons = generator(4).standard_normal((m, 5))
    neurons /= np.linalg.norm(neurons, axis=1, keepdims=True)
    features, heads, losses = np.maximum(sample.inputs @ neurons.T, 0) / m, np.zeros(m), []
    for _ in range(400):
        left = features @ heads - sample.targets
        losses.append(left @ left / 60)
        heads = heads - 0.01 * m * features.T @ left / 30
    students = Students((ReluNetwork(neurons, np.ones(m)),), np.array(["ok"]))
    monkeypatch.setattr(relu_student, "HEAD_STEPS", 400)
    np.testing.assert_allclose(refit_heads(students, [sample]).networks[0].heads, heads, rtol=1e-8)
    monkeypatch.setattr(relu_student, "HEAD_LOSS", losses[150] * (1 + 1e-9))  # stops there, as descent would
    early = refit_heads(students, [sample]).networks[0]
    left = features @ early.heads - sample.targets
    assert left @ left / 60 == pytest.approx(losses[150])
