import numpy as np
import pytest
import torch

from transferscope.numerics.ntk import kernel_examples, kernel_transfer, relu_gram
from transferscope_papers.simulate.descent import DescentSettings
from transferscope_papers.simulate.wide_relu import Labelled, error_curves, paired_start, wide_transfer
from transferscope_papers.theory.ntk import convergence


def unit_rows(rng: np.random.Generator, n_elements: int, n: int, d: int) -> np.ndarray:
    rows = rng.standard_normal((n_elements, n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=2, keepdims=True))


def labelled(inputs: np.ndarray, labels: np.ndarray) -> Labelled:
    return Labelled(torch.from_numpy(inputs), torch.from_numpy(labels))


def test_wide_networks_travel_as_far_as_000_theorems_1_and_2_say() -> None:
    rng = np.random.default_rng(0)
    x_source, x_target = unit_rows(rng, 2, 12, 10), unit_rows(rng, 2, 8, 10)
    y_source, y_target = rng.uniform(-1, 1, (2, 12)), rng.uniform(-1, 1, (2, 8))
    source, target = labelled(x_source, y_source), labelled(x_target, y_target)
    run = wide_transfer(source, target, width=6000, seeds=[0, 1])
    assert run.status.tolist() == ["converged"] * 2
    for b in range(2):
        p = kernel_examples(x_source[b], y_source[b][:, None])
        q = kernel_examples(x_target[b], y_target[b][:, None])
        expected = kernel_transfer(p, q)
        # Finite width: the kernel fluctuates by O(1/sqrt(m)), about 1 %.
        assert run.activation_gradient[b] == pytest.approx(expected.task_distance.value**2, rel=0.05)
        assert run.travel[b] == pytest.approx(expected.deviation_transfer.value, rel=0.05)
        assert run.scratch_travel[b] == pytest.approx(expected.deviation_scratch.value, rel=0.05)


def test_one_neuron_pair_follows_a_plain_loop() -> None:
    rng = np.random.default_rng(1)
    x, y = unit_rows(rng, 1, 3, 4), rng.uniform(-1, 1, (1, 3))
    settings = DescentSettings(max_steps=20, tolerance=1e-300, stability=0.3, movement=float("inf"))
    data = labelled(x, y)
    run = wide_transfer(data, data, width=4, seeds=[5], settings=settings)
    start = paired_start([5], 4, width=4)[0].numpy()
    w, signs = start.copy(), np.array([1, 1, -1, -1]) / 2
    kernel = np.clip(x[0] @ x[0].T, -1, 1)
    rate = 0.3 / np.linalg.eigvalsh(kernel * (np.pi - np.arccos(kernel)) / (2 * np.pi))[-1]
    for _ in range(20):
        gradient = np.zeros_like(w)
        for i in range(3):
            error = sum(signs[r] * max(w[r] @ x[0, i], 0) for r in range(4)) - y[0, i]
            for r in range(4):
                gradient[r] += error * signs[r] * (w[r] @ x[0, i] > 0) * x[0, i]
        w = w - rate * gradient
    assert run.status.tolist() == ["max_steps"]
    assert run.scratch_travel[0] == pytest.approx(np.linalg.norm(w - start), rel=1e-7)  # arccos near 1


@pytest.mark.parametrize("pretrained", [True, False])
def test_errors_of_wide_networks_fall_as_theorem_3_of_liu2019_has_it(pretrained: bool) -> None:
    rng = np.random.default_rng(2)
    x_source, x_target = unit_rows(rng, 1, 6, 8)[0], unit_rows(rng, 1, 5, 8)[0]
    y_source, y_target = rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 5)
    residual, steps = y_target, [0, 1, 4]
    if pretrained:
        p, q = kernel_examples(x_source, y_source[:, None]), kernel_examples(x_target, y_target[:, None])
        residual = y_target - kernel_transfer(p, q, ridge=0.0).transformed_labels[:, 0]
    rate = 0.8 / np.linalg.eigvalsh(relu_gram(x_target))[-1]
    source = Labelled(torch.from_numpy(x_source)[None], torch.from_numpy(y_source)[None]) if pretrained else None
    target = Labelled(torch.from_numpy(x_target)[None], torch.from_numpy(y_target)[None])
    run = error_curves(source, target, width=20_000, seeds=[3], steps=steps, rate=rate)
    expected = convergence(x_target, residual, rate=rate, steps=steps)
    assert run.errors[:, 0] == pytest.approx(expected.errors, rel=0.05)
    assert (run.errors[:, 0] <= 1.02 * expected.bound).all()
    assert run.status.tolist() == ["converged" if pretrained else "ok"]
