"""Measures of classes against scikit-learn, and their errors against a stratified sample's and a bootstrap."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

from transferscope.numerics.class_intervals import interval_over_examples
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
    values = [class_measure(name, predictions[draw], labels[draw]).value for draw in draws]
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


def matrix(n_classes: int, right: float) -> np.ndarray:
    found = np.full((n_classes, n_classes), (1 - right) / (n_classes - 1))
    np.fill_diagonal(found, right)
    return found


POPULATIONS = {  # shares of the classes, how each is predicted, number of test examples
    "rare": ([0.95, 0.05], [[0.95, 0.05], [0.2, 0.8]], 100),
    "almost all right": ([0.5, 0.5], matrix(2, 0.99), 100),
    "almost one answer": ([0.7, 0.3], [[0.99, 0.01], [0.97, 0.03]], 200),
    "ten classes": ([0.1] * 10, matrix(10, 0.95), 200),
    "five uneven classes": ([0.8, 0.1, 0.05, 0.03, 0.02], matrix(5, 0.88), 300),
}


@pytest.mark.parametrize("name", CLASS_MEASURES)
@pytest.mark.parametrize("population", POPULATIONS)
def test_intervals_over_examples_hold_what_the_measure_is_in_the_population(
    name: ClassMeasure, population: str
) -> None:
    """With many examples of the population its measure is what scikit-learn says of them."""
    sizes, given, n = POPULATIONS[population]
    rng, table = np.random.default_rng(0), np.array(sizes)[:, None] * np.array(given)
    times = np.round(1e5 * table.ravel()).astype(int)
    all_labels, all_predictions = np.divmod(np.repeat(np.arange(table.size), times), len(sizes))
    truth, held, n_draws = of_scikit_learn(name, all_predictions, all_labels), 0, 400
    for _ in range(n_draws):
        labels, predictions = np.divmod(rng.choice(table.size, n, p=table.ravel()), len(sizes))
        found = interval_over_examples(name, [predictions], labels)
        held += found.low <= truth <= found.high
    assert held >= 0.93 * n_draws  # nominal 0.95 with its error for so many draws


@pytest.mark.parametrize("name", CLASS_MEASURES)
def test_with_many_examples_an_interval_is_that_of_the_error(name: ClassMeasure) -> None:
    rng, (predictions, labels) = np.random.default_rng(3), drawn(np.random.default_rng(0))
    order = rng.permutation(np.tile(np.arange(500), 40))
    found = interval_over_examples(name, [predictions[order], predictions[order]], labels[order])
    made = class_measure(name, predictions[order], labels[order])
    assert (found.low, found.high) == pytest.approx(
        (made.value - 1.96 * made.stderr, made.value + 1.96 * made.stderr), abs=0.1 * made.stderr
    )


def test_an_interval_where_all_are_right_is_wilsons_for_one_class_of_interest() -> None:
    """Recall of a class with all of its examples right, where the other is as good as known."""
    labels = np.repeat([0, 1], (20, 10**6))
    found = interval_over_examples("balanced_accuracy", [labels], labels)
    assert found.low == pytest.approx(0.5 + 0.5 * stats.binomtest(20, 20).proportion_ci(method="wilson").low, abs=1e-5)
    assert found.high == 1


def test_an_interval_where_there_is_one_answer_is_not_of_no_width() -> None:
    labels, answer = np.array([0] * 90 + [1] * 10), np.zeros(100, dtype=np.int64)
    widths = {}
    for name in CLASS_MEASURES:
        found = interval_over_examples(name, [answer], labels)
        assert found.low <= class_measure(name, answer, labels).value <= found.high
        widths[name] = found.high - found.low
    assert min(widths.values()) > 0.1
    assert widths["matthews"] == pytest.approx(2 * 1.96 / 10, rel=1e-3)
    assert interval_over_examples("matthews", [np.array([1])], np.array([1])) is None
