"""Average precision, its macro average and its jackknife, against scikit-learn and against leaving examples out."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from transferscope.numerics.average_precision import (
    example_contributions,
    interval_over_examples,
    macro_average_precision,
)


def ranked(seed: int, *, n: int = 23, n_labels: int = 3, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    scores = random.normal(size=(n, n_labels))
    return np.round(scores) if ties else scores, random.random((n, n_labels)) < 0.3


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_that_of_scikit_learn(seed: int, ties: bool) -> None:
    scores, labels = ranked(seed, ties=ties)
    expected = average_precision_score(labels, scores, average="macro")
    assert macro_average_precision(scores, labels) == pytest.approx(expected)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_contributions_are_those_of_leaving_each_example_out(seed: int, ties: bool) -> None:
    scores, labels = ranked(seed, ties=ties)
    n, whole = len(scores), average_precision_score(labels, scores, average="macro")
    without = [
        average_precision_score(np.delete(labels, i, 0), np.delete(scores, i, 0), average="macro") for i in range(n)
    ]
    pseudo = n * whole - (n - 1) * np.array(without)
    np.testing.assert_allclose(example_contributions(scores, labels), pseudo - pseudo.mean() + whole)


@pytest.mark.parametrize(
    ("scores", "positive", "whole", "without"),
    [
        ([4, 3, 2, 1], [1, 0, 1, 0], 5 / 6, [1 / 2, 1, 1, 5 / 6]),  # ranks 1 and 3 of two positives
        ([4, 3, 2, 1], [0, 1, 0, 1], 1 / 2, [5 / 6, 1 / 3, 7 / 12, 1 / 2]),
        ([2, 2, 2, 1], [1, 1, 0, 0], 2 / 3, [1 / 2, 1 / 2, 1, 2 / 3]),  # three tie
        ([3, 2, 1], [0, 1, 0], 1 / 2, [1, 1 / 2, 1 / 2]),  # of one positive the value is kept without it
    ],
)
def test_the_jackknife_of_one_and_two_positives_is_that_written_out(
    scores: list[float], positive: list[int], whole: float, without: list[float]
) -> None:
    table, n = (np.array(scores, dtype=float)[:, None], np.array(positive)[:, None]), len(scores)
    assert macro_average_precision(*table) == pytest.approx(whole)
    pseudo = n * whole - (n - 1) * np.array(without)
    np.testing.assert_allclose(example_contributions(*table), pseudo - pseudo.mean() + whole)


def test_its_standard_error_is_that_of_other_test_sets() -> None:
    random = np.random.default_rng(0)

    def drawn() -> np.ndarray:
        labels = random.random((300, 2)) < 0.25
        found = example_contributions(labels + random.normal(size=labels.shape), labels)
        return np.array([found.mean(), found.std(ddof=1) / np.sqrt(len(found))])

    values, errors = np.array([drawn() for _ in range(200)]).T
    assert np.median(errors) == pytest.approx(values.std(ddof=1), rel=0.2)


def test_a_label_that_nothing_has_is_left_out_and_one_that_one_example_has_is_not() -> None:
    scores = np.array([[0.9, 0.1, 0.3], [0.8, 0.2, 0.2], [0.1, 0.3, 0.1]])
    labels = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 1]], dtype=bool)
    assert macro_average_precision(scores, labels) == pytest.approx((1 / 2 + (1 + 2 / 3) / 2) / 2)
    assert np.isfinite(example_contributions(scores, labels)).all()


def test_nothing_to_rank_is_no_number() -> None:
    scores = np.zeros((3, 2))
    assert np.isnan(macro_average_precision(scores, np.zeros((3, 2), dtype=bool)))
    assert np.isnan(example_contributions(scores * np.nan, np.ones((3, 2), dtype=bool))).all()


@pytest.mark.parametrize(("prevalence", "lead", "n"), [((0.3, 0.1, 0.03), 3.5, 200), ((0.5, 0.5), 1.0, 100)])
def test_its_interval_holds_what_it_is_in_the_population(prevalence: tuple[float, ...], lead: float, n: int) -> None:
    random = np.random.default_rng(0)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = random.random((n, len(prevalence))) < prevalence
        return random.normal(size=labels.shape) + lead * labels, labels

    scores, labels = drawn(100_000)
    truth, held, n_draws = average_precision_score(labels, scores, average="macro"), 0, 200
    for _ in range(n_draws):
        scores, labels = drawn(n)
        found = interval_over_examples([scores], labels)
        held += found.low <= truth <= found.high
    assert held >= 0.92 * n_draws  # nominal 0.95 with its error for so many draws


def test_a_perfect_ranking_of_few_has_an_interval() -> None:
    labels = np.arange(40)[:, None] < [6, 20]
    found = interval_over_examples([labels * 1.0, labels * 2.0], labels)
    ends = [stats.binomtest(n, n).proportion_ci(method="wilson").low for n in (6, 20)]
    assert found.low == pytest.approx(1 - np.hypot(*(1 - np.array(ends))) / 2)
    assert found.high == pytest.approx(1)
    assert interval_over_examples([np.full((40, 2), np.nan)], labels) is None
