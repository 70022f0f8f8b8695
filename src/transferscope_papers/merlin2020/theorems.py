"""Thm. 1 and 2 of merlin2020 on quadratic networks: the final features of pretraining, joint training and MeRLin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import QuadraticProblem
from transferscope_papers.simulate.descent import Weights
from transferscope_papers.simulate.outcomes import mean_estimate
from transferscope_papers.simulate.quadratic import (
    QuadraticRun,
    QuadraticSettings,
    TargetSamples,
    draw_targets,
    joint_training,
    merlin,
    pretrain,
    start_at_feature,
)
from transferscope_papers.theory.quadratic import OVERFITTING_BELOW, WRONG_FEATURE_LOSS, source_minimum

_N_SIGNAL = 4
_WIDTH = 8
_PENALTY = 0.01


_FROZEN = "pretraining, at a source-specific feature"
_SHARES = "joint training, from the shared feature"
_OVERFITS = "joint training, from a source-specific feature"
_STAYS = "MeRLin, from the shared feature"
_LEAVES = "MeRLin, from a source-specific feature"
_WAYS: dict[str, tuple[Callable[[TargetSamples, Weights, QuadraticSettings], QuadraticRun], int]] = {
    _FROZEN: (pretrain, 1),
    _SHARES: (joint_training, 0),
    _OVERFITS: (joint_training, 1),
    _STAYS: (merlin, 0),
    _LEAVES: (merlin, 1),
}
"""Training function of each way, and its initial feature."""
_FEW, _ENOUGH, _MANY = 6, 20, 40
_LEAST_STEPS = 2000


@dataclass(frozen=True)
class QuadraticFigure(fig.TheoryFigure):
    """merlin2020 Theorems 1 and 2, started at the shared and at a source-specific feature.

    The objective decides which one is the global minimum: MeRLin's is lower at the shared feature, that of joint
    training is lower at a feature that overfits the target when target examples are few. Random starts are shown in
    `random_starts`.

    Attributes:
        steps: Steps of Adam.
        seeds: Target samples per point.
    """

    d: int = fig.setting(50, fig.Range(5, 500))
    steps: int = fig.setting(6000, fig.Range(10, 100_000), quick=2000)
    seeds: int = fig.setting(8, fig.Range(1, 1000), quick=4)

    name: ClassVar[str] = "merlin2020-theorems"
    version: ClassVar[int] = 3
    known_error: ClassVar[float] = 0.003

    def theory(self) -> fig.Theory:
        """Return the loss of the best wrong feature, and the value of the source minimum."""
        ends = np.array([4.0, 44.0])
        best = float(source_minimum(_PENALTY).value)
        curves = (
            fig.Curve("target", "best wrong feature, 10/27", ends, np.full(2, WRONG_FEATURE_LOSS), dashed=True),
            fig.Curve("objective", "source minimum", ends, np.full(2, best), dashed=True),
        )
        panels = (
            fig.Panel("target", f"Target, d = {self.d}, λ = {_PENALTY:g}", "target examples", "loss on the target"),
            fig.Panel("objective", "Training objective", "target examples", "objective"),
        )
        return fig.Theory(panels, curves)

    def points(self) -> tuple[fig.Point, ...]:
        """Return three sizes per method; at the shared feature the target loss is 0 and the source loss minimal."""
        best = float(source_minimum(_PENALTY).value)
        expected = {("target", _STAYS): 0.0, ("objective", _STAYS): best}
        return tuple(
            fig.Point(panel, way, float(n), expected.get((panel, way), float("nan")), group=way.split(",")[0])
            for panel in ("target", "objective")
            for way in _WAYS
            for n in (_FEW, _ENOUGH, _MANY)
        )

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Train with Adam from a slightly perturbed source minimum; both panels show the same networks.

        Networks of one way are trained together, whatever the size of their sample and the feature they start from.
        """
        cases = list(dict.fromkeys((point.series, point.x) for point in points))
        own = [fig.Point("target", way, n).seed for way, n in cases]
        seeds = [seed for first in own for seed in range(first, first + self.seeds)]
        sizes = [int(n) for _, n in cases for _ in range(self.seeds)]
        data = draw_targets(QuadraticProblem(self.d, 1), sizes, seeds, n_signal=_N_SIGNAL)
        starts = [
            start_at_feature(
                range(first, first + self.seeds), self.d, feature=_WAYS[way][1], width=_WIDTH, penalty=_PENALTY
            )
            for (way, _), first in zip(cases, own, strict=True)
        ]
        start = tuple(torch.cat(layers) for layers in zip(*starts, strict=True))
        run = _WAYS[cases[0][0]][0](data, start, QuadraticSettings(penalty=_PENALTY, steps=self.steps))
        runs = {}
        for i, case in enumerate(cases):
            rows = slice(i * self.seeds, (i + 1) * self.seeds)
            for panel, shown in (("target", run.target_loss), ("objective", run.objective)):
                runs[panel, *case] = mean_estimate(shown[rows], run.status[rows])
        return tuple(runs[point.panel, point.series, point.x] for point in points)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims of Theorems 1 and 2 on the global minima, from the two starts."""
        short = f"{self.steps} steps do not end at a minimum." if self.steps < _LEAST_STEPS else ""
        many = (
            ""
            if OVERFITTING_BELOW**2 * self.d > _FEW
            else f"{_FEW} examples are not few for {self.d} inputs (n < 0.13 d)."
        )
        return (
            fig.Claim(
                "pretraining that ends at a source-specific feature has a target loss of 10/27 at least",
                "merlin2020, Theorem 1",
                lambda drawn: all(
                    mean.value + 3 * (mean.stderr or 0.0) + self.known_error >= WRONG_FEATURE_LOSS
                    for mean in drawn.points("target", _FROZEN).values()
                ),
                short,
            ),
            fig.Claim(
                f"joint training with {_FEW} target examples has its lower objective at an overfit feature, with a "
                "target loss above 0.1",
                "merlin2020, Theorem 1",
                _overfits,
                short or many,
            ),
            fig.Claim(
                "MeRLin's objective is lower at the shared feature than at a source-specific one",
                f"merlin2020, Theorem 2, for {_ENOUGH} target examples and more",
                lambda drawn: drawn.lower("objective", _STAYS, _LEAVES, at=(_ENOUGH, _MANY)),
                short,
            ),
            fig.Claim(
                "there it recovers the target, with a loss below 0.01",
                f"merlin2020, Theorem 2, for {_ENOUGH} target examples and more",
                lambda drawn: all(
                    mean.value < 0.01 for n, mean in drawn.points("target", _STAYS).items() if n >= _ENOUGH
                ),
                short,
            ),
        )


def _overfits(drawn: fig.Drawn) -> bool:
    lower = drawn.lower("objective", _OVERFITS, _SHARES, at=(_FEW,))
    return lower and drawn.points("target", _OVERFITS)[_FEW].value > 0.1
