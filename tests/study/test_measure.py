import numpy as np
import pytest
from scipy import stats

from transferscope.estimate import Interval
from transferscope.study.measure import ACCURACY, AVERAGE_PRECISION, BALANCED_ACCURACY, SQUARED_ERROR


def test_scores_of_examples_and_of_runs_are_higher_where_better() -> None:
    assert ACCURACY.improvement(np.array([0.9])) == [0.9]
    assert SQUARED_ERROR.improvement(np.array([0.9])) == [-0.9]
    assert ACCURACY.example_scores(np.array([1, 2, 0], dtype=np.int32), np.array([1, 1, 0])).tolist() == [1.0, 0.0, 1.0]
    predictions, labels = np.array([[1.0, 3.0], [0.0, 0.0]], dtype=np.float32), np.zeros((2, 2), dtype=np.float32)
    assert SQUARED_ERROR.example_scores(predictions, labels).tolist() == [-5.0, 0.0]


def test_the_interval_over_examples_is_wilsons_for_accuracy() -> None:
    expected = stats.binomtest(80, 100).proportion_ci(method="wilson")
    labels = np.zeros(100, dtype=np.int64)
    found = ACCURACY.interval_over_examples([np.arange(100) // 80, np.arange(100) // 80], labels)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_the_interval_over_examples_is_a_t_interval_for_squared_error() -> None:
    predictions = np.random.default_rng(0).normal(size=(50, 1))
    losses = predictions[:, 0] ** 2
    expected = stats.ttest_1samp(losses, 0).confidence_interval()
    found = SQUARED_ERROR.interval_over_examples([predictions], np.zeros((50, 1)))
    assert (found.low, found.high) == pytest.approx((max(expected.low, 0), expected.high))
    assert SQUARED_ERROR.interval_over_examples([np.ones((1, 1))], np.zeros((1, 1))) is None


def test_no_accuracy_is_above_one() -> None:
    assert Interval(0.97, 1.01).clipped(*ACCURACY.bounds) == Interval(0.97, 1.0)
    assert Interval(-0.1, 2.0).clipped(*SQUARED_ERROR.bounds) == Interval(0.0, 2.0)


def test_numbers_are_shown_in_the_unit_of_the_reader() -> None:
    assert ACCURACY.shown(0.9412) == "94.1 %"
    assert ACCURACY.shown_interval(Interval(0.932, 0.95)) == "93.2–95.0"
    assert ACCURACY.shown_difference_interval(Interval(-0.004, 0.031)) == "−0.4 to +3.1"


def test_a_share_of_one_example_is_what_its_change_makes_of_the_measure() -> None:
    labels = np.repeat([0, 1], (95, 5))
    for metric, to in ((ACCURACY, 1 / 100), (BALANCED_ACCURACY, 1 / 10)):
        wrong = labels.copy()
        wrong[-1] = 0
        scores = [float(metric.example_scores(predictions, labels).mean()) for predictions in (labels, wrong)]
        assert scores[0] - scores[1] == pytest.approx(to)
        assert metric.share_of_one_example(labels) == pytest.approx(to)
    assert SQUARED_ERROR.share_of_one_example(np.zeros((5, 1))) == 0
    assert AVERAGE_PRECISION.share_of_one_example(np.array([[1, 0, 0], [1, 1, 0]])) == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        ([[0.86, 0.86], [0.8, np.nan]], 1.0),
        ([[0.862, 0.9], [0.8, 1.0]], 0.1),
        ([[1.0, 1.0], [0.5, 0.0]], 10.0),  # what is at an end of the range is no more rounded than that
        ([[1.0, 1.0], [1.0, 0.0]], 0.0),
        ([[0.8612345678, 0.86], [0.8, 0.7]], 0.0),
    ],
)
def test_scores_that_are_written_down_show_no_more_than_their_last_digit(
    scores: list[list[float]], step: float
) -> None:
    assert ACCURACY.resolution(ACCURACY.in_points(np.array(scores)), None) == pytest.approx(step)
    assert ACCURACY.resolution(ACCURACY.in_points(np.array(scores)), np.arange(50)) == pytest.approx(2.0)
