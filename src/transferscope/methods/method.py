"""What every transfer method is: frozen settings with the function `fit`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.estimate import Status
from transferscope.models.network import Network
from transferscope.records import Cost, Record
from transferscope.training import PixelScale, TrainingSettings, outputs_of, to_tensors

Start = Literal["random", "pretrained"]

Value = bool | int | float | str
"""A value of a setting that a search may try."""


@dataclass(frozen=True)
class Snapshots:
    """Which networks of a run are kept on the way: the first, and every so many steps before the last.

    Attributes:
        save: Called with the step and the target network as it is then; it must keep a copy.
        every: Steps between two snapshots, each at least 1; a step that any of them divides is kept.
        steps: Single steps to keep.
    """

    save: Callable[[int, Network], None]
    every: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    def wants(self, step: int, n_steps: int) -> bool:
        """Whether the network after `step` of `n_steps` is to be kept."""
        asked = step in self.steps or any(step % interval == 0 for interval in self.every)
        return step == 0 or (asked and step < n_steps)


@dataclass(frozen=True)
class FitOptions:
    """How a method is carried out.

    Attributes:
        training: Recipe and budget, the same for every method of a comparison. Epochs count passes over the target
            training set, so that all methods take the same number of steps.
        seed: Seed of heads, data order, augmentation and dropout, at least 0.
        device: "auto", "cpu", "cuda" or "mps".
        checkpoint: File that keeps the state of training; None to keep none.
        checkpoint_seconds: Time between two writes of it, as in `RunOptions`.
        on_progress: Called now and then with (steps done, steps in all).
        curve_examples: Test examples that the training curve is measured on; 0 for no curve.
        snapshots: Networks to keep on the way; None for none. They change no result.
    """

    training: TrainingSettings
    seed: int = 0
    device: str = "auto"
    checkpoint: Path | None = None
    checkpoint_seconds: float = 20.0
    on_progress: Callable[[int, int], None] | None = None
    curve_examples: int = 1000
    snapshots: Snapshots | None = None


@dataclass(frozen=True)
class Fitted:
    """A network trained for the target.

    Attributes:
        network: Backbone and target head, on the device it was trained on.
        scale: How target inputs are standardised for it.
        source_head: The head that reads source labels from the same backbone; None when there is none.
        history: The training curve.
        cost: What it took.
        status: "converged" (closed form or solver), "max_steps" (the whole budget) or "non_finite".
        notes: Further numbers that a reader should see, by name. "inner_risk" (MeRLin with `ridge = "auto"`):
            leave-one-out risk of the inner head as a share of that of predicting the mean, averaged over steps. "runs":
            how many runs of the whole budget it took, where that is not one.
    """

    network: Network
    scale: PixelScale
    source_head: nn.Module | None
    history: tuple[Record, ...]
    cost: Cost
    status: Status
    notes: Mapping[str, float] = field(default_factory=dict)

    def outputs(self, data: LabelledSet) -> Float[Tensor, "N K ..."]:
        """Logits (of classes or labels) or regression values for the inputs of `data`, on the network's device."""
        device = next(self.network.parameters()).device
        return outputs_of(self.network, to_tensors(data, self.scale, device))

    def predict(self, data: LabelledSet) -> np.ndarray:
        """Class indices (N,), values (N, K) for regression, or whether each input has each of several labels (N, K).

        On a grid, class indices (N, h, w) or values (N, K, h, w).
        """
        outputs = self.outputs(data)
        if data.kind == "multi-label":
            return (outputs > 0).cpu().numpy()
        return (outputs if data.classes is None else outputs.argmax(dim=1)).cpu().numpy()


@runtime_checkable
class Method(Protocol):
    """A way to learn the target, as a frozen dataclass whose fields are its settings.

    `fit` is a function of its arguments: it never changes the caller's network, its gradients, its mode or the global
    random state, and the same seed gives the same result.
    """

    name: ClassVar[str]
    """The name in study files and tables."""

    version: ClassVar[int]
    """Part of a cell's key; raised when the same settings give other results than before."""

    @property
    def start(self) -> Start:
        """Whether `fit` expects a freshly initialised or a pretrained network."""
        ...

    @property
    def uses_source(self) -> bool:
        """Whether `fit` reads `task.source`."""
        ...

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """Learn the target.

        Args:
            task: Target and, where `uses_source`, source data.
            network: The starting network. With `start == "pretrained"` its head is the source head. Every method
                draws a new target head from the seed.
            options: Budget, seed, device.

        Returns:
            The trained network with its history and cost.

        Raises:
            DataError: The task has no source data and the method reads them.
            NetworkError: The network does not take the task's inputs.
        """
        ...


def check_task(method: Method, target: Dataset, source: Dataset | None) -> None:
    """Refuse a task that a method cannot learn, before anything is run.

    A method says so in a function `check_task(target, source)` of its own; one without takes every task. Labels on a
    grid over each image are learnt by methods whose class says `learns_grids = True`, and their loss is no part of one
    that trains on source data.

    Args:
        method: The method.
        target: The target.
        source: The source; None for a pretrained network without data.

    Raises:
        DataError: The method cannot learn this task from this source.
    """
    on_grid = source is not None and source.train.grid is not None and method.uses_source
    if target.train.grid is not None and not getattr(method, "learns_grids", False):
        raise DataError(
            f"{target.name} has labels on a grid over each image ({target.train.kind}), which {method.name} does not "
            "learn; use scratch, and fine-tune or l2-sp with a random head"
        )
    if on_grid and source is not None:
        raise DataError(
            f"{method.name} trains on the source's labels, and those of {source.name} lie on a grid over each image "
            f"({source.train.kind}); leave it out, or use fine-tune, which starts from the pretrained network"
        )
    check = getattr(method, "check_task", None)
    if check is not None:
        check(target, source)


def check_network(method: Method, network: Network) -> None:
    """Refuse a network that a method cannot start from, before anything is run.

    A method says so in a function `check_network(network)` of its own; one without takes every network.

    Args:
        method: The method.
        network: The network; it is not changed.

    Raises:
        SettingsError: The method names parts of a network that this one has not.
    """
    check = getattr(method, "check_network", None)
    if check is not None:
        check(network)


def keeps_network(method: Method) -> bool:
    """Whether a method gives a trained network of the study's architecture, to keep, to export and to look into.

    Most controls do not, and neither does a method whose class says `keeps_architecture = False`.
    """
    trains = not isinstance(method, Control) or method.trains_network
    return trains and bool(getattr(method, "keeps_architecture", True))


def takes_steps(method: Method) -> bool:
    """Whether a method trains by steps of an optimiser, or what its class says as `takes_steps`.

    Without that, all do but controls that train no network.
    """
    trains = not isinstance(method, Control) or method.trains_network
    return bool(getattr(method, "takes_steps", trains))


def most_runs(method: Method) -> int:
    """How many runs of the whole budget a fit may take: what the method says as `most_runs`, or 1."""
    return int(getattr(method, "most_runs", 1))


class Control:
    """Base of the methods that are no way to transfer: what transfer has to beat beside training from scratch.

    Most train no network of their own, and there is nothing in them for a diagnostic of trained networks to measure.
    """

    @property
    def trains_network(self) -> bool:
        """Whether it trains a network of the study's architecture."""
        return False

    @property
    def uses_network(self) -> bool:
        """Whether one that starts from random weights reads the study's network, rather than the inputs as they are."""
        return False

    @property
    def uses_source(self) -> bool:
        """No source data."""
        return False
