import re

import numpy as np
import pytest

from transferscope.errors import DataError
from transferscope.numerics.ntk import kernel_examples, kernel_transfer, relu_gram, solve_gram

SOURCE = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0]])
TARGET = np.array([[0.0, 0, 1], [0.8, 0, 0.6]])
Y_SOURCE = np.array([[1.0], [-0.5], [0.25]])
Y_TARGET = np.array([[0.5], [1.0]])


def test_gram_matrices_agree_with_published_values() -> None:
    off_diagonal = [0.0, 0.2114498294, 0.3180668941]
    gram = relu_gram(SOURCE)
    np.testing.assert_allclose(gram[[0, 0, 1], [1, 2, 2]], off_diagonal, atol=1e-10)
    np.testing.assert_array_equal(np.diag(gram), [0.5, 0.5, 0.5])
    np.testing.assert_allclose(
        relu_gram(SOURCE, TARGET), [[0.0, 0.3180668941], [0.0, 0.0], [0.0, 0.1582472027]], atol=1e-10
    )


def test_gram_agrees_with_monte_carlo_over_neurons() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((5, 3)) * np.array([[0.5], [1], [2], [1], [3]])
    n_draws = 200_000
    active = rng.standard_normal((n_draws, 3)) @ inputs.T >= 0  # (n_draws, 5)
    together = active.astype(float).T @ active / n_draws
    products = inputs @ inputs.T
    stderr = np.abs(products) * np.sqrt(together * (1 - together) / n_draws)
    assert (np.abs(relu_gram(inputs) - products * together) <= 4 * stderr + 1e-12).all()


def test_leading_terms_agree_with_published_values() -> None:
    transfer = kernel_transfer(kernel_examples(SOURCE, Y_SOURCE), kernel_examples(TARGET, Y_TARGET), ridge=0.0)
    np.testing.assert_allclose(transfer.transformed_labels[:, 0], [0, 0.6526806989], atol=1e-10)
    assert transfer.task_distance.value == pytest.approx(np.sqrt(0.3706306969), abs=1e-10)
    assert transfer.gradient_change.value == pytest.approx(0.3706306969 - 1.25, abs=1e-10)
    assert transfer.deviation_transfer.value == pytest.approx(0.7382155940, abs=1e-10)
    assert transfer.deviation_scratch.value == pytest.approx(1.4193231769, abs=1e-10)
    assert transfer.task_distance.status == "ok"


def _train(inputs: np.ndarray, labels: np.ndarray, weights: np.ndarray, signs: np.ndarray) -> np.ndarray:
    weights, scale = weights.copy(), 1 / np.sqrt(len(signs))
    rate = 0.9 / np.linalg.eigvalsh(relu_gram(inputs)).max()
    for _ in range(1500):
        hidden = inputs @ weights  # (n, m)
        residual = np.maximum(hidden, 0) @ signs * scale - labels
        weights -= rate * inputs.T @ (residual[:, None] * (hidden > 0) * signs * scale)
    return weights


@pytest.mark.long
def test_theorems_hold_on_a_wide_network() -> None:
    rng = np.random.default_rng(1)
    half = rng.standard_normal((6, 4000))
    weights, signs = np.hstack([half, half]), np.repeat([1.0, -1.0], 4000)  # paired: the output starts at 0
    x_source, x_target = rng.standard_normal((8, 6)), rng.standard_normal((5, 6))
    direction = rng.standard_normal((6, 1)) / 6
    source, target = kernel_examples(x_source, x_source @ direction), kernel_examples(x_target, x_target @ direction)
    transfer = kernel_transfer(source, target)

    pretrained = _train(source.inputs, source.labels[:, 0], weights, signs)
    outputs = np.maximum(target.inputs @ pretrained, 0) @ signs / np.sqrt(8000)
    tuned = _train(target.inputs, target.labels[:, 0], pretrained, signs)
    scratch = _train(target.inputs, target.labels[:, 0], weights, signs)
    assert np.linalg.norm(outputs - target.labels[:, 0]) == pytest.approx(transfer.task_distance.value, rel=0.05)
    assert np.linalg.norm(tuned - pretrained) == pytest.approx(transfer.deviation_transfer.value, rel=0.05)
    assert np.linalg.norm(scratch - weights) == pytest.approx(transfer.deviation_scratch.value, rel=0.05)


def test_duplicates_are_merged_and_counted() -> None:
    examples = kernel_examples(np.vstack([SOURCE, 2 * SOURCE[:2]]), np.vstack([Y_SOURCE, [[1.0]], [[0.5]]]))
    np.testing.assert_allclose(examples.inputs, SOURCE)
    np.testing.assert_allclose(examples.labels[:, 0], [1.0, 0.0, 0.25])
    assert (examples.n_duplicates, examples.n_conflicts) == (2, 1)


def test_more_antipodal_pairs_than_dimensions_are_not_identified() -> None:
    half = np.random.default_rng(2).standard_normal((20, 3))
    labels = np.random.default_rng(3).uniform(-1, 1, (40, 1))
    target = kernel_examples(np.vstack([half, -half]), labels)
    transfer = kernel_transfer(kernel_examples(SOURCE, Y_SOURCE), target)
    assert transfer.deviation_scratch.status == "not_identified"
    assert transfer.task_distance.status == "ok"


def test_singular_gram_without_ridge_is_undefined() -> None:
    gram = np.ones((2, 2))
    assert np.isnan(solve_gram(gram, np.ones((2, 1)), ridge=0.0)).all()


def test_zero_input_is_refused() -> None:
    message = "1 of 2 inputs are zero (first: 1); the kernel needs inputs with a direction, drop those examples"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        kernel_examples(np.array([[1.0, 0], [0, 0]]), np.ones((2, 1)))


def test_widths_must_agree() -> None:
    message = "source inputs and labels have widths 3 and 1, target ones 2 and 1; expected the same widths"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        kernel_transfer(kernel_examples(SOURCE, Y_SOURCE), kernel_examples(TARGET[:, 1:], Y_TARGET))
