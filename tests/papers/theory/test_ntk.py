"""Kernel-regime bounds: golden values, the sharpened corollary, and inputs that break the kernel."""

import numpy as np
import pytest

from transferscope.numerics.ntk import relu_gram
from transferscope_papers.theory.ntk import convergence, kernel_norm, linear_kernel_bound

TARGET_INPUTS = np.array([[0.0, 0, 1], [0.8, 0, 0.6]])
TARGET_LABELS = np.array([0.5, 1.0])


def unit_rows(n: int, d: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_the_kernel_norm_is_the_square_root_that_the_paper_forgot() -> None:
    assert kernel_norm(TARGET_INPUTS, TARGET_LABELS).value == pytest.approx(1.4193231769, rel=1e-6)


@pytest.mark.parametrize("stability", [1.0, 0.2])
def test_errors_along_gradient_descent_are_those_of_powers_of_the_kernel_and_stay_below_the_bound(
    stability: float,
) -> None:
    inputs, residual = unit_rows(6, 8, seed=3), np.random.default_rng(4).uniform(-1, 1, 6)
    gram = relu_gram(inputs)
    spectrum = np.linalg.eigvalsh(gram)
    rate, steps = stability / spectrum[-1], [0, 1, 5, 40]
    found = convergence(inputs, residual, rate=rate, steps=steps)
    slow = [np.linalg.matrix_power(np.eye(6) - rate * gram, k) @ residual for k in steps]
    np.testing.assert_allclose(found.errors, [left @ left for left in slow], rtol=1e-9)
    np.testing.assert_allclose(found.bound, [(1 - rate * spectrum[0] / 2) ** k * (residual @ residual) for k in steps])
    assert (found.errors <= found.bound * (1 + 1e-12)).all()


@pytest.mark.parametrize(("n", "d"), [(5, 10), (60, 10), (200, 5)])
def test_the_linear_corollary_holds_with_two_and_no_smaller_factor(n: int, d: int) -> None:
    ratios = []
    for seed in range(5):
        result = linear_kernel_bound(unit_rows(n, d, seed), np.random.default_rng(seed).standard_normal(d))
        assert result.norm.value <= result.bound <= result.printed
        ratios.append(result.norm.value / result.bound)
    if n == 200:
        assert max(ratios) > 0.99


def test_repeated_inputs_that_agree_are_fine_and_one_conflict_is_reported() -> None:
    rows = unit_rows(8, 10, 0)
    labels = np.linspace(-1, 1, 8)
    inputs, agreeing = np.concatenate([rows, rows[:1]]), np.append(labels, labels[0])
    norm = kernel_norm(inputs, agreeing)
    assert norm.status == "ok"
    assert norm.value == pytest.approx(kernel_norm(rows, labels).value, rel=1e-4)
    assert kernel_norm(inputs, np.append(labels, -labels[0])).status == "not_identified"
