import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from transferscope.scores import Neighbours
from transferscope.scores.neighbours import accuracy, neighbour_means
from transferscope.testing.scores import classes_view, regression_view


@pytest.mark.parametrize("k", [1, 5, 6])
@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 100)])
def test_classification_is_scikit_learn_in_a_loop(n: int, d: int, k: int) -> None:
    view = classes_view(n, d, signal=0.3)
    credit = 0.0
    for i in range(n):
        rest = np.arange(n) != i
        model = KNeighborsClassifier(k).fit(view.features[rest], view.labels[rest])
        votes = model.predict_proba(view.features[i : i + 1])[0]
        leading = np.flatnonzero(votes == votes.max())  # ties share the example
        credit += (view.labels[i] in leading) / len(leading)
    assert Neighbours(k).value(view).value == pytest.approx(credit / n)


@pytest.mark.long
def test_regression_is_scikit_learn_in_a_loop() -> None:
    view = regression_view(700, 3)  # more than one block of rows
    rest = ~np.eye(700, dtype=bool)
    predictions = np.array(
        [
            KNeighborsRegressor(5)
            .fit(view.features[rest[i]], view.labels[rest[i]])
            .predict(view.features[i : i + 1])[0]
            for i in range(700)
        ]
    )
    assert Neighbours().value(view).value == pytest.approx(r2_score(view.labels, predictions))


def test_equally_far_examples_share_the_votes_that_are_left() -> None:
    """A square and its middle, k = 2: a corner has the middle, and half of each neighbouring corner."""
    corners = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    means = neighbour_means(np.vstack([np.zeros(2), corners]), np.array([[8.0], [1], [2], [4], [16]]), 2)
    of_corners = [8 + (2 + 4) / 2, 8 + (1 + 16) / 2, 8 + (1 + 16) / 2, 8 + (2 + 4) / 2]
    np.testing.assert_allclose(means[:, 0], np.array([2 * (1 + 2 + 4 + 16) / 4, *of_corners]) / 2)


@pytest.mark.parametrize("away", [0.0, 1e12])
def test_distances_that_rounding_alone_parts_are_equal(away: float) -> None:
    """The square and its middle again, turned, so that no coordinate is exact; far away, where digits are few."""
    corners = np.array([[0.0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
    targets = np.array([[8.0], [1], [2], [4], [16]])
    expected = neighbour_means(corners, targets, 2)
    for angle in np.linspace(0.1, 1.5, 15):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        np.testing.assert_allclose(neighbour_means(corners @ turn + away, targets, 2), expected)


def test_examples_at_one_place_share_the_vote() -> None:
    """Three at zero, where no distance has an error, and one beside them, k = 1."""
    means = neighbour_means(np.array([[0.0, 0], [0, 0], [0, 0], [5, 0]]), np.array([[1.0], [2], [4], [8]]), 1)
    np.testing.assert_allclose(means[:, 0], [(2 + 4) / 2, (1 + 4) / 2, (1 + 2) / 2, (1 + 2 + 4) / 3])


def test_neighbours_that_single_precision_cannot_tell_apart_are_told() -> None:
    """Around the first example, in drawn directions, distances of 1 + i 1e-9."""
    rng = np.random.default_rng(0)
    places, directions = rng.permutation(400), rng.standard_normal((400, 30))
    around = directions / np.linalg.norm(directions, axis=1)[:, None] * (1 + 1e-9 * places)[:, None]
    targets = np.vstack([np.zeros(1), places[:, None].astype(np.float64)])
    for k in (1, 3, 7):
        assert neighbour_means(np.vstack([np.zeros(30), around]), targets, k)[0, 0] == np.arange(k).mean()


def test_votes_that_tie_favour_no_class() -> None:
    votes = np.array([[2.0, 2, 1], [2, 2, 1], [0, 1, 4], [1, 1, 1]])
    assert accuracy(votes, np.eye(3)[[0, 1, 2, 2]]) == pytest.approx((0.5 + 0.5 + 1 + 1 / 3) / 4)


def test_as_many_neighbours_as_examples_are_too_few() -> None:
    assert Neighbours(6).value(classes_view(6)).status == "too_few"
    assert Neighbours(5).value(classes_view(6)).status == "ok"


@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600])
def test_lengths_whose_squares_overflow_or_vanish_change_nothing(scale: float) -> None:
    view = classes_view(40)
    expected = neighbour_means(view.features, np.eye(40), 3)
    np.testing.assert_array_equal(neighbour_means(view.features * scale, np.eye(40), 3), expected)
