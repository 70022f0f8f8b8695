"""The interface of transfer methods: frozen settings with the function `fit`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.estimate import Status
from transferscope.methods.defaults import VARIANTS
from transferscope.models.network import Network, device_of
from transferscope.records import Checked, Cost, Record
from transferscope.settings.data import Value as Value  # of a searched setting
from transferscope.training import PixelScale, RunOptions, TrainingSettings, outputs_of, to_tensors

Start = Literal["random", "pretrained"]


@dataclass(frozen=True)
class Snapshots:
    """Networks of a run to keep: the initial one, and one every `every` steps.

    Attributes:
        save: Called with the step and the current target network; it must keep a copy.
        every: Steps between two snapshots, each at least 1; a step that any of them divides is kept.
    """

    save: Callable[[int, Network], None]
    every: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    def wants(self, step: int, n_steps: int) -> bool:
        """Return whether to keep the network after `step` of `n_steps`."""
        asked = step in self.steps or any(step % interval == 0 for interval in self.every)
        return step == 0 or (asked and step < n_steps)


@dataclass(frozen=True)
class FitOptions(RunOptions):
    """Options of fitting a method.

    Attributes:
        training: Recipe and budget, the same for every method of a comparison. Epochs count passes over the target
            training set, so that all methods take the same number of steps.
        device: "auto", "cpu", "cuda" or "mps".
        curve_examples: Number of test examples for the training curve; 0 for no curve.
        snapshots: Networks to keep during training; None for none. They do not change results.
    """

    training: TrainingSettings
    device: str = "auto"
    curve_examples: int = 1000
    snapshots: Snapshots | None = None


@dataclass(frozen=True)
class Fitted:
    """A network trained for the target.

    Attributes:
        network: Backbone and target head, on the device it was trained on.
        source_head: The head that reads source labels from the same backbone; None if there is none.
        status: "converged" (closed form or solver), "max_steps" (the whole budget) or "non_finite".
        notes: Further numbers for reports, by name. "inner_risk" (MeRLin with `ridge = "auto"`):
            leave-one-out risk of the inner head as a share of that of predicting the mean, averaged over steps. "runs":
            number of runs with the whole budget, if not one.
    """

    network: Network
    scale: PixelScale
    source_head: nn.Module | None
    history: tuple[Record, ...]
    cost: Cost
    status: Status
    notes: Mapping[str, float] = field(default_factory=dict)

    def outputs(self, data: LabelledSet) -> Float[Tensor, "N K ..."]:
        """Return logits (of classes or labels) or regression values for the inputs, on the network's device."""
        return outputs_of(self.network, to_tensors(data, self.scale, device_of(self.network)))

    def predict(self, data: LabelledSet) -> np.ndarray:
        """Return class indices (N,), values (N, K) for regression, or which of several labels each input has (N, K).

        On a grid, class indices (N, h, w) or values (N, K, h, w).
        """
        outputs = self.outputs(data)
        if data.kind == "multi-label":
            return (outputs > 0).cpu().numpy()
        return (outputs if data.classes is None else outputs.argmax(dim=1)).cpu().numpy()


RATES = (1.0, 0.2, 5.0)
"""Learning rates of the default search as multiples of the given one, which comes first and is preferred in ties."""

SMALL_SHARE_RATES = (1.0, 5.0, 25.0)
"""Those of methods that train with a small share of the rate, 0.1 by default: up to that share of the largest of
`RATES` and beyond, as far-off targets need it."""


class Method(Checked, ABC):
    """A method to learn the target: a frozen dataclass whose fields are its settings.

    `fit` is a function of its arguments: it never changes the caller's network, its gradients, its mode or the global
    random state, and the same seed gives the same result. Override the defaults below where they differ.
    """

    name: ClassVar[str]
    """The name in study files and tables."""

    version: ClassVar[int]
    """Part of a cell's key; raised when the same settings give other results than before."""

    called: ClassVar[str]
    """Display name in sentences, figures and tables; by default the name. Studies store it."""

    def __init_subclass__(cls) -> None:
        """Refuse a display name that belongs to another method."""
        super().__init_subclass__()
        if "name" in vars(cls) and "called" not in vars(cls):
            cls.called = cls.name

    @property
    @abstractmethod
    def start(self) -> Start:
        """Whether `fit` expects a freshly initialised or a pretrained network."""

    @abstractmethod
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """Learn the target.

        Args:
            task: Target and, where `uses_source`, source data.
            network: The starting network. With `start == "pretrained"` its head is the source head. Every method
                draws a new target head from the seed.

        Raises:
            DataError: The method reads source data, and the task has none.
            NetworkError: The network does not accept the task's inputs.
        """

    uses_source: ClassVar[bool] = False
    """Whether `fit` reads `task.source`; False by default."""

    @property
    def needs_source(self) -> bool:
        """Whether its arms are transfer arms: it reads the source's data or the pretrained network.

        A control may be of either kind: nearest neighbours on pretrained features and the unchanged source model are
        transfer arms, random features and MeRLin's objective on the target alone are baselines.
        """
        return self.uses_source or self.start == "pretrained"

    uses_network: ClassVar[bool] = True
    """Whether it uses the study's network, rather than raw inputs."""

    def own_network(self, few: LabelledSet) -> Network | None:
        """Return the network that it trains in the study's place, for inputs like `few`; None for the study's."""
        return None

    @property
    def recipe(self) -> str:
        """Name of its row in the table of recipes: fine-tuning or training from scratch, by its start."""
        return "fine-tune" if self.start == "pretrained" else "scratch"

    takes_steps: ClassVar[bool] = True
    """Whether it trains by steps of an optimiser, rather than in closed form or by a solver."""

    keeps_network: ClassVar[bool] = True
    """Whether its result is a network of the study's architecture, which can be kept and exported."""

    @property
    def is_diagnosed(self) -> bool:
        """Whether diagnostics measure its networks."""
        return self.keeps_network

    @property
    def learns_grids(self) -> bool:
        """Whether it learns labels on a grid over each image."""
        return False

    @property
    def most_runs(self) -> int:
        """Maximum number of runs with the whole budget in a fit."""
        return 1

    def check_task(self, target: Dataset, source: Dataset | None) -> None:  # most take all
        """Refuse a task that it cannot learn, before any run; by default none except labels on a grid.

        Args:
            source: The source; None for a pretrained network without data.

        Raises:
            DataError: It cannot learn this task from this source.
        """

    def check_network(self, network: Network) -> None:  # likewise
        """Refuse a network that it cannot start from, before any run; by default none.

        Raises:
            SettingsError: Its settings name parts that the network lacks.
        """

    def frozen(self, own: Network) -> Sequence[nn.Module]:
        """Return the frozen blocks, which stay in evaluation mode: none."""
        return ()

    def as_stepped(self, network: Network) -> Network:
        """Return the network that a step passes through, to time it: the network itself."""
        return network

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return the values that `compare` searches besides learning rates, by setting, its own first: decays."""
        decay = training.weight_decay
        return {"weight_decay": (decay, 20 * decay or 0.01)} if self.takes_steps else {}

    def searched_rates(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return the learning rates that `compare` searches, its own first: multiples of the training settings'."""
        return {"lr": _multiples(training.lr, RATES)} if self.takes_steps else {}


def searched_shares(lr_scale: float) -> dict[str, tuple[Value, ...]]:
    """Return the learning rates to search for a method with a share of the training settings' rate."""
    return {"lr_scale": _multiples(lr_scale, SMALL_SHARE_RATES if lr_scale <= 0.2 else RATES)}


def _multiples(rate: float, factors: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(f"{factor * rate:.6g}") for factor in factors)


class Control(Method):
    """Base of controls: methods for comparison with transfer, in addition to training from scratch.

    Most train no network, so diagnostics of trained networks do not apply.
    """

    takes_steps: ClassVar[bool] = False
    keeps_network: ClassVar[bool] = False


def called_of(methods: Mapping[str, Method]) -> dict[str, str]:
    """Return the display names of methods by their names in a study; names that a user gave are left out."""
    variants = {name: name.replace("-", " ") for name in methods if name in VARIANTS}
    return {name: method.called for name, method in methods.items() if name == method.name} | variants


def check_task(method: Method, target: Dataset, source: Dataset | None) -> None:
    """Refuse a task that a method cannot learn, before any run.

    Labels on a grid over each image require `learns_grids`, and are not supported by methods that train on source data.
    Further limits are checked by the method's own `check_task`.

    Args:
        source: The source; None for a pretrained network without data.

    Raises:
        DataError: The method cannot learn this task from this source.
    """
    if target.train.grid is not None and not method.learns_grids:
        raise DataError(
            f"{method.name} does not support the grid of labels of {target.name} ({target.train.kind}); use scratch, "
            "or fine-tune or l2-sp with a random head"
        )
    if source is not None and source.train.grid is not None and method.uses_source:
        raise DataError(
            f"{method.name} does not support the grid of labels of {source.name} ({source.train.kind}); use "
            "fine-tune, which starts from the pretrained network, or leave it out"
        )
    method.check_task(target, source)
