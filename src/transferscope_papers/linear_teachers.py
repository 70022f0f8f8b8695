"""What the figures of linear teachers share: samples of the target, trained networks, and means over samples."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transferscope.data.problems import LinearTransfer
from transferscope.estimate import Estimate
from transferscope.theory.fine_tuning import AveragedFineTuning, fine_tuning_average
from transferscope_papers.figure import SEEDS, D, Point, TheoryFigure, setting
from transferscope_papers.simulate.linear_transfer import (
    TransferBatch,
    draw,
    fine_tuning,
    from_scratch,
    perfectly_pretrained,
)
from transferscope_papers.simulate.outcomes import mean_estimate

ON_LINES = 4_000
"""Draws for a point of a line: a tenth of the width of a line."""


@dataclass(frozen=True)
class LinearTeachersFigure(TheoryFigure):
    """A figure whose source and target are linear teachers, learnt by deep linear networks.

    Attributes:
        d: Number of inputs.
        seeds: Target samples per point.
    """

    d: int = setting(500, D, quick=60)
    seeds: int = setting(20, SEEDS, quick=60)

    def samples(self, pair: LinearTransfer, n: int, point: Point) -> TransferBatch:
        """Independent target samples for one point."""
        return draw([pair] * self.seeds, [n] * self.seeds, range(point.seed, point.seed + self.seeds))

    def trained_risk(self, pair: LinearTransfer, n: int, point: Point, *, depth: int, n_frozen: int = 0) -> Estimate:
        """Mean risk over samples after gradient descent from the pre-trained start; its first layers may be frozen."""
        batch = self.samples(pair, n, point)
        return fine_tuning(batch, perfectly_pretrained(batch, depth=depth), n_frozen=n_frozen).means(self.seeds)[0]

    def trained_gain(self, pair: LinearTransfer, n: int, point: Point, *, depth: int, n_frozen: int = 0) -> Estimate:
        """Mean over samples of the risk from scratch minus that after transfer, both trained by gradient descent."""
        batch = self.samples(pair, n, point)
        scratch = from_scratch(batch, depth=depth)
        transfer = fine_tuning(batch, perfectly_pretrained(batch, depth=depth), n_frozen=n_frozen)
        status = np.where(scratch.status == "converged", transfer.status, scratch.status)
        return mean_estimate(scratch.risk - transfer.risk, status)


@lru_cache(maxsize=4096)
def fine_tuned_average(
    theta: float,
    n: int,
    d: int,
    *,
    sigma: float = 0.0,
    source_norm: float = 1.0,
    target_norm: float = 1.0,
    depth: float = 2,
    draws: int = 20_000,
) -> AveragedFineTuning:
    """`theory.fine_tuning_average`, remembered; the draws add at most a tenth to the error of 200 simulated seeds."""
    return fine_tuning_average(
        theta, n, d, sigma=sigma, source_norm=source_norm, target_norm=target_norm, depth=depth, draws=draws
    )
