"""What was measured, and how an error, in which all is computed, is shown in the unit that it was given in."""

import math
from dataclasses import dataclass
from typing import Literal

from transferscope.numerics.class_measures import CLASS_MEASURES
from transferscope.wording import capitalised, measure_words, number_words


@dataclass(frozen=True)
class Measure:
    """What is scored.

    Attributes:
        kind: "accuracy" (shown in percent, as average precision is), "r2", another "quality", or "error".
        top: The best value of a quality, of which the error is the rest: 1 or 100; 0 for an error itself.
    """

    name: str
    kind: Literal["accuracy", "r2", "quality", "error"]
    top: float

    @property
    def title(self) -> str:
        """For axes."""
        if self.name in map(measure_words, ("average_precision", *CLASS_MEASURES)):
            return f"{capitalised(self.name)} (%)"
        return {"accuracy": "Accuracy (%)", "r2": "R²"}.get(self.kind, self.name)

    @property
    def unit(self) -> str:
        """Unit of a difference, after a number."""
        return {"accuracy": " points", "r2": " of R²"}.get(self.kind, "")

    def value(self, error: float) -> float:
        """The score in the unit that it is drawn in: accuracy in percent."""
        score = self.top - error if self.top else error
        return score * (100.0 / self.top) if self.kind == "accuracy" else score

    def difference(self, error: float) -> float:
        """A difference of errors in the unit of `value`."""
        return error * (100.0 / self.top) if self.kind == "accuracy" else error

    def shown(self, error: float) -> str:
        """A score with its unit, in at least two digits of its distance from the best value."""
        value = self.value(error)
        if self.kind == "accuracy":
            return f"{value:.{self._digits(100 - value, least=1)}f} %"
        if self.top == 1:
            return f"{value:.{self._digits(error, least=3)}f}".replace("-", "−")
        return f"{value:.4g}".replace("-", "−") if 1 <= abs(value) < 1000 else number_words(value)

    def shown_difference(self, error: float) -> str:
        """A difference without its unit."""
        value = self.difference(error)
        return f"{value:.1f}".replace("-", "−") if self.kind == "accuracy" else number_words(value)

    def ends(self, low: float, high: float) -> str:
        """Two errors as scores, the smaller score first: "0.91 to 0.94"."""
        first, last = (high, low) if self.top else (low, high)
        return f"{self.shown(first)} to {self.shown(last)}"

    @staticmethod
    def _digits(rest: float, *, least: int) -> int:
        return least if rest <= 0 else min(max(least, 1 - math.floor(math.log10(rest))), 6)


ERROR = Measure("error", "error", 0.0)
