"""Base of the figures of linear teachers: samples of the target, trained networks, and means over samples."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import LinearTransfer
from transferscope_papers.simulate.linear_transfer import draw, fine_tuning, from_scratch, perfectly_pretrained
from transferscope_papers.simulate.outcomes import Outcomes
from transferscope_papers.theory.fine_tuning import fine_tuning_average

ON_LINES = 4_000
"""Draws per point of a line: its error is a tenth of the line width."""


_TOGETHER = 6_000_000
"""Numbers in the matrices of points that are trained together, seeds x d x d: 48 MB."""


@dataclass(frozen=True)
class Way:
    """Which parts are trained; points of one way can be trained together.

    Attributes:
        n_frozen: Number of first layers that keep their pretrained weights.
        shows: The risk after training from the pretrained start, the risk from scratch, or the gain: their difference
            on the same samples.
    """

    depth: int
    n_frozen: int = 0
    shows: Literal["transfer", "scratch", "gain"] = "transfer"


@dataclass(frozen=True)
class Training:
    """A way of training, and its target."""

    pair: LinearTransfer
    n: int
    way: Way


@dataclass(frozen=True)
class LinearTeachersFigure(fig.TheoryFigure):
    """A figure whose source and target are linear teachers, learnt by deep linear networks.

    Attributes:
        seeds: Target samples per point.
    """

    d: int = fig.setting(500, fig.D, quick=60)
    seeds: int = fig.setting(20, fig.SEEDS, quick=60)

    @abstractmethod
    def training(self, point: fig.Point) -> Training:
        """Return the training of a point's networks, and its data."""

    def groups(self) -> list[list[fig.Point]]:
        """Return the points in groups that are trained together."""
        return self.trained_together(self.points())

    def trained_together(self, trained: Sequence[fig.Point]) -> list[list[fig.Point]]:
        """Group points whose networks are trained alike, up to `_TOGETHER` numbers.

        A step of gradient descent costs nearly the same for one network and for a thousand, so that grouping saves most
        of the time of small figures. Networks do not affect each other (`simulate.descent`).
        """
        size = max(1, _TOGETHER // (self.seeds * self.d**2))
        alike: dict[Way, list[fig.Point]] = {}
        for point in trained:
            alike.setdefault(self.training(point).way, []).append(point)
        return [points[i : i + size] for points in alike.values() for i in range(0, len(points), size)]

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Return means over target samples of the risk of trained networks, or of their gain."""
        trainings = [self.training(point) for point in points]
        way = trainings[0].way
        batch = draw(
            [training.pair for training in trainings for _ in range(self.seeds)],
            [training.n for training in trainings for _ in range(self.seeds)],
            [seed for point in points for seed in range(point.seed, point.seed + self.seeds)],
        )
        if way.shows == "scratch":
            return from_scratch(batch, depth=way.depth).means(self.seeds)
        outcomes = fine_tuning(batch, perfectly_pretrained(batch, depth=way.depth), n_frozen=way.n_frozen)
        if way.shows == "gain":
            scratch = from_scratch(batch, depth=way.depth)
            status = np.where(scratch.status == "converged", outcomes.status, scratch.status)
            outcomes = Outcomes(scratch.risk - outcomes.risk, status)
        return outcomes.means(self.seeds)


fine_tuned_average = lru_cache(maxsize=4096)(fine_tuning_average)
"""`theory.fine_tuning_average`, cached; its draws add at most a tenth to the error of 200 simulated seeds."""
