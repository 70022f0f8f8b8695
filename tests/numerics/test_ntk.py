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


def test_duplicates_are_merged() -> None:
    examples = kernel_examples(np.vstack([SOURCE, 2 * SOURCE[:2]]), np.vstack([Y_SOURCE, [[1.0]], [[0.5]]]))
    np.testing.assert_allclose(examples.inputs, SOURCE)
    np.testing.assert_allclose(examples.labels[:, 0], [1.0, 0.0, 0.25])


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_more_antipodal_pairs_than_dimensions_are_not_identified_in_any_unit_of_the_labels(unit: float) -> None:
    half = np.random.default_rng(2).standard_normal((20, 3))
    labels = np.random.default_rng(3).uniform(-1, 1, (40, 1))
    target = kernel_examples(np.vstack([half, -half]), unit * labels)
    transfer = kernel_transfer(kernel_examples(SOURCE, unit * Y_SOURCE), target)
    assert transfer.deviation_scratch.status == "not_identified"
    assert transfer.task_distance.status == "ok"


def test_singular_gram_without_ridge_is_undefined() -> None:
    gram = np.ones((2, 2))
    assert np.isnan(solve_gram(gram, np.ones((2, 1)), ridge=0.0)).all()


def test_zero_inputs_and_other_widths_are_refused() -> None:
    with pytest.raises(DataError, match=r"1 of 2 inputs are zero \(first: 1\)"):
        kernel_examples(np.array([[1.0, 0], [0, 0]]), np.ones((2, 1)))
    with pytest.raises(DataError, match="have widths 3 and 1, but those of the target 2 and 1"):
        kernel_transfer(kernel_examples(SOURCE, Y_SOURCE), kernel_examples(TARGET[:, 1:], Y_TARGET))
