import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from transferscope.errors import DataError
from transferscope.numerics.jackknife import jackknife
from transferscope.scores import SCORES, TargetView, grouped_error, leave_groups_out, with_error
from transferscope.testing.scores import classes_view

FEATURES, LABELS = np.ones((3, 2)), np.array([0, 1, 0])
NOT_FINITE = np.array([[1.0, np.nan], [1, 1], [1, 1]])
BAD: list[tuple[tuple[Any, ...], str]] = [
    ((FEATURES[:0], LABELS[:0]), "features have shape (0, 2)"),
    ((NOT_FINITE, LABELS), "features contain NaN or infinity"),
    ((FEATURES, np.array([[1.0], [np.inf], [0.0]])), "labels contain NaN or infinity"),
    ((FEATURES, LABELS, np.eye(3) * 4), "apply a softmax to logits"),
    ((FEATURES, LABELS, np.array([[2.0, -1], [1, 0], [1, 0]])), "rows of numbers from 0 that sum to 1"),
    ((FEATURES, LABELS[:2]), "labels have shape (2,) and type int64; expected one row for each of 3 rows"),
    (
        (FEATURES, LABELS, np.full((2, 3), 1 / 3)),
        "source_probabilities have shape (2, 3) and type float64; expected one row",
    ),
    ((FEATURES, np.array([0.5, 1.0, 0.0])), "for regression give shape (n, 1)"),  # were taken for classes
    ((FEATURES, np.eye(3, dtype=np.int64)), "use .astype(float) or .astype(bool)"),  # were taken for regression
]


def unchecked(features: Any, labels: Any, source_probabilities: Any = None) -> TargetView:
    """A view made without the run-time types of the tests, which would speak first."""
    view = object.__new__(TargetView)
    arrays = {"features": features, "labels": labels, "source_probabilities": source_probabilities}
    for field, array in arrays.items():
        object.__setattr__(view, field, array)
    view.__post_init__()
    return view


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_what_does_not_fit_is_refused(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        unchecked(*arguments)


@pytest.mark.parametrize("name", SCORES)
def test_numbers_of_less_precision_are_not_computed_with(name: str) -> None:
    """LogME of float32 features far from zero was wrong in the second digit."""
    score, view = SCORES[name], classes_view(120)
    p = view.source_probabilities
    features, p32 = (view.features + 1e4).astype(np.float32), p.astype(np.float32)
    low = score.value(unchecked(features, view.labels.astype(np.uint8), p32))
    assert low == score.value(TargetView(features.astype(np.float64), view.labels, p32.astype(np.float64)))


def test_taking_examples_takes_all_that_belongs_to_them() -> None:
    view = classes_view()
    some = view.take(np.array([5, 2]))
    assert len(some) == 2
    np.testing.assert_array_equal(some.features, view.features[[5, 2]])
    np.testing.assert_array_equal(some.labels, view.labels[[5, 2]])
    np.testing.assert_array_equal(some.source_probabilities, view.source_probabilities[[5, 2]])


@pytest.mark.parametrize("name", SCORES)
def test_value_n_and_status_are_kept(name: str) -> None:
    view = classes_view(90)
    plain, found = SCORES[name].value(view), with_error(SCORES[name], view)
    assert np.isfinite(found.stderr)
    assert replace(found, stderr=None) == plain


def test_it_is_the_jackknife_of_the_score() -> None:
    view, score = classes_view(90, signal=0.5), SCORES["logme"]
    expected = jackknife(lambda index: score.value(view.take(index)).value, 90)
    assert with_error(score, view).stderr == pytest.approx(expected.stderr)


def _claimed_over_actual(name: str, *, n_claimed: int) -> float:
    """Mean claimed error beside the spread of the values over 200 samples of one task, known to 5 %."""
    score, rng = SCORES[name], np.random.default_rng(0)
    means = rng.standard_normal((3, 4))

    def sample() -> TargetView:
        labels = rng.integers(0, 3, 120)
        logits = rng.standard_normal((120, 4)) + 2 * np.eye(3, 4)[labels]
        p = np.exp(logits)
        return TargetView(means[labels] + rng.standard_normal((120, 4)), labels, p / p.sum(axis=1, keepdims=True))

    claimed = [with_error(score, sample()).stderr or np.nan for _ in range(n_claimed)]
    return float(np.mean(claimed) / np.std([score.value(sample()).value for _ in range(200)]))


@pytest.mark.long
@pytest.mark.parametrize("name", ["logme", "h-score", "leep", "nce", "transrate", "gbc", "parc"])
def test_errors_agree_with_repeated_sampling(name: str) -> None:
    assert _claimed_over_actual(name, n_claimed=15) == pytest.approx(1, abs=0.25)


@pytest.mark.long
@pytest.mark.parametrize("name", ["knn", "ridge-probe"])
def test_errors_of_scores_that_jump_are_on_the_wide_side(name: str) -> None:
    assert 1 < _claimed_over_actual(name, n_claimed=30) < 2.5


@pytest.mark.parametrize("name", ["leep", "nce", "transrate"])
@pytest.mark.parametrize(("n", "d"), [(40, 6), (24, 40)], ids=["more examples than features", "fewer"])
def test_contributions_are_derivatives_to_the_weight_of_each_example(name: str, n: int, d: int) -> None:
    """By what one more copy of an example changes, where all examples are there 4,000 times."""
    score, view, copies = SCORES[name], classes_view(n, d, signal=0.3), 4000
    each = score.contributions(view)
    assert each.mean() == pytest.approx(score.value(view).value)
    many = np.tile(np.arange(n), copies)
    before = score.value(view.take(many)).value
    for i in (0, 11, n - 1):
        change = score.value(view.take(np.append(many, i))).value - before
        assert each[i] - each.mean() == pytest.approx(change * (copies * n + 1), rel=2e-3, abs=2e-3)


def test_networks_on_the_same_examples_share_their_groups() -> None:
    """A network and its copy with a little noise: the error of the difference is far below that of either."""
    view, score = classes_view(200, signal=0.5), SCORES["logme"]
    noise = 0.05 * np.random.default_rng(0).standard_normal(view.features.shape)
    first = leave_groups_out(score, view)
    second = leave_groups_out(score, replace(view, features=view.features + noise))
    error, alone = grouped_error(first - second), with_error(score, view).stderr
    assert first.shape == (20,)
    assert 0 < error < alone / 5
    assert grouped_error(first - leave_groups_out(score, view)) == 0


def test_no_error_when_a_group_is_needed() -> None:
    view = classes_view(30)
    lonely = replace(view, labels=np.r_[8, 8, view.labels[2:]])
    found = with_error(SCORES["gbc"], lonely)  # without either of the two there is no variance of their class
    assert np.isfinite(found.value)
    assert found.stderr is None
    assert np.isnan(leave_groups_out(SCORES["gbc"], lonely)).any()


def test_one_example_has_no_groups() -> None:
    assert leave_groups_out(SCORES["logme"], classes_view(1)).shape == (0,)
