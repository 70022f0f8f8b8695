"""Kernel-regime bounds: golden values, the sharpened corollary, and inputs that break the kernel."""

import math

import numpy as np
import pytest

from transferscope.errors import SettingsError
from transferscope.numerics.ntk import kernel_examples, kernel_transfer, relu_gram
from transferscope_papers.theory.ntk import convergence, fine_tuning_risk_bound, kernel_norm, linear_kernel_bound

SOURCE_INPUTS = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0]])
TARGET_INPUTS = np.array([[0.0, 0, 1], [0.8, 0, 0.6]])
SOURCE_LABELS, TARGET_LABELS = np.array([1.0, -0.5, 0.25]), np.array([0.5, 1.0])


def unit_rows(n: int, d: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_the_kernel_has_its_golden_values() -> None:
    gram = relu_gram(SOURCE_INPUTS)
    np.testing.assert_allclose(np.diag(gram), 0.5)
    np.testing.assert_allclose(gram[np.triu_indices(3, 1)], [0, 0.2114498294, 0.3180668941], atol=1e-10)
    golden = np.array([[0, 0.3180668941], [0, 0], [0, 0.1582472027]])
    np.testing.assert_allclose(relu_gram(SOURCE_INPUTS, TARGET_INPUTS), golden, atol=1e-10)


def test_both_theorems_of_000_have_their_golden_values() -> None:
    source = kernel_examples(SOURCE_INPUTS, SOURCE_LABELS[:, None])
    target = kernel_examples(TARGET_INPUTS, TARGET_LABELS[:, None])
    result = kernel_transfer(source, target, ridge=0.0)
    np.testing.assert_allclose(result.transformed_labels[:, 0], [0, 0.6526806989], atol=1e-10)
    assert result.task_distance.value**2 == pytest.approx(0.3706306969, abs=1e-10)
    assert result.gradient_change.value == pytest.approx(0.3706306969 - 1.25, abs=1e-10)
    assert result.deviation_transfer.value == pytest.approx(0.7382155940, abs=1e-10)
    assert result.deviation_scratch.value == pytest.approx(1.4193231769, abs=1e-10)


def test_the_kernel_norm_is_the_square_root_that_the_paper_forgot() -> None:
    norm = kernel_norm(TARGET_INPUTS, TARGET_LABELS, ridge=0.0)
    assert norm.value == pytest.approx(1.4193231769, abs=1e-10)
    bound = fine_tuning_risk_bound(TARGET_INPUTS, TARGET_LABELS, ridge=0.0)
    assert bound.value == pytest.approx(2 * 1.4193231769 / math.sqrt(2), abs=1e-9)


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
    assert found.smallest == pytest.approx(spectrum[0])


def test_a_learning_rate_beyond_what_the_bound_takes_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"expected a rate above 0 and at most 1\.40558"):
        convergence(TARGET_INPUTS, TARGET_LABELS, rate=1.6, steps=[1])


@pytest.mark.parametrize(("n", "d"), [(5, 10), (60, 10), (200, 5)])
def test_the_linear_corollary_holds_with_two_and_no_smaller_factor(n: int, d: int) -> None:
    ratios = []
    for seed in range(5):
        result = linear_kernel_bound(unit_rows(n, d, seed), np.random.default_rng(seed).standard_normal(d))
        assert result.norm.value <= result.bound.value <= result.printed.value
        ratios.append(result.norm.value / result.bound.value)
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


def test_merging_repeats_settles_a_conflict() -> None:
    rows = unit_rows(8, 10, 0)
    merged = kernel_examples(np.concatenate([rows, rows[:1]]), np.append(np.ones(8), -1.0)[:, None])
    assert (merged.n_duplicates, merged.n_conflicts) == (1, 1)
    assert kernel_norm(merged.inputs, merged.labels[:, 0]).status == "ok"


def test_many_antipodal_pairs_make_the_kernel_singular() -> None:
    rows = unit_rows(20, 10, 1)
    inputs = np.concatenate([rows, -rows])
    assert np.linalg.eigvalsh(relu_gram(inputs))[0] < 1e-12
    odd = np.concatenate([np.ones(20), -np.ones(20)]) * np.tile(np.random.default_rng(2).standard_normal(20), 2)
    assert kernel_norm(inputs, odd).status == "not_identified"


def test_a_singular_kernel_without_a_ridge_has_no_answer() -> None:
    inputs = np.array([[1.0, 0], [1.0, 0]])
    norm = kernel_norm(inputs, np.array([1.0, -1.0]), ridge=0.0)
    assert not norm.usable
