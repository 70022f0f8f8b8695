"""Boosted trees on tables, and their mean with ridge regression: baselines for transfer to a table."""

import time
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import unsupported
from transferscope.methods.common import domain, solved
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.methods.probe_head import probe_of
from transferscope.methods.source_labels import Line
from transferscope.methods.trees import Trees, boosted
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network, Scaled
from transferscope.training import TrainingSettings, example_weights, pixel_scale, stream_seed, to_tensors, weights_in

AS_THEY_ARE = NetworkInput(mean=0.0, std=1.0)


@dataclass(frozen=True)
class Boosting(Control):
    """Gradient boosting on the columns of a table (Friedman 2001), without any network or source.

    The constants are those with which scikit-learn's trees did best over small tables; see docs/results/tables.md.
    """

    trees: ClassVar[int] = 100
    """Number of trees per output."""
    rate: ClassVar[float] = 0.1
    """Learning rate: factor on each tree."""
    depth: ClassVar[int] = 3
    """Largest depth of a tree."""

    name: ClassVar[str] = "boosting"
    version: ClassVar[int] = 1
    start: ClassVar[Start] = "random"
    uses_network: ClassVar[bool] = False

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse data other than tables.

        Raises:
            DataError: The inputs are images or texts.
        """
        if target.train.is_image or target.train.is_tokens:
            seen = "texts" if target.train.is_tokens else "images"
            raise unsupported(self.name, "columns of a table", f"{target.name} is {seen}")

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; the fitted network is the trees, and reads inputs as they are.

        Raises:
            DataError: The inputs are images or texts.
        """
        Boosting.check_task(self, task.target, task.source)
        started = time.perf_counter()
        reader = Network(nn.Flatten(), nn.Identity(), task.target.train.input_shape[0], input=AS_THEY_ARE)
        target = domain(task.target, options, reader)
        head = self.head(task, options).to(target.train.device)
        trees = sum(len(part.feature) for part in head.modules() if isinstance(part, Trees))
        return solved(reader.under(head), target, started, trained=0, notes={"trees": float(trees)})

    def head(self, task: TransferTask, options: FitOptions) -> nn.Module:
        """Fit trees to the target's training examples."""
        return self.grown(task.target.train, options)

    def grown(self, train: LabelledSet, options: FitOptions) -> Trees:
        """Fit trees on these examples, weighted as the training settings say."""
        data = to_tensors(train, pixel_scale(train))
        weights = weights_in(options.training, data)
        return boosted(
            train.inputs.astype(np.float32),
            train.labels,
            train.n_outputs,
            weights=None if weights is None else example_weights(data.labels, weights).double().numpy(),
            random_state=stream_seed(options.seed, "trees") % 2**32,
            n_estimators=self.trees,
            learning_rate=self.rate,
            max_depth=self.depth,
        )


@dataclass(frozen=True)
class BoostingRidge(Boosting):
    """The mean of gradient boosting and of ridge regression on the inputs, each as on its own.

    Trees do not extrapolate, and a linear model has no curvature: on small tables their mean is better than either.
    Classes and labels are averaged as probabilities; outputs of ridge regression are used as such.
    """

    name: ClassVar[str] = "boosting-ridge"
    called: ClassVar[str] = "boosting and ridge"
    version: ClassVar[int] = 1

    def head(self, task: TransferTask, options: FitOptions) -> nn.Module:
        """Fit trees and a linear model."""
        return Mean(super().head(task, options), linear(task.target.train, options.training), task.target.train)


class Mean(nn.Module):
    """The mean of trees and of a ridge regression.

    Args:
        trees: Gives numbers, or log-odds.
        ridge: Gives numbers, or e_c - 1/K of classes and y - 1/2 of labels.
    """

    def __init__(self, trees: nn.Module, ridge: nn.Module, train: LabelledSet) -> None:
        super().__init__()
        self.trees, self.ridge, self.kind = trees, ridge, train.kind

    def forward(self, inputs: Float[Tensor, "n D"]) -> Float[Tensor, "n K"]:
        """Return the mean."""
        grown: Tensor = self.trees(inputs)
        if self.kind == "classification":
            grown = grown.softmax(dim=1) - 1 / grown.shape[1]
        elif self.kind == "multi-label":
            grown = grown.sigmoid() - 0.5
        ridge: Tensor = self.ridge(inputs)
        return (grown + ridge) / 2


def linear(train: LabelledSet, training: TrainingSettings) -> nn.Module:
    """Fit ridge regression to inputs scaled as leave-one-out error prefers, reading raw inputs."""
    scale = pixel_scale(train, get_args(Scaled))
    data = to_tensors(train, scale)
    probe = probe_of(data.batch(torch.arange(len(train))).inputs, data, training)
    return nn.Sequential(Line(torch.zeros_like(data.factor), data.factor, data.shift), probe)
