"""A measure that a reader names: any number, with its unit and its direction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.estimate import Interval
from transferscope.study.metric import Metric


@dataclass(frozen=True, slots=True)
class NamedMeasure(Metric):
    """A number of each run by which a study is judged, whose meaning is the reader's own.

    A point is one of its units, or a hundredth of a share; where lower is better, points count downwards.

    Attributes:
        unit: The unit, "share" for a share of 1, which is shown in percent; "" for none.
    """

    unit: str = ""

    @classmethod
    def of(cls, record: str, *, name: str, unit: str, higher: bool) -> Self:
        """The measure; its unit is "share" for a share of 1."""
        shown = "%" if unit == "share" else unit
        notes = [*([shown] if shown else []), *([] if higher else ["lower is better"])]
        title = f"{name} ({', '.join(notes)})" if notes else name
        return cls(record, name, record, title, higher, 100.0 if unit == "share" else 1.0, unit=unit)

    def as_json(self) -> dict[str, Any]:
        """The measure as JSON values, as the facts of a study hold it."""
        return {"record": self.record, "name": self.name, "unit": self.unit, "higher_is_better": self.higher_is_better}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self | None:
        """That of a stored study; None where it is judged by one of transferscope's own."""
        found = facts.get("measure")
        if not isinstance(found, Mapping):
            return None
        return cls.of(
            str(found["record"]),
            name=str(found["name"]),
            unit=str(found["unit"]),
            higher=bool(found["higher_is_better"]),
        )

    @property
    def is_of_classes(self) -> bool:
        """Nothing is known of what it counts."""
        return False

    @property
    def margin(self) -> float:
        """Differences of no interest where none are named: a point of percent, a hundredth of any other unit."""
        return 1.0 if self.unit in ("share", "%") else 0.01

    def noise_scale(self, points: Float[np.ndarray, "arms seeds"]) -> float:
        """A point of percent; of any other unit a hundredth of the largest score, whatever the unit is."""
        largest = np.nanmax(np.abs(points), initial=0.0)
        return 1.0 if self.unit in ("share", "%") or largest == 0 else float(largest) / 100

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most that a value can be."""
        return (0.0, 1.0) if self.unit == "share" else (-math.inf, math.inf)

    @property
    def difference_bounds(self) -> tuple[float, float]:
        """The least and the most that a difference of two values can be."""
        return (-1.0, 1.0) if self.unit == "share" else (-math.inf, math.inf)

    @property
    def points_bounds(self) -> tuple[float, float]:
        """The least and the most that a score can be in points."""
        ends = sorted(self._sign * self.scale * end for end in self.bounds)
        return ends[0], ends[1]

    @property
    def points_name(self) -> str:
        """What a point is called, for axes."""
        return "points" if self.unit == "share" else " ".join([self.name, *([f"({self.unit})"] if self.unit else [])])

    @property
    def in_caption(self) -> str:
        """The unit behind its name in a caption."""
        return " in percent" if self.unit == "share" else f" in {self.unit}" if self.unit else ""

    @property
    def _sign(self) -> float:
        return 1.0 if self.higher_is_better else -1.0

    def in_points(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values as points, more is better."""
        return np.asarray(self._sign * self.scale * values, dtype=np.float64)

    def example_points(
        self, predictions: Shaped[np.ndarray, "N ..."], labels: Shaped[np.ndarray, "N ..."] | None
    ) -> Float[np.ndarray, " N"] | None:
        """What each test example adds to the score in points: that is what such runs keep as predictions."""
        return self.in_points(predictions)

    def shown(self, value: float) -> str:
        """A value with its unit."""
        return f"{self.number(value)}{f' {self._unit}' if self._unit else ''}".replace("-", "−")

    @property
    def _unit(self) -> str:
        return "%" if self.unit == "share" else self.unit

    def number(self, value: float, *, like: float | None = None) -> str:
        """A value without its unit, with the decimals of one `like` it: one of percent, else four digits."""
        if self.unit in ("share", "%"):
            return f"{self.scale * value:.1f}"
        if like is None or not 1e-4 <= abs(like) < 1e4:
            return f"{value:.4g}"
        return f"{value:.{max(0, 3 - math.floor(math.log10(abs(like))))}f}"

    def shown_interval(self, interval: Interval) -> str:
        """An interval without unit, for brackets behind a value."""
        return f"{self.number(interval.low)}–{self.number(interval.high)}".replace("-", "−")

    def shown_difference(self, difference: float) -> str:
        """A difference of two values, more is better, with its sign and without unit."""
        return self.points(self.scale * difference)

    @property
    def gain_unit(self) -> str:
        """The unit of what `points` shows, for headings."""
        return "points" if self.unit in ("share", "%") else self.unit or self.name

    def level(self, points: float) -> str:
        """A score that is given in points."""
        return self.shown(self._sign * points / self.scale)

    def points(self, points: float) -> str:
        """A difference in points with its sign and without unit, more is better."""
        one = f"{points:+.1f}" if self.unit in ("share", "%") else f"{points:+.3g}"
        return one.replace("-", "−")

    def gain(self, points: float) -> str:
        """A difference in points with its unit."""
        return f"{self.points(points)} {self.gain_unit if self.unit else ''}".rstrip()

    def within(self, points: float) -> str:
        """A distance in points with its unit."""
        if self.unit in ("share", "%"):
            return f"{points:g} {'point' if points == 1 else 'points'}"
        return f"{points:g} {self.unit}".rstrip()
