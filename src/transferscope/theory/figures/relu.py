"""Linear transfer of two-layer ReLU students: 001 Figure 4."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transferscope.data.problems import AblatedTeachers, ablate, relu_teacher
from transferscope.records import Estimate
from transferscope.theory.figures.figure import Conclusion, Curve, Panel, Point, Simulated, Theory
from transferscope.theory.relu import feature_split, fit_power_law, negative_transfer_size
from transferscope.theory.simulate.outcomes import mean_of_all
from transferscope.theory.simulate.relu_student import (
    pretrain,
    random_students,
    refit_heads,
    risks,
    train_from_scratch,
)
from transferscope.theory.simulate.seeds import generator

_TEACHER = 600
"""Random stream of teachers."""

_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_DRAWS = 10


@dataclass(frozen=True)
class ReluFigure:
    """001 Figure 4: risk from scratch, what the ablated source cannot express, and where transfer turns negative.

    Risks are in units of the target's squared norm. Not all students reach the paper's stopping rule; those that do not
    are drawn hollow.

    Attributes:
        d: Number of inputs.
        n_teacher: Neurons of the target teacher m*.
        width: Neurons of the student m.
        largest: Largest number of target examples.
        seeds: Teachers and students per point.
    """

    d: int = 100
    n_teacher: int = 100
    width: int = 1000
    largest: int = 1600
    seeds: int = 10

    name: ClassVar[str] = "001-figure-4"
    title: ClassVar[str] = "Linear transfer of two-layer ReLU networks (001 Figure 4)"
    version: ClassVar[int] = 1
    quick: ClassVar[Mapping[str, float]] = {"d": 10, "n_teacher": 10, "width": 60, "largest": 640, "seeds": 4}
    known_error: ClassVar[float] = 0.0

    def theory(self) -> Theory:
        """The share of the target outside the features of the ablated source, a closed form averaged over teachers."""
        mu = np.array([0.0, *_SHARES])
        outside = np.array([np.mean([self._outside(x, seed) for seed in range(_DRAWS)]) for x in mu])
        panels = (
            Panel("scratch", "From scratch", "target examples n", "risk / variance", x_log=True, y_log=True),
            Panel("transfer", f"Linear transfer, n = {self.largest}", "ablated share μ", "risk / variance"),
            Panel("boundary", "Where transfer turns negative", "ablated share μ", "n", y_log=True),
        )
        return Theory(panels, (Curve("transfer", "outside the features", mu, outside),))

    def points(self) -> tuple[Point, ...]:
        """Four sizes from scratch, five shares of linear transfer; nothing is exact enough to be scored."""
        sizes = [self.largest // 2**i for i in reversed(range(4))]
        scratch = [Point("scratch", "from scratch", float(n), float("nan")) for n in sizes]
        return (*scratch, *(Point("transfer", "linear transfer", mu, float("nan")) for mu in _SHARES))

    def simulate(self, point: Point) -> Estimate:
        """Train students on the sample, or on the population of the source before new heads on the sample."""
        mu = 0.0 if point.panel == "scratch" else point.x
        n = int(point.x) if point.panel == "scratch" else self.largest
        seeds = range(point.seed, point.seed + self.seeds)
        pairs = [self._pair(mu, seed) for seed in seeds]
        samples = [pair.sample(n, generator(seed)) for pair, seed in zip(pairs, seeds, strict=True)]
        start = random_students(seeds, self.d, width=self.width)
        if point.panel == "scratch":
            students = train_from_scratch(samples, start)
        else:
            students = refit_heads(pretrain([pair.source for pair in pairs], start), samples)
        outcomes = risks(students, [pair.target for pair in pairs])
        norms = np.array([pair.target.squared_norm() for pair in pairs])
        return mean_of_all(outcomes.risk / norms, outcomes.status)

    def conclude(self, simulated: Sequence[Simulated]) -> Conclusion:
        """The power law of the risk from scratch, and the boundary that it gives with the closed form."""
        own = [item for item in simulated if item.point.panel == "scratch" and item.estimate.value > 0]
        if len(own) < 2:
            return Conclusion("no power law yet: fewer than two sizes are simulated")
        n = np.array([item.point.x for item in own])
        law = fit_power_law(n, np.array([item.estimate.value for item in own]))
        outside = self.theory().curves[0]
        edge = negative_transfer_size(outside.y[1:], law)
        curves = (
            Curve("scratch", "fit", n, law.amplitude * n**-law.exponent, dashed=True),
            Curve("boundary", "predicted", outside.x[1:], edge),
        )
        sentence = f"risk from scratch falls as n^-{law.exponent:.2f} (001 finds 1.18 at d = 100)"
        return Conclusion(f"{sentence}{_cut_off(simulated)}", curves)

    def _pair(self, mu: float, seed: int) -> AblatedTeachers:
        numbers = generator(seed, _TEACHER)
        return ablate(relu_teacher(self.d, self.n_teacher, numbers), mu, numbers)

    def _outside(self, mu: float, seed: int) -> float:
        pair = self._pair(mu, seed)
        split = feature_split(pair.source.neurons, pair.target)
        return split.outside.value / split.total.value


def _cut_off(simulated: Sequence[Simulated]) -> str:
    """How many points rest on students that were still learning, and what that does."""
    moving = sum(item.estimate.status == "max_steps" for item in simulated)
    if not moving:
        return ""
    return (
        f"; {moving} of {len(simulated)} points (hollow) rest on students that the budget of steps cut off: their "
        "features still span more than the source's neurons, which lets linear transfer undercut the closed form"
    )
