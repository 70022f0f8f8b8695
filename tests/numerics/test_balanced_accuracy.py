"""Balanced accuracy against scikit-learn, and its error against a stratified sample's and a simulation."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from transferscope.numerics.balanced_accuracy import balanced_accuracy, example_contributions

COUNTS = (400, 60, 40)
RECALLS = (0.9, 0.5, 0.2)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([0, 1, 4], COUNTS)  # classes 2 and 3 do not occur
    right = rng.random(len(labels)) < np.repeat(RECALLS, COUNTS)
    return np.where(right, labels, 3), labels


def test_it_is_that_of_scikit_learn() -> None:
    predictions, labels = drawn(np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(len(labels))
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        expected = balanced_accuracy_score(labels, predictions)
    found = balanced_accuracy(predictions[order], labels[order])
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.n == 500
    assert np.mean(example_contributions(predictions, labels)) == pytest.approx(expected, abs=1e-12)


def test_its_error_is_that_of_a_stratified_sample() -> None:
    predictions, labels = drawn(np.random.default_rng(0))
    recalls = np.array([np.mean(predictions[labels == k] == k) for k in (0, 1, 4)])
    expected = np.sqrt(np.sum(recalls * (1 - recalls) / COUNTS)) / 3
    assert balanced_accuracy(predictions, labels).stderr == pytest.approx(expected, rel=2e-3)
    values = [balanced_accuracy(*drawn(np.random.default_rng(seed))) for seed in range(400)]
    spread = np.std([one.value for one in values], ddof=1)
    assert np.mean([one.stderr for one in values if one.stderr]) == pytest.approx(spread, rel=0.12)


def test_one_answer_to_everything_reaches_one_in_k_for_sure() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    found = balanced_accuracy(np.zeros(100, dtype=np.int64), labels)
    assert (found.value, found.stderr) == (0.5, 0.0)
    assert balanced_accuracy(np.array([1]), np.array([1])).stderr is None
