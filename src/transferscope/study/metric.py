"""What a study is judged by: accuracy, a measure of classes, average precision of several labels, or squared error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.data.task import UNLABELLED
from transferscope.estimate import Interval
from transferscope.numerics import average_precision, class_intervals, class_measures
from transferscope.numerics.intervals import t_interval, wilson_interval
from transferscope.wording import signed


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of success, with its words.

    Attributes:
        record: Name of the record that holds it.
        name: What tables call it.
        headline: The record of which more is better: itself, or R² beside a squared error.
        title: What it is, for axes and tables, with its unit.
        higher_is_better: Whether more of it is better; otherwise it is a risk itself.
        scale: Factor from stored to shown values.
        least: The lowest value that it can have.
    """

    record: str
    name: str
    headline: str
    title: str
    higher_is_better: bool
    scale: float
    least: float = 0.0

    @property
    def is_of_classes(self) -> bool:
        """Whether it counts which examples are right."""
        return self.record == "accuracy" or class_measures.is_class_measure(self.record)

    @property
    def along(self) -> "Metric":
        """What is measured along the training and on other examples: of classes the plain accuracy, else itself."""
        return ACCURACY if self.is_of_classes else self

    def improvement(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The values so that more is better and differences are differences of risk: minus an error, others as is."""
        return np.asarray(values if self.higher_is_better else -values, dtype=np.float64)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most that a value can be."""
        return self.least, 1.0 if self.higher_is_better else math.inf

    @property
    def difference_bounds(self) -> tuple[float, float]:
        """The least and the most that a difference of two values can be."""
        span = self.bounds[1] - self.least
        return -span, span

    @property
    def points_bounds(self) -> tuple[float, float]:
        """The least and the most that a score can be in points, as `study.decisions` has it: of R², no least."""
        return (100 * self.least, 100.0) if self.higher_is_better else (-math.inf, 100.0)

    @property
    def margin(self) -> float:
        """Differences of no interest where a study names none, in points."""
        return 1.0

    def noise_scale(self, points: Float[np.ndarray, "arms seeds"]) -> float:
        """What decisions take for a point before runs tell how much they vary (`decision.Scores.scale`)."""
        return 1.0

    @property
    def points_name(self) -> str:
        """What a point is called, for axes."""
        return "points" if self.higher_is_better else "R² (hundredths)"

    @property
    def gain_unit(self) -> str:
        """The unit of what `points` shows, for headings."""
        return "points" if self.higher_is_better else "R²"

    @property
    def in_caption(self) -> str:
        """The unit of its values behind its name."""
        return " in percent" if self.higher_is_better else ""

    def number(self, value: float, *, like: float | None = None) -> str:
        """A value without its unit, with the decimals of one `like` it: one of percent, else three digits."""
        beside = value if like is None else like
        digits = 1 if self.higher_is_better else max(0, 2 - math.floor(math.log10(abs(beside) or 1.0)))
        return f"{self.scale * value:.{digits}f}"

    def in_points(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values of its headline as points, more is better: hundredths."""
        return np.asarray(100.0 * values, dtype=np.float64)

    def example_points(
        self, predictions: Shaped[np.ndarray, "N ..."], labels: Shaped[np.ndarray, "N ..."] | None
    ) -> Float[np.ndarray, " N"] | None:
        """What each test example adds to the score in points; None where nothing can be said, as without labels."""
        if labels is None or len(labels) < 2:
            return None
        scale = 100.0
        if self.record == "mse":
            spread = float(np.mean((labels - labels.mean(axis=0)) ** 2))
            if spread <= 0:
                return None
            scale /= spread
        return np.asarray(scale * self.example_scores(predictions, labels), dtype=np.float64)

    def example_scores(
        self, predictions: Shaped[np.ndarray, "N ..."], labels: Shaped[np.ndarray, "N ..."]
    ) -> Float[np.ndarray, " N"]:
        """Score of each test example, more is better; their mean is the measure.

        1 or 0 for right or wrong (on a grid the share of the labelled cells that are right), minus the mean squared
        error, or what the example contributes to the average precision or to a measure of classes
        (`numerics.average_precision.example_contributions`, and that of `numerics.class_measures`).
        """
        if self.record == "average_precision":
            return average_precision.example_contributions(predictions, labels)
        if class_measures.is_class_measure(self.record):
            return class_measures.example_contributions(self.record, predictions, labels)
        if self.higher_is_better:
            return share_right(predictions, labels)
        errors = (predictions.astype(np.float64) - labels.astype(np.float64)) ** 2
        return np.asarray(-errors.reshape(len(errors), -1).mean(axis=1), dtype=np.float64)

    def share_of_one_example(self, labels: Shaped[np.ndarray, "N ..."]) -> float:
        """How much of the measure one test example can make up.

        1 / N of accuracy; 1 / (K n) of a measure of classes, with n examples of the rarest of K classes, and of average
        precision with n examples that have the rarest of K labels; 0 of a squared error, which counts nothing.
        """
        if self.record == "mse" or not len(labels):
            return 0.0
        if self.record == "accuracy":
            return 1 / len(labels)
        of_each = np.unique(labels, return_counts=True)[1] if self.is_of_classes else labels.sum(axis=0)
        there = of_each[of_each > 0]
        return 1 / (len(there) * float(there.min())) if len(there) else 0.0

    def interval_over_examples(
        self,
        runs: Sequence[Shaped[np.ndarray, "N ..."]],
        labels: Shaped[np.ndarray, "N ..."],
        *,
        level: float = 0.95,
    ) -> Interval | None:
        """Interval of the measure over other test sets of the same size.

        Returns:
            Wilson's interval for accuracy, those of `numerics.class_intervals` and `numerics.average_precision` (all on
            the wide side for the mean of several runs), a t-interval for squared errors; None for one example but of
            accuracy, or without a measure.
        """
        if self.record == "accuracy":
            scores = np.mean([self.example_scores(predictions, labels) for predictions in runs], axis=0)
            return wilson_interval(round(float(scores.sum())), len(scores), level=level)
        if class_measures.is_class_measure(self.record):
            interval = class_intervals.interval_over_examples(self.record, runs, labels, level=level)
        elif self.record == "average_precision":
            interval = average_precision.interval_over_examples(runs, labels, level=level)
        else:
            errors = -np.mean([self.example_scores(predictions, labels) for predictions in runs], axis=0)
            interval = t_interval(errors, level=level).interval
        return None if interval is None else interval.clipped(*self.bounds)

    def shown(self, value: float) -> str:
        """A value with its unit."""
        return f"{100 * value:.1f} %" if self.higher_is_better else f"{value:.3g}"

    def shown_interval(self, interval: Interval) -> str:
        """An interval without unit, for brackets behind a value."""
        if self.higher_is_better:
            return f"{100 * interval.low:.1f}–{100 * interval.high:.1f}"
        return f"{interval.low:.3g}–{interval.high:.3g}"

    def shown_difference(self, difference: float) -> str:
        """A transferability with its sign and without unit."""
        return signed(100 * difference, 1) if self.higher_is_better else f"{difference:+.2g}".replace("-", "−")

    def shown_difference_interval(self, interval: Interval) -> str:
        """An interval of a transferability."""
        return f"{self.shown_difference(interval.low)} to {self.shown_difference(interval.high)}"

    def level(self, points: float) -> str:
        """A score that is given in points, as `study.decisions` has it: "90.1 %", or "R² 0.842" of numbers."""
        return f"{points:.1f} %" if self.higher_is_better else f"R² {points / 100:.3f}".replace("-", "−")

    def points(self, points: float) -> str:
        """A difference in points with its sign and without unit: "+2.1", or "+0.021" of R²."""
        return signed(points, 1) if self.higher_is_better else signed(points / 100, 3)

    def gain(self, points: float) -> str:
        """A difference in points with its unit: "+2.1 points", or "+0.021 of R²"."""
        return f"{self.points(points)} {'points' if self.higher_is_better else 'of R²'}"

    def within(self, points: float) -> str:
        """A distance in points with its unit: "1 point", or "0.010 of R²"."""
        unit = "point" if points == 1 else "points"
        return f"{points:g} {unit}" if self.higher_is_better else f"{points / 100:.3f} of R²"


def share_right(
    predictions: Shaped[np.ndarray, "N ..."], labels: Shaped[np.ndarray, "N ..."]
) -> Float[np.ndarray, " N"]:
    """1 or 0 for a class that is right or wrong; on a grid, the share of each input's labelled cells that are right."""
    right, known = (array.reshape(len(labels), -1) for array in (predictions == labels, labels != UNLABELLED))
    return np.asarray((right & known).sum(axis=1) / np.maximum(known.sum(axis=1), 1), dtype=np.float64)


ACCURACY = Metric("accuracy", "Accuracy", "accuracy", "Accuracy on the test set (%)", True, 100.0)
BALANCED_ACCURACY = Metric(
    "balanced_accuracy", "Balanced accuracy", "balanced_accuracy", "Balanced accuracy on the test set (%)", True, 100.0
)
"""Mean over the classes of the share that is right."""
MACRO_F1 = Metric("macro_f1", "Macro F1", "macro_f1", "Macro F1 on the test set (%)", True, 100.0)
MATTHEWS = Metric(
    "matthews", "Matthews correlation", "matthews", "Matthews correlation on the test set (%)", True, 100.0, least=-1.0
)
AVERAGE_PRECISION = Metric(
    "average_precision", "Average precision", "average_precision", "Average precision on the test set (%)", True, 100.0
)
"""Macro average over the labels."""
SQUARED_ERROR = Metric("mse", "Squared error", "r2", "Mean squared error on the test set", False, 1.0)
METRICS = (SQUARED_ERROR, AVERAGE_PRECISION, BALANCED_ACCURACY, MACRO_F1, MATTHEWS, ACCURACY)
