"""Theorems 1 to 3 of liu2019 on wide networks: gradients and distances against width, errors against steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float64

from transferscope.estimate import Estimate
from transferscope.numerics.ntk import KernelTransfer, kernel_examples, kernel_transfer, relu_gram
from transferscope_papers import figure as fig
from transferscope_papers.problems import Sample
from transferscope_papers.simulate.outcomes import mean_estimate
from transferscope_papers.simulate.wide_relu import Labelled, error_curves, wide_transfer
from transferscope_papers.theory.ntk import Convergence, convergence

_N_SOURCE, _N_TARGET, _D = 12, 8, 10
_TASKS = ("similar", "unrelated")
_DATA_SEED = 5
_WIDE = 2000
"""Width from which networks are expected near the limit."""


@dataclass(frozen=True)
class KernelFigure(fig.TheoryFigure):
    """liu2019 Theorems 1 and 2: leading terms as lines, trained networks as points that approach them with the width.

    Only the points at the largest width are scored: the theorems are about its limit.

    Attributes:
        width: Largest width; a quarter and a sixteenth of it are also shown. Even, at least 64.
        seeds: Networks per point.
    """

    width: int = fig.setting(20_000, fig.Range(64, 200_000), quick=2048)
    seeds: int = fig.setting(6, fig.Range(1, 1000), quick=4)

    name: ClassVar[str] = "liu2019-theorems"
    known_error: ClassVar[float] = 0.03

    def theory(self) -> fig.Theory:
        """Return constant lines."""
        ends = np.array([self.width / 20, self.width * 1.2])
        curves = []
        for task in _TASKS:
            terms = _terms(task)
            curves.append(fig.Curve("gradient", task, ends, np.full(2, terms.task_distance.value**2)))
            curves.append(fig.Curve("distance", f"{task}, transfer", ends, np.full(2, terms.deviation_transfer.value)))
            curves.append(fig.Curve("distance", f"{task}, scratch", ends, np.full(2, terms.deviation_scratch.value)))
        panels = (
            fig.Panel("gradient", "Theorem 1: after pretraining", "width", "squared gradient norm", x_log=True),
            fig.Panel("distance", "Theorem 2", "width", "distance that weights travel", x_log=True),
        )
        return fig.Theory(panels, tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return three widths for each line."""
        return tuple(
            fig.Point(
                curve.panel,
                curve.series,
                float(width),
                float(curve.y[0]) if width == self.width else math.nan,
                {"width": width},
            )
            for curve in self.theory().curves
            for width in (self.width // 32 * 2, self.width // 8 * 2, self.width)
        )

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Train on the source, then on the target, and on the target from scratch."""
        estimates = []
        for point in points:
            task = point.series.split(",")[0]
            source, target = (_labelled(data, self.seeds) for data in (_source(), _target(task)))
            seeds = range(point.seed, point.seed + self.seeds)
            run = wide_transfer(source, target, width=int(point.parameters["width"]), seeds=seeds)
            travel = run.scratch_travel if point.series.endswith("scratch") else run.travel
            shown = run.activation_gradient if point.panel == "gradient" else travel
            estimates.append(mean_estimate(shown, run.status))
        return tuple(estimates)

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return the distance of the widest networks from the limit; scores exclude most of it (`known_error`)."""
        scored = [item for item in simulated if not np.isnan(item.point.expected)]
        if not scored:
            return fig.Conclusion("nothing is simulated at the largest width yet")
        gaps = [abs(item.estimate.value / item.point.expected - 1) for item in scored]
        return fig.Conclusion(
            f"networks of width {self.width} lie within {100 * max(gaps):.2g} % of the leading terms, "
            f"{100 * np.mean(gaps):.2g} % on average; scores are beyond a known error of {self.known_error:g}"
        )

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims of the theorems on a similar and an unrelated task, and on wide networks."""
        widest = (float(self.width),)
        narrow = f"Networks of width {self.width} are not wide yet." if self.width < _WIDE else ""
        return (
            fig.Claim(
                "after pretraining gradients at the activations are smaller on a similar task than on another",
                "liu2019, Theorem 1",
                lambda drawn: drawn.lower("gradient", "similar", "unrelated", at=widest),
                narrow,
            ),
            fig.Claim(
                "on a similar task weights travel less from the pretrained start than from scratch",
                "liu2019, Theorem 2",
                lambda drawn: drawn.lower("distance", "similar, transfer", "similar, scratch", at=widest),
                narrow,
            ),
            fig.Claim(
                "the widest networks lie within 5 % of the leading terms",
                "liu2019, Theorems 1 and 2, for sufficiently many hidden units",
                lambda drawn: all(
                    abs(drawn.points(line.panel, line.series)[self.width].value / line.y[0] - 1) < 0.05
                    for line in drawn.theory.curves
                ),
                narrow,
            ),
        )


_WAYS = ("pretrained", "from scratch")
_SHARES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Steps at which errors are measured, as shares of all steps."""


@dataclass(frozen=True)
class ConvergenceFigure(fig.TheoryFigure):
    """liu2019 Theorem 3: the error on the target along gradient descent, and its bound, pretrained and from scratch.

    Attributes:
        width: Neurons. Even, at least 64.
        steps: Steps on the target.
        stability: Learning rate in units of one over the largest eigenvalue of the kernel; the theorem takes a smaller
            one, of the order of its smallest eigenvalue over n.
        seeds: Networks per point.
    """

    width: int = fig.setting(20_000, fig.Range(64, 200_000), quick=2048)
    steps: int = fig.setting(20, fig.Range(8, 10_000))
    stability: float = fig.setting(0.9, fig.Range(0.001, 1))
    seeds: int = fig.setting(6, fig.Range(1, 1000), quick=4)

    name: ClassVar[str] = "liu2019-theorem3"
    known_error: ClassVar[float] = 0.06

    @property
    def rate(self) -> float:
        """The learning rate on the target; both tasks have the same inputs there."""
        return self.stability / float(np.linalg.eigvalsh(relu_gram(_target("similar").inputs))[-1])

    def theory(self) -> fig.Theory:
        """Return the error of an infinitely wide network as a line, the bound dashed."""
        curves, steps = [], range(self.steps + 1)
        for task in _TASKS:
            for way in _WAYS:
                computed, x = self._convergence(task, way, steps), np.arange(self.steps + 1.0)
                curves.append(fig.Curve(task, way, x, computed.errors))
                curves.append(fig.Curve(task, way, x, computed.bound, dashed=True))
        titles = {"similar": "The source's teacher", "unrelated": "Labels that the source says nothing of"}
        panels = (
            fig.Panel(task, titles[task], "steps on the target", "squared error (dashed: bound)", y_log=True)
            for task in _TASKS
        )
        return fig.Theory(tuple(panels), tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return seven numbers of steps for each line, measured on the same networks."""
        marks = sorted({round(share * self.steps) for share in _SHARES})
        return tuple(
            fig.Point(task, way, float(k), float(error), group=f"{task}, {way}")
            for task in _TASKS
            for way in _WAYS
            for k, error in zip(marks, self._convergence(task, way, marks).errors, strict=True)
        )

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Train on the source, unless from scratch, then on the target."""
        first = points[0]
        source = _labelled(_source(), self.seeds) if first.series == _WAYS[0] else None
        run = error_curves(
            source,
            _labelled(_target(first.panel), self.seeds),
            width=self.width,
            seeds=range(first.seed, first.seed + self.seeds),
            steps=[int(point.x) for point in points],
            rate=self.rate,
        )
        return tuple(mean_estimate(errors, run.status) for errors in run.errors)

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return how much faster than its bound the error falls, and how long pretraining lowers it."""
        end = max(simulated, key=lambda item: item.point.x).point
        curve = self._convergence(end.panel, end.series, [int(end.x)])
        steps = range(self.steps + 1)
        tuned, scratch = (self._convergence("similar", way, steps).errors for way in _WAYS)
        behind = np.flatnonzero(tuned > scratch)
        until = f"for {behind[0]} steps, and behind from then on" if len(behind) else "throughout"
        return fig.Conclusion(
            f"after {end.x:g} steps the squared error is {curve.errors[0]:.2g} by theory ({end.panel}, {end.series}) "
            f"and the bound {curve.bound[0]:.2g}: late in training the error falls by (1 - eta lambda)^2 in a step, "
            "the bound by 1 - eta lambda / 2. On the similar task the pretrained start is ahead of training from "
            f"scratch {until}: it leaves less to fit, and more of that where the kernel learns slowly"
        )

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on the bound and on the effect of pretraining."""
        narrow = f"Networks of width {self.width} are not wide yet." if self.width < _WIDE else ""
        return (
            fig.Claim(
                "the error stays below its bound at every step, from either start",
                "liu2019, Theorem 3",
                lambda drawn: all(
                    mean.value <= drawn.line(task, way, dashed=True).y[int(k)] * (1 + self.known_error)
                    for task in _TASKS
                    for way in _WAYS
                    for k, mean in drawn.points(task, way).items()
                ),
                narrow,
            ),
            fig.Claim(
                "on a similar task the pretrained network begins with the smaller error",
                "liu2019, Theorems 1 and 3",
                lambda drawn: drawn.lower("similar", *_WAYS, at=(0.0,)),
                narrow,
            ),
        )

    def _convergence(self, task: str, way: str, steps: Sequence[int]) -> Convergence:
        target = _target(task)
        known = _terms(task).transformed_labels[:, 0] if way == _WAYS[0] else np.zeros(len(target))
        return convergence(target.inputs, target.targets - known, rate=self.rate, steps=steps)


def _source() -> Sample:
    generator = np.random.default_rng(_DATA_SEED)
    inputs = _unit_rows(generator, _N_SOURCE)
    return Sample(inputs, inputs @ _teacher())


def _target(task: str) -> Sample:
    """Return labels of the source teacher on new inputs, or unrelated labels."""
    generator = np.random.default_rng(_DATA_SEED + 1)
    inputs = _unit_rows(generator, _N_TARGET)
    labels = inputs @ _teacher() if task == "similar" else generator.choice([-1.0, 1.0], _N_TARGET)
    return Sample(inputs, labels)


def _teacher() -> Float64[np.ndarray, " d"]:
    return np.full(_D, 1 / np.sqrt(_D))


def _unit_rows(generator: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
    rows = generator.standard_normal((n, _D))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _terms(task: str) -> KernelTransfer:
    return kernel_transfer(
        *(kernel_examples(data.inputs, data.targets[:, None]) for data in (_source(), _target(task)))
    )


def _labelled(data: Sample, n: int) -> Labelled:
    inputs, labels = torch.from_numpy(data.inputs), torch.from_numpy(data.targets)
    return Labelled(inputs.expand(n, -1, -1), labels.expand(n, -1))
