"""A metric, such as accuracy, R² or euros: its name, unit, direction and formatting."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.data.task import UNLABELLED
from transferscope.errors import SettingsError
from transferscope.estimate import Interval
from transferscope.numerics import average_precision, class_intervals, class_measures
from transferscope.numerics.intervals import t_interval, wilson_interval
from transferscope.study.tables import settings_of
from transferscope.wording import capitalised, measure_words, number_words, signed

_BOUNDS = {"share": (0.0, 1.0), "R²": (-math.inf, 1.0)}


@dataclass(frozen=True, slots=True)
class Measure:
    """The metric of runs, and its formatting.

    Decisions are made in points: hundredths of a fraction or of R², and units of other metrics; a squared error is
    decided by its R². More points are better: metrics with lower values better are negated.

    Attributes:
        name: Name in tables.
        unit: "share" for fractions, which are shown in percent; "%", "R²", or any other; "" for none.
        higher_is_better: Whether higher values are better; otherwise it is an error.
        record: Name of the record of a run that holds it.
        limits: Smallest and largest possible value; None for those of its unit.
        computed: Whether it is computed from predictions and labels; otherwise runs report it.
    """

    name: str
    unit: str = ""
    higher_is_better: bool = True
    record: str = ""
    limits: tuple[float, float] | None = None
    computed: bool = False

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self | None:
        """Return the stored study's own metric; None if it is one of the computed ones."""
        asked = facts.get("measure")
        return settings_of(cls, asked) if isinstance(asked, Mapping) else None

    def as_json(self) -> dict[str, Any]:
        """Return a metric read from results, as JSON values for the facts of a study."""
        return {"record": self.record, "name": self.name, "unit": self.unit, "higher_is_better": self.higher_is_better}

    @property
    def in_percent(self) -> bool:
        """Whether it is shown in percent."""
        return self.unit in ("share", "%")

    @property
    def scale(self) -> float:
        """The factor from stored to shown values."""
        return 100.0 if self.unit == "share" else 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The minimum and maximum of a value."""
        return self.limits or _BOUNDS.get(self.unit, (-math.inf, math.inf))

    @property
    def difference_bounds(self) -> tuple[float, float]:
        """The minimum and maximum of a difference of two values."""
        span = self.bounds[1] - self.bounds[0]
        return -span, span

    @property
    def title(self) -> str:
        """The title of axes."""
        unit = "%" if self.in_percent else "" if self.unit == self.name else self.unit
        notes = [*([unit] if unit else []), *([] if self.higher_is_better else ["lower is better"])]
        return f"{capitalised(self.name)} ({', '.join(notes)})" if notes else capitalised(self.name)

    @property
    def in_caption(self) -> str:
        """The unit behind its name in a caption."""
        return " in percent" if self.in_percent else f" in {self.unit}" if self.unit not in ("", self.name) else ""

    def number(self, value: float, *, like: float | None = None) -> str:
        """Return a value without unit: one decimal of percent, three of R², else four digits, or those of `like`."""
        if self.in_percent or self.unit == "R²":
            words = f"{self.scale * value:.{1 if self.in_percent else 3}f}"
        elif like is not None and 1e-4 <= abs(like) < 1e4:
            words = f"{value:.{max(0, 3 - math.floor(math.log10(abs(like))))}f}"
        else:
            words = f"{value:,.0f}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}"
        return words.replace("-", "−")

    def shown(self, value: float) -> str:
        """Return a value with its unit."""
        return self._with_unit(self.number(value))

    def shown_interval(self, interval: Interval) -> str:
        """Return an interval without unit, for brackets behind a value."""
        return f"{self.number(interval.low)}–{self.number(interval.high)}"

    def shown_difference(self, difference: float) -> str:
        """Return a signed difference without unit, where more is better."""
        if self.in_percent or self.unit == "R²":
            return signed(self.scale * difference, 1 if self.in_percent else 3)
        return f"{difference:+.3g}".replace("-", "−")

    def shown_difference_interval(self, interval: Interval) -> str:
        """Return an interval of differences."""
        return f"{self.shown_difference(interval.low)} to {self.shown_difference(interval.high)}"

    def _with_unit(self, number: str) -> str:
        if self.unit == "R²":
            return f"R² {number}"
        return f"{number} {'%' if self.in_percent else self.unit}".rstrip()

    def score(self, error: float) -> float:
        """Return the score in its shown unit from an error; an error metric is returned unchanged.

        An interval is clipped at the smallest possible score.
        """
        return self.scale * (max(self.bounds[1] - error, self.bounds[0]) if self.higher_is_better else error)

    def scores(self, errors: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Return `score` of each error."""
        return self.scale * (np.maximum(self.bounds[1] - errors, self.bounds[0]) if self.higher_is_better else errors)

    def error_of(self, score: float) -> float:
        """Return the distance of a target score from the best, in the form of `score`: 0.15 for an accuracy of 85 or
        0.85.

        Raises:
            SettingsError: The score is out of range, or the metric has no best value.
        """
        if not self.higher_is_better:
            return score
        share = score / 100 if self.unit == "share" and score > 1 else score
        low, high = self.bounds
        if not max(low, 0.0 if self.unit == "share" else -math.inf) < share < high or math.isinf(high):
            words = measure_words(self.record) if self.computed else self.name
            expected = (
                f"{words} above 0 and below 1, or up to 100 in percent"
                if self.unit == "share"
                else f"{words} below {high:g}"
                if math.isfinite(high)
                else "a measure that has a best value, as accuracy and R² have"
            )
            raise SettingsError(f"the target score {score:g} is out of range; expected {expected}")
        return high - share

    def shown_score(self, error: float) -> str:
        """Return `score` with its unit, to at least two digits of its distance from the best value."""
        if not self.higher_is_better:
            return number_words(error)
        rest, least = self.scale * error, 1 if self.scale * self.bounds[1] == 100 else 3
        digits = least if rest <= 0 else min(max(least, 1 - math.floor(math.log10(rest))), 6)
        return self._with_unit(f"{self.score(error):.{digits}f}".replace("-", "−"))

    def shown_scores(self, low: float, high: float) -> str:
        """Return two errors as scores, the smaller score first: "0.91 to 0.94"."""
        return " to ".join(map(self.shown_score, (high, low) if self.higher_is_better else (low, high)))

    def distance(self, error: float) -> str:
        """Return the distance between two errors, without unit."""
        return f"{self.scale * error:.1f}".replace("-", "−") if self.in_percent else number_words(error)

    @property
    def judged(self) -> "Measure":
        """The record that arms are compared by: R² for a squared error, otherwise itself."""
        return R_SQUARED if self.record == "mse" and self.computed else self

    def improvement(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the values so that more is better and differences are differences of risk: errors are negated."""
        return np.asarray(values if self.higher_is_better else -values, dtype=np.float64)

    @property
    def along(self) -> "Measure":
        """The record of training curves and other data sets: accuracy for classes, otherwise itself."""
        return ACCURACY if self.is_of_classes else self

    @property
    def is_of_classes(self) -> bool:
        """Whether it counts correct examples."""
        return self.computed and (self.record == "accuracy" or class_measures.is_class_measure(self.record))

    @property
    def _points_of_one(self) -> float:
        """Points per unit of the value, above 0 if more is better."""
        points = 100.0 if self.judged.unit in ("share", "R²") else 1.0
        return points if self.judged.higher_is_better else -points

    def in_points(self, values: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Return values of `judged` in points."""
        return np.asarray(self._points_of_one * values, dtype=np.float64)

    def from_points(self, points: float) -> float:
        """Return a value of `judged`, or a difference of two, from points."""
        return points / self._points_of_one

    def shown_points(self, points: float) -> float:
        """Return a difference in points as `points` writes it: hundredths of R² as R²."""
        return points / abs(self._points_of_one) * self.judged.scale

    def shown_level(self, points: float) -> float:
        """Return a score in points as `level` writes it."""
        return self.judged.scale * self.from_points(points)

    @property
    def points_bounds(self) -> tuple[float, float]:
        """The minimum and maximum score in points."""
        low, high = sorted(end * self._points_of_one for end in self.judged.bounds)
        return low, high

    @property
    def has_usual_points(self) -> bool:
        """Whether it is in percent or R², not in a unit of the data."""
        return self.judged.in_percent or self.judged.unit == "R²"

    @property
    def margin(self) -> float:
        """The default margin: one point of percent or of R², otherwise a hundredth."""
        return 1.0 if self.has_usual_points else 0.01

    def noise_scale(self, points: Float[np.ndarray, "arms seeds"]) -> float:
        """Return the size of a point for decisions before runs show their variance (`decision.Scores.scale`).

        One point for percent and R²; for any other unit a hundredth of the largest score.
        """
        largest = np.nanmax(np.abs(points), initial=0.0)
        return 1.0 if self.has_usual_points or largest == 0 else float(largest) / 100

    def resolution(self, points: Float[np.ndarray, "arms seeds"], labels: Shaped[np.ndarray, "N ..."] | None) -> float:
        """Return the smallest difference between scores, in points (`decision.Scores.resolution`).

        The change by one test example. Without labels, the last written digit of the scores: the largest power of ten
        that divides all of them, except those that are 0 or at an end of their range.
        """
        if labels is not None:
            return 100.0 * self.share_of_one_example(labels)
        low, high = self.points_bounds
        written = points[(points > low) & (points < high) & (points != 0)]
        if not len(written):
            return 0.0
        largest = math.floor(math.log10(np.abs(written).min()) + 1e-9)
        steps = 10.0 ** np.arange(largest, -7, -1)
        return float(next((one for one in steps if np.abs(written / one - np.rint(written / one)).max() < 1e-6), 0.0))

    @property
    def points_name(self) -> str:
        """The name on axes of what `points` shows."""
        if self.has_usual_points:
            return self.gain_unit
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def gain_unit(self) -> str:
        """The unit of `points` in headings."""
        return "points" if self.judged.in_percent else self.judged.unit or self.name

    def level(self, points: float) -> str:
        """Return a score in points with its unit."""
        return self.judged.shown(points / self._points_of_one)

    def level_in_prose(self, points: float) -> str:
        """Return a score in points, with the name of the metric unless its unit says it: "74.3 % accuracy"."""
        words = measure_words(self.record) if self.computed else self.name
        return f"{self.level(points)} {words}" if self.judged.in_percent and words != "score" else self.level(points)

    def points(self, points: float) -> str:
        """Return a signed difference in points without unit: "+2.1", or "+0.021" of R²."""
        return self.judged.shown_difference(points / abs(self._points_of_one))

    def gain(self, points: float) -> str:
        """Return a signed difference in points with its unit: "+2.1 points", or "+0.021 of R²"."""
        return f"{self.points(points)} {self.of_points}".rstrip()

    def within(self, points: float) -> str:
        """Return a distance in points with its unit: "1 point", or "0.010 of R²"."""
        if self.judged.in_percent:
            return f"{points:g} {'point' if points == 1 else 'points'}"
        return f"{points / 100:.3f} of R²" if self.judged.unit == "R²" else f"{points:g} {self.unit}".rstrip()

    @property
    def of_points(self) -> str:
        """The unit after a number of points."""
        return "points" if self.judged.in_percent else "of R²" if self.judged.unit == "R²" else self.unit

    def example_points(
        self, predictions: Shaped[np.ndarray, "N ..."], labels: Shaped[np.ndarray, "N ..."] | None
    ) -> Float[np.ndarray, " N"] | None:
        """Return the contribution of each test example to the score in points; None if unknown, as without labels.

        Runs that leave a number keep that of each example as their predictions.
        """
        if not self.computed:
            return self.in_points(predictions)
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
        """Return the score of each test example, more is better; their mean is the metric.

        1 or 0 for right or wrong (on a grid, the fraction of correct labelled cells), minus the mean squared error, or
        the contribution to the average precision or to a metric of classes
        (`numerics.average_precision.example_contributions`, and that of `numerics.class_measures`).
        """
        if self.record == "average_precision":
            return average_precision.example_contributions(predictions, labels)
        if class_measures.is_class_measure(self.record):
            return class_measures.example_contributions(self.record, predictions, labels)
        if self.higher_is_better:
            right, known = (one.reshape(len(labels), -1) for one in (predictions == labels, labels != UNLABELLED))
            return np.asarray((right & known).sum(axis=1) / np.maximum(known.sum(axis=1), 1), dtype=np.float64)
        errors = (predictions.astype(np.float64) - labels.astype(np.float64)) ** 2
        return np.asarray(-errors.reshape(len(errors), -1).mean(axis=1), dtype=np.float64)

    def share_of_one_example(self, labels: Shaped[np.ndarray, "N ..."]) -> float:
        """Return the largest share of the metric that one test example can have.

        1 / N for accuracy; 1 / (K n) for a metric of classes, with n examples of the rarest of K classes, and for
        average precision with n examples of the rarest of K labels; 0 for a squared error, which is continuous.
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
        """Return an interval of the metric over other test sets of the same size.

        Returns:
            Wilson's interval for accuracy, those of `numerics.class_intervals` and `numerics.average_precision` (all on
            the wide side for the mean of several runs), a t-interval for squared errors; None for a single example
            (except for accuracy), or if undefined.
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


ACCURACY = Measure("Accuracy", "share", record="accuracy", computed=True)
BALANCED_ACCURACY = Measure("Balanced accuracy", "share", record="balanced_accuracy", computed=True)
"""Mean over classes of the recall."""
MACRO_F1 = Measure("Macro F1", "share", record="macro_f1", computed=True)
MATTHEWS = Measure("Matthews correlation", "share", record="matthews", limits=(-1.0, 1.0), computed=True)
AVERAGE_PRECISION = Measure("Average precision", "share", record="average_precision", computed=True)
"""Macro average over the labels."""
SQUARED_ERROR = Measure("Squared error", "", False, "mse", limits=(0.0, math.inf), computed=True)
R_SQUARED = Measure("R²", "R²", record="r2", computed=True)
METRICS = (SQUARED_ERROR, AVERAGE_PRECISION, BALANCED_ACCURACY, MACRO_F1, MATTHEWS, ACCURACY)
ERROR = Measure("error", higher_is_better=False)
"""Metric of a table without a named metric."""
