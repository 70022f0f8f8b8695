"""Held-out score of a linear model on the features of a network, of random weights, and of the initial weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.analyses.diagnose.subject import FileSubject
from transferscope.estimate import Estimate
from transferscope.methods.probe_head import ridge_probe
from transferscope.models import Network
from transferscope.numerics.intervals import t_interval
from transferscope.training import frozen_features

Whose = Literal["end", "start", "random"]
"""The network, its initial weights, or random weights of its architecture."""

Call = Literal["better", "worse", "same", ""]

LEAST_EXAMPLES = 6
"""Fewer differences that are all one have an interval of no width, and by a sign test say nothing at a level of 5 %."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Held-out score of a linear model, by the network that provides its features.

    Attributes:
        measure: "accuracy", "labels right" (share of correctly predicted labels) or "r2".
        each: Contribution of each example in points, whose mean is the metric in percent; for random weights, those of
            the best draw.
        draws: Contributions for every draw of random weights.
    """

    measure: str
    n_train: int
    each: Mapping[Whose, Float[np.ndarray, " N"]]
    draws: tuple[Float[np.ndarray, " N"], ...] = ()

    @property
    def transferred(self) -> Whose:
        """The network whose features are transferred: the initial weights, or the network itself if they are
        unknown."""
        return "start" if "start" in self.each else "end"

    def reached(self, whose: Whose) -> Estimate:
        """Return the metric with its interval over held-out examples."""
        return t_interval(self.each[whose])

    def gain(self, whose: Whose, over: Whose) -> Estimate:
        """Return the difference of two networks, paired by example."""
        return t_interval(self.each[whose] - self.each[over])

    def call(self, whose: Whose, over: Whose) -> Call:
        """Return the side on which the 95 % interval of the difference excludes 0.

        "Better" than random weights means better than their best draw, "worse" means worse than their worst; "same"
        means that every example has the same score.
        """
        if np.array_equal(self.each[whose], self.each[over]):
            return "same"
        if self.gain(whose, over).low > 0:
            return "better"
        least = min(self.draws, key=lambda points: points.mean()) if over == "random" else self.each[over]
        return "worse" if t_interval(self.each[whose] - least).high < 0 else ""


def reach_of(looked_at: FileSubject) -> Reach | None:
    """Fit a ridge probe to the features of the network, its start and random weights, and judge it on test examples.

    Returns:
        The scores; None for labels on a grid, with fewer than LEAST_EXAMPLES test examples, or without a network to
        compare with.

    Raises:
        DataError: Features are not finite.
    """
    own, start = looked_at.subject.network, looked_at.subject.start
    if not looked_at.random and start is None:
        return None
    if looked_at.train.labels.ndim > 2 or len(looked_at.test) < LEAST_EXAMPLES or not isinstance(own, Network):
        return None
    each: dict[Whose, np.ndarray] = {"end": _judged(own, looked_at)}
    if isinstance(start, Network):
        each["start"] = _judged(start, looked_at)
    draws = tuple(_judged(one, looked_at) for one in looked_at.random)
    if draws:
        each["random"] = max(draws, key=lambda points: points.mean())
    labels = looked_at.test.labels
    measure = "r2" if labels.is_floating_point() else "labels right" if labels.dtype == torch.bool else "accuracy"
    return Reach(measure, len(looked_at.train), each, draws)


@torch.no_grad()
def _judged(network: Network, looked_at: FileSubject) -> Float[np.ndarray, " N"]:
    train, test = looked_at.train, looked_at.test
    head = ridge_probe(frozen_features(network, train), train.labels, train.n_outputs)
    return points_of(head(frozen_features(network, test)), test.labels)


def points_of(outputs: Float[Tensor, "N K"], labels: Tensor) -> Float[np.ndarray, " N"]:
    """Return the contribution of each example to the metric: 0 or 100 for a class, the percentage of correct labels.

    For numbers, 100 minus the squared error in percent of the variance, mean over outputs that vary; its mean is R².
    """
    predicted, truth = outputs.cpu().double().numpy(), labels.cpu().numpy()
    if labels.dtype == torch.bool:
        return np.asarray(100.0 * ((predicted > 0) == truth).mean(axis=1))
    if not labels.is_floating_point():
        return np.asarray(100.0 * (predicted.argmax(axis=1) == truth))
    variance = truth.var(axis=0, dtype=np.float64)
    varies = variance > 0
    return np.asarray(100.0 * (1 - (np.square(predicted - truth)[:, varies] / variance[varies]).mean(axis=1)))
