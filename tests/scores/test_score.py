from typing import Any

import numpy as np
import pytest

from scores.views import classes_view
from transferscope.errors import DataError
from transferscope.scores import TargetView

FEATURES, LABELS = np.ones((3, 2)), np.array([0, 1, 0])
THIRDS = np.full((3, 3), 1 / 3)
NOT_FINITE = np.array([[1.0, np.nan], [1, 1], [1, 1]])
BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "no examples": (
        (FEATURES[:0], LABELS[:0]),
        "features of shape (0, 2) were given; expected (n, d) with n >= 1",
    ),
    "features that are not finite": (
        (NOT_FINITE, LABELS),
        "features hold a value that is not finite; remove these examples or train the network anew",
    ),
    "labels that are not finite": (
        (FEATURES, np.array([[1.0], [np.inf], [0.0]])),
        "labels hold a value that is not finite; remove these examples or train the network anew",
    ),
    "logits": (
        (FEATURES, LABELS, np.eye(3) * 4),
        "source_probabilities must be rows of at least 0 that sum to 1; apply a softmax to logits",
    ),
    "negative probabilities": (
        (FEATURES, LABELS, np.array([[2.0, -1], [1, 0], [1, 0]])),
        "source_probabilities must be rows of at least 0 that sum to 1; apply a softmax to logits",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_refused(case: str) -> None:
    arguments, message = BAD[case]
    with pytest.raises(DataError) as refused:
        TargetView(*arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize("name", ["labels", "source_probabilities"])
def test_rows_that_do_not_match_are_refused(name: str) -> None:
    """Without the run-time types of the tests, which would speak first."""
    view = object.__new__(TargetView)
    arrays = {"features": FEATURES, "labels": LABELS, "source_probabilities": THIRDS}
    for field, array in (arrays | {name: arrays[name][:2]}).items():
        object.__setattr__(view, field, array)
    with pytest.raises(DataError) as refused:
        view.__post_init__()
    assert str(refused.value) == f"3 rows of features and 2 of {name} were given; give one for each example"


def test_taking_examples_takes_all_that_belongs_to_them() -> None:
    view = classes_view()
    some = view.take(np.array([5, 2]))
    assert len(some) == 2
    assert view.source_probabilities is not None
    assert some.source_probabilities is not None
    np.testing.assert_array_equal(some.features, view.features[[5, 2]])
    np.testing.assert_array_equal(some.labels, view.labels[[5, 2]])
    np.testing.assert_array_equal(some.source_probabilities, view.source_probabilities[[5, 2]])


def test_kind_of_labels() -> None:
    assert TargetView(FEATURES, LABELS).is_classification
    assert not TargetView(FEATURES, LABELS[:, None].astype(float)).is_classification
