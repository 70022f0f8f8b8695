"""Measures of classes against scikit-learn, and their errors against a stratified sample's and a bootstrap."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

from transferscope.numerics.class_measures import CLASS_MEASURES, ClassMeasure, class_measure, example_contributions

COUNTS = (400, 60, 40)
RECALLS = (0.9, 0.5, 0.2)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([0, 1, 4], COUNTS)  # classes 2 and 3 do not occur
    right = rng.random(len(labels)) < np.repeat(RECALLS, COUNTS)
    return np.where(right, labels, rng.choice([0, 1, 3], len(labels))), labels


def of_scikit_learn(name: ClassMeasure, predictions: np.ndarray, labels: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes among the predictions alone
        if name == "balanced_accuracy":
            return float(balanced_accuracy_score(labels, predictions))
        if name == "matthews":
            return float(matthews_corrcoef(labels, predictions))
        return float(f1_score(labels, predictions, labels=np.unique(labels), average="macro"))


@pytest.mark.parametrize("name", CLASS_MEASURES)
def test_they_are_those_of_scikit_learn(name: ClassMeasure) -> None:
    predictions, labels = drawn(np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(len(labels))
    expected = of_scikit_learn(name, predictions, labels)
    found = class_measure(name, predictions[order], labels[order])
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.n == 500
    assert np.mean(example_contributions(name, predictions, labels)) == pytest.approx(expected, abs=1e-12)
    words = np.array(["ant", "bee", "cat", "dog", "=eel"])
    assert class_measure(name, words[predictions], words[labels]).value == pytest.approx(expected, abs=1e-12)


def test_the_error_of_balanced_accuracy_is_that_of_a_stratified_sample() -> None:
    predictions, labels = drawn(np.random.default_rng(0))
    recalls = np.array([np.mean(predictions[labels == k] == k) for k in (0, 1, 4)])
    expected = np.sqrt(np.sum(recalls * (1 - recalls) / COUNTS)) / 3
    assert class_measure("balanced_accuracy", predictions, labels).stderr == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("name", CLASS_MEASURES)
def test_their_errors_are_what_other_test_sets_differ_by(name: ClassMeasure) -> None:
    """Test sets of any number of examples of each class, as they are drawn from one population."""
    rng, (predictions, labels) = np.random.default_rng(3), drawn(np.random.default_rng(0))
    draws = [rng.integers(0, 500, 500) for _ in range(600)]
    values = [of_scikit_learn(name, predictions[draw], labels[draw]) for draw in draws]
    assert class_measure(name, predictions, labels).stderr == pytest.approx(np.std(values, ddof=1), rel=0.1)


@pytest.mark.parametrize("name", CLASS_MEASURES)
def test_what_an_example_contributes_is_the_slope_of_the_measure(name: ClassMeasure) -> None:
    predictions, labels = drawn(np.random.default_rng(0))
    shares, weight = example_contributions(name, predictions, labels), 50
    for i in (0, 399, 420, 499):
        often = [
            np.append(np.tile(one, weight), one[i]) for one in (predictions, labels)
        ]  # a weight of 1 / (50 N) more
        change = of_scikit_learn(name, *often) - of_scikit_learn(name, predictions, labels)
        assert change * weight * 500 == pytest.approx(shares[i] - shares.mean(), rel=2e-3, abs=1e-6)


def test_one_answer_to_everything_says_nothing_for_sure() -> None:
    labels, answer = np.array([0] * 90 + [1] * 10), np.zeros(100, dtype=np.int64)
    found = class_measure("balanced_accuracy", answer, labels)
    assert (found.value, found.stderr) == (0.5, 0.0)
    assert class_measure("matthews", answer, labels).value == 0
    assert class_measure("matthews", labels, labels).value == pytest.approx(1)
    assert class_measure("macro_f1", answer, labels).value == pytest.approx(0.9 / 1.9)
    assert class_measure("matthews", 1 - labels, labels).value == pytest.approx(-1)
    assert class_measure("balanced_accuracy", np.array([1]), np.array([1])).stderr is None
