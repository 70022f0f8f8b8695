"""Do bounds rank real transfer tasks? shachaf2021 Table 1 on pairs of MNIST digits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from transferscope.data import LabelledSet, load
from transferscope.estimate import Estimate
from transferscope_papers.figure import (
    Claim,
    Conclusion,
    Curve,
    Drawn,
    Panel,
    Point,
    Range,
    Simulated,
    Theory,
    TheoryFigure,
    setting,
)
from transferscope_papers.simulate.digit_pairs import BoundTable, Digits, TableSettings, TaskPair, correlate, task_pairs
from transferscope_papers.simulate.outcomes import mean_estimate

_SIZES = (10, 15, 20, 25, 30)
_PUBLISHED = {
    "theorem 4.2": (0.86, 0.89, 0.84, 0.75, 0.69),
    "bartlett": (0.73, 0.75, 0.74, 0.71, 0.67),
    "distance": (0.69, 0.68, 0.66, 0.64, 0.62),
}


@dataclass(frozen=True)
class DigitTable(TheoryFigure):
    """shachaf2021 Table 1: squared correlation of three bounds with the test error over pairs of tasks.

    Published values are dashed and not scored: the paper leaves open how its teachers were trained, and the constants
    of its bounds. It needs the data set "mnist".

    Levels of R^2 differ by 0.2 between draws of the pairs, more than the bounds do, so that one draw does not tell the
    order of the bounds. Each draw counts as one observation: points are means over draws, error bars their standard
    error.

    Attributes:
        pairs: Source-target pairs K, at least 3.
        samples: Target samples per pair.
        repeats: Repeats with new starts and samples, at least 2.
        m: Leading eigenvectors in Theorem 4.2.
        pretraining_steps: Gradient steps of both teachers.
        constant: c of Theorem 4.2; with 1 the theorem's bound on the deviation of sample covariances is about its mean.
        draw: The first draw of the pairs.
        draws: Number of draws, at least 1.
    """

    pairs: int = setting(20, Range(3, 90))
    samples: int = setting(25, Range(2, 1000), quick=10)
    repeats: int = setting(10, Range(2, 1000), quick=3)
    m: int = setting(2, Range(1, 784))
    pretraining_steps: int = setting(1000, Range(1, 100_000))
    constant: float = setting(1.0, Range(0.01, 100))
    draw: int = setting(0, Range(0, 1_000_000))
    draws: int = setting(5, Range(1, 100), quick=1)

    name: ClassVar[str] = "shachaf2021-table1"
    version: ClassVar[int] = 3

    def theory(self) -> Theory:
        """The published table."""
        sizes = np.array(_SIZES, dtype=np.float64)
        curves = tuple(Curve("r2", name, sizes, np.array(values), dashed=True) for name, values in _PUBLISHED.items())
        title = f"MNIST, K = {self.pairs}; dashed: as published"
        return Theory((Panel("r2", title, "target examples n", "R² of bound and test error", y_limits=(0, 1)),), curves)

    def points(self) -> tuple[Point, ...]:
        """Three bounds at five sizes."""
        return tuple(Point("r2", name, float(n), float("nan")) for n in _SIZES for name in _PUBLISHED)

    def simulate(self, point: Point) -> Estimate:
        """Fine-tune on every pair, and correlate; the mean over draws of the pairs."""
        found = [self._of_draw(point, draw) for draw in range(self.draw, self.draw + self.draws)]
        if len(found) == 1:
            return found[0]
        values = np.array([estimate.value for estimate in found])
        return mean_estimate(values, np.array([estimate.status for estimate in found]))

    def _of_draw(self, point: Point, draw: int) -> Estimate:
        found = _table(replace(self, draw=draw, draws=1), int(point.x)).r_squared
        return next(estimates[0] for name, estimates in found.items() if name.startswith(point.series))

    def claims(self) -> tuple[Claim, ...]:
        """The order of the bounds, and that all of them correlate less with more examples; both take many draws."""
        full = type(self)()
        enough = all(getattr(self, name) >= getattr(full, name) for name in ("samples", "repeats", "draws"))
        why_not = (
            f"{self.draws} draw{'s' * (self.draws > 1)} of the pairs with {self.samples} samples and {self.repeats} "
            f"repeats do not tell the order: that takes the full profile ({full.draws} draws, {full.samples} samples, "
            f"{full.repeats} repeats), as in `transferscope papers draw shachaf2021 table1 --full`."
        )
        claim = partial(Claim, exception="" if enough else why_not, told=enough)
        return (
            claim(
                "Theorem 4.2 correlates with the test error more strongly than the other bounds (mean over the sizes)",
                "shachaf2021, section 4.2 with Table 1",
                lambda drawn: _level(drawn, "theorem 4.2") > max(_level(drawn, "bartlett"), _level(drawn, "distance")),
            ),
            claim(
                "the bound of Bartlett et al. correlates more strongly than the distance of the teachers",
                "shachaf2021, Table 1",
                lambda drawn: _level(drawn, "bartlett") > _level(drawn, "distance"),
            ),
            claim(
                "every correlation is weaker with 30 examples than with 10",
                "shachaf2021, Table 1",
                lambda drawn: all(
                    drawn.points("r2", name)[_SIZES[0]].value > drawn.points("r2", name)[_SIZES[-1]].value
                    for name in _PUBLISHED
                ),
            ),
        )

    def conclude(self, simulated: Sequence[Simulated]) -> Conclusion:
        """Mean R^2 over the sizes beside the published one."""
        parts = []
        for name, published in _PUBLISHED.items():
            own = [item.estimate.value for item in simulated if item.point.series == name and item.estimate.usable]
            if own:
                parts.append(f"{name} {np.mean(own):.2f} ({np.mean(published):.2f})")
        return Conclusion(f"mean R² over the sizes, published in brackets: {', '.join(parts)}")


def _level(drawn: Drawn, name: str) -> float:
    return float(np.mean([found.value for found in drawn.points("r2", name).values()]))


@lru_cache(maxsize=8)
def _table(figure: DigitTable, n: int) -> BoundTable:
    """All three bounds at one size; one computation serves three points."""
    settings = TableSettings(
        n_pairs=figure.pairs,
        n_samples=figure.samples,
        n_repeats=figure.repeats,
        sizes=(n,),
        m=figure.m,
        pretraining_steps=figure.pretraining_steps,
        constants=(figure.constant,),
        seed=figure.draw,
    )
    return correlate(_pairs(figure.pairs, figure.draw), settings)


@lru_cache(maxsize=1)
def _pairs(n_pairs: int, draw: int) -> tuple[TaskPair, ...]:
    """The tasks of one draw with their covariances, for every size."""
    data = load("mnist")
    return task_pairs(_digits(data.train), _digits(data.test), n_pairs=n_pairs, seed=draw)


def _digits(images: LabelledSet) -> Digits:
    return Digits(images.inputs.reshape(len(images), -1) / 255.0, images.labels)
