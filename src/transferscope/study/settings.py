"""The tables of a study file as frozen settings; those of networks, training and methods stand with what they set."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from annotated_types import Ge, Le

from transferscope.diagnostics import DIAGNOSTICS, Diagnostic
from transferscope.errors import SettingsError, unknown_name
from transferscope.models import NetworkInput, NetworkSettings, Pretrained
from transferscope.models.build import Option, is_network_name
from transferscope.records import Count, Positive, check_settings
from transferscope.store import Role
from transferscope.study.tables import Mistakes, member_of, read_table, setting_names, settings_of

Value = bool | int | float | str

MOST_PROCESSES = 1024
"""More workers or threads than this are a slip of the hand, and would bring the machine down."""


@dataclass(frozen=True, slots=True)
class DataSettings:
    """Which data, and how much of them.

    Attributes:
        data: The name of the data, as in "usps" or "npz:PATH".
        transforms: Transformations by name, applied in this order.
        limit: Training examples to keep, at least 1; None for all.
        test_limit: Test examples to keep, at least 1; None for all.
    """

    data: str
    transforms: tuple[str, ...] = ()
    limit: Count | None = None
    test_limit: Count | None = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class TargetSettings(DataSettings):
    """The target: its data, and the numbers of labels to study.

    Attributes:
        labels: Numbers of labelled training examples in all (`n_target` of a cell), distinct, each at least 1; empty
            for all that there are.
        metric: What runs are judged by: "balanced-accuracy", "macro-f1" or "matthews" (`numerics.class_measures`);
            None for accuracy, average precision or squared error, by the kind of the labels. It can be changed in a
            finished study, whose runs stay as they are.
    """

    labels: tuple[Count, ...] = ()
    metric: Literal["balanced-accuracy", "macro-f1", "matthews"] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        check_distinct(labels=self.labels)

    @property
    def as_data(self) -> DataSettings:
        """The data without the numbers of labels."""
        return DataSettings(self.data, self.transforms, self.limit, self.test_limit)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Something to transfer from: data to pretrain on, or a network that is pretrained already.

    Attributes:
        data: The name of the data; None for a network.
        transforms: As for the target.
        limit: As for the target.
        test_limit: As for the target.
        network: Path of a file with the weights of the study's network; or the name of a pretrained network, as in
            "hf:FOLDER", "timm:NAME", "torchvision:NAME", "package.module:factory" or "path/to/file.py:factory".
        weights: A file of weights for it, or for the study's network; None for those that its name stands for.
        options: As in `NetworkSettings`, of a named network.
        head: Likewise.
        input: How inputs are brought to the network: size, mean, std, channels and scale; None for what is known of it.
        least_share: Share of the numbers of a named network's backbone that the weights must give.
        held_out: Further test sets with the source's labels, by name, as in { A = "half-images:cifar10?parts=A" };
            after transfer the source head is measured on the test part of each, transformed and scaled like the
            source.

    Raises:
        SettingsError: Not exactly one of data and a network is given, or a setting belongs to the other.
    """

    data: str | None = None
    transforms: tuple[str, ...] = ()
    limit: Count | None = None
    test_limit: Count | None = None
    network: str | None = None
    weights: str | None = None
    options: dict[str, Option] = field(default_factory=dict)
    head: str | None = None
    input: NetworkInput | None = None
    least_share: float = 1.0
    held_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.data is None) == (not self.is_network):
            seen = "both" if self.data is not None else "neither"
            raise SettingsError(f'gives {seen} of data and network; give exactly one, as in data = "mnist"')
        if self.is_network and (self.transforms or self.limit or self.test_limit or self.held_out):
            raise SettingsError("is a network; transforms, limit, test_limit and held_out are for data")
        of_named = self.options or self.head is not None or self.least_share != 1.0
        if self.data is not None and (of_named or self.input is not None):
            raise SettingsError("is data; options, head, input and least_share are for networks")
        if self.data is None and not self.names_network and of_named:
            raise SettingsError(
                "has weights of the study's network; options, head and least_share are for a network "
                "that is named, as in "
                'network = "package.module:factory"'
            )
        if self.names_network:
            self.pretrained(NetworkSettings())  # whether there is such a network

    @property
    def is_network(self) -> bool:
        """Whether it is a network that is pretrained already."""
        return self.network is not None or self.weights is not None

    @property
    def names_network(self) -> bool:
        """Whether it says which network it is, rather than giving weights of the study's."""
        return self.network is not None and (self.weights is not None or is_network_name(self.network))

    def pretrained(self, network: NetworkSettings) -> Pretrained:
        """The pretrained network; a SettingsError if the source is data, or a setting of its network is wrong."""
        if not self.is_network:
            raise SettingsError("a source that is data was asked for its network")
        if self.names_network:
            own = NetworkSettings(str(self.network), None, self.options, self.head, self.input)
        else:
            own = network if self.input is None else replace(network, input=self.input.over(network.input))
        weights = self.weights if self.names_network else self.weights or self.network
        return Pretrained(own, None if weights is None else Path(weights), self.least_share)

    @property
    def as_data(self) -> DataSettings | None:
        """The data; None for a network."""
        if self.data is None:
            return None
        return DataSettings(self.data, self.transforms, self.limit, self.test_limit)

    @property
    def held_out_data(self) -> dict[str, DataSettings]:
        """The further test sets by name."""
        return {name: DataSettings(data, self.transforms) for name, data in self.held_out.items()}


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """How settings are chosen: by cross-validation on target training data, with the same trials for every method.

    Attributes:
        trials: Settings to try for every method, at least 1.
        folds: Folds of the cross-validation, at least 2.
        grid: Values to try, by method and setting; a setting is one of the method's or of [training]. A study file
            without a grid tries what `compare` tries (see `methods.tuning.search_grid`); {} tries nothing.
        search: "full" tries each on every fold with all training steps; "halving" with a third of the steps, and after
            each fold only the better half goes on (see `methods.tuning.tune`).
        draw: "first": settings are chosen once, on the training labels of the first seed, and used for all seeds;
            "each": every seed chooses its own.
    """

    trials: Count
    folds: Annotated[int, Ge(2)] = 5
    grid: dict[str, dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    search: Literal["full", "halving"] = "full"
    draw: Literal["first", "each"] = "first"

    def __post_init__(self) -> None:
        check_settings(self)


DEVICES = "auto|cpu|mps|cuda(:[0-9]{1,3})?"
"""Regular expression of what a device may be called."""

_RESOURCES = ("cpus", "gpus", "memory")

Keep = Literal["winners", "all", "none"]
"""Which trained networks stay on the disk when a study is finished; see `EngineSettings`."""


@dataclass(frozen=True, slots=True)
class RaceSettings:
    """A race: only runs that can still change the answer are made, of those that the study file allows.

    Attributes:
        question: "which" arm to use, or "whether" a source helps.
        margin: Differences up to this are of no interest, above 0: points of accuracy, of average precision for several
            labels of each input, or of R² for numbers.
        runs: Most runs to make, at least 2; None for no such limit.
        minutes: How long the race may take, above 0: a run that would not fit into what is left is not begun. None for
            no such limit.
        run_minutes: How long one run may be expected to take, above 0; a longer one is not begun. None for no such
            limit.
    """

    question: Literal["which", "whether"] = "which"
    margin: Positive = 1.0
    runs: Annotated[int, Ge(2)] | None = None
    minutes: Positive | None = None
    run_minutes: Positive | None = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How a study is carried out.

    Workers and limits change no result. Another number of threads, or a GPU, adds the same numbers in another order,
    which changes the last digits: their cells are kept apart from those of one thread on the CPU.

    Attributes:
        workers: Cells that are done at a time, at most MOST_PROCESSES; 0 is "inline". None for as many as the machine,
            or the cluster, has room for.
        threads: Threads of each, from 1 to MOST_PROCESSES.
        device: "auto", "cpu", "mps", "cuda" for all visible GPUs, among which local workers are divided, or "cuda:1"
            for that one.
        cell_minutes: How long a cell may take, above 0; one that takes longer is stopped and has failed.
        keep: Which trained networks stay: "winners", for every method and number of labels that of the source with the
            best mean score, of its lowest seed; "all", with those on the way that diagnostics asked for; or "none".
            Networks of pre-training stay in any case.
        backend: Where cells are done: "local", in processes of this machine; "inline", in the runner itself, one at a
            time; "ray", as tasks of a Ray cluster.
        address: Of the Ray cluster, as in "auto" or "10.0.0.1:6379"; None for that in RAY_ADDRESS, or else a new one of
            this machine.
        resources: What a cell asks the cluster for, by its kind: { method = { cpus = 2, gpus = 0.25 } }; kinds are
            "pretrain", "method", "command", "diagnose" and "theory", resources "cpus", "gpus" and "memory" (bytes).
    """

    workers: Annotated[int, Ge(0), Le(MOST_PROCESSES)] | None = None
    threads: Annotated[int, Ge(1), Le(MOST_PROCESSES)] = 1
    device: str = "auto"
    cell_minutes: Positive = 1440.0
    keep: Keep = "winners"
    backend: Literal["local", "inline", "ray"] = "local"
    address: str | None = None
    resources: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.backend != "ray" and (self.address is not None or self.resources):
            raise SettingsError(f"address and resources are for backend = 'ray', not for {self.backend!r}; drop them")
        if (self.backend == "inline" and self.workers) or (self.backend == "ray" and self.workers == 0):
            raise SettingsError(
                f"workers = {self.workers} does not go with backend = {self.backend!r}; drop one of them"
            )
        for role, wanted in self.resources.items():
            if role not in get_args(Role):
                raise SettingsError(f"resources: {unknown_name('kind of cell', role, get_args(Role))}")
            for name, amount in wanted.items():
                if name not in _RESOURCES:
                    raise SettingsError(f"resources.{role}: {unknown_name('resource', name, _RESOURCES)}")
                if not 0 <= amount < math.inf or (name == "gpus" and amount > 1 and amount != int(amount)):
                    raise SettingsError(
                        f"resources.{role}: {name} = {amount:g}; expected at least 0, and whole numbers of GPUs above 1"
                    )
        if not re.fullmatch(DEVICES, self.device):
            raise SettingsError(
                f'device = "{self.device}" is unknown; expected "auto", "cpu", "mps", "cuda" or one GPU, as in "cuda:1"'
            )

    @property
    def is_inline(self) -> bool:
        """Whether cells are done in the runner itself."""
        return self.backend == "inline" or self.workers == 0

    @property
    def cell_resources(self) -> dict[str, dict[str, float]]:
        """What a cell of every role asks a cluster for: as many processors as it has threads, and a GPU on "cuda"."""
        usual = {"cpus": float(self.threads), "gpus": float(self.device.startswith("cuda"))}
        return {role: usual | self.resources.get(role, {}) for role in get_args(Role)}


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Programs that show the runs of a study while it runs; they change no result.

    Attributes:
        mlflow: A folder, or the URI of a tracking server or database; None for no MLflow.
        tensorboard: The folder that `tensorboard --logdir` is given; None for no TensorBoard.
        wandb: A project of Weights & Biases, or "ENTITY/PROJECT"; None for none.
    """

    mlflow: str | None = None
    tensorboard: str | None = None
    wandb: str | None = None

    def __post_init__(self) -> None:
        if not self.places:
            raise SettingsError('names no tracker; give one, as in mlflow = "mlruns"')
        for name, place in self.places.items():
            if not place.strip():
                raise SettingsError(f"{name} = {place!r} is empty; give a folder, an address or a project")

    @property
    def places(self) -> dict[str, str]:
        """Where each tracker that is wanted keeps its runs."""
        named = {"mlflow": self.mlflow, "tensorboard": self.tensorboard, "wandb": self.wandb}
        return {name: place for name, place in named.items() if place is not None}


Moment = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class MeasurementScope:
    """Which networks a diagnostic is measured on, and with which examples.

    Attributes:
        at: "start" (before training, under the new head), "end", or both.
        every: Steps from one measurement to the next, start and end included, at least 1; None for those of `at`.
        examples: Examples to measure on, at least 1: the first training examples, or test examples spread evenly.
        part: "target_train" or "target_test".

    Raises:
        SettingsError: A value is out of its range.
    """

    at: tuple[Moment, ...] = ("end",)
    every: Count | None = None
    examples: Count = 600
    part: Literal["target_train", "target_test"] = "target_train"

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.at or len(set(self.at)) < len(self.at):
            raise SettingsError(f'at = {list(self.at)}; expected ["start"], ["end"] or ["start", "end"]')

    def wants(self, step: int | None) -> bool:
        """Whether to measure the network of a step; 0 is the start and None the end."""
        if step is None:
            return "end" in self.at or self.every is not None
        return (step == 0 and "start" in self.at) or (self.every is not None and step % self.every == 0)


@dataclass(frozen=True, slots=True)
class DiagnosticSettings:
    """A diagnostic of a study."""

    diagnostic: Diagnostic
    scope: MeasurementScope

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON values."""
        kind = type(self.diagnostic)
        settings = {name: getattr(self.diagnostic, name) for name in setting_names(kind)}
        name = DIAGNOSTICS.reference(kind)
        return {"name": name, "settings": settings, "scope": asdict(self.scope)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The settings that `as_json` wrote down."""
        diagnostic = settings_of(DIAGNOSTICS[plain["name"]], plain["settings"])
        return cls(diagnostic, settings_of(MeasurementScope, plain["scope"]))


def read_diagnostics(given: object, mistakes: Mistakes) -> dict[str, DiagnosticSettings]:
    """The diagnostics of a study file, by the name of their table.

    Args:
        given: A list of names, or one table for each: its own settings beside those of `MeasurementScope`, and
            `diagnostic` for a table of another name.
    """
    if isinstance(given, list):
        given = {str(name): {} for name in given}
    if not isinstance(given, Mapping):
        mistakes.add('diagnostics is neither a list of names, as in ["weights", "curvature"], nor a group of tables')
        return {}
    read = {name: _read_one(str(name), table, mistakes) for name, table in given.items()}
    return {name: settings for name, settings in read.items() if settings is not None}


def _read_one(name: str, table: object, mistakes: Mistakes) -> DiagnosticSettings | None:
    where = f"[diagnostics.{name}]"
    if not isinstance(table, Mapping):
        read_table(MeasurementScope, table, where, mistakes)
        return None
    kind = member_of(DIAGNOSTICS, "diagnostic", name, table, where, mistakes)
    if kind is None:
        return None
    scope_keys = setting_names(MeasurementScope)
    scope = read_table(MeasurementScope, {k: v for k, v in table.items() if k in scope_keys}, where, mistakes)
    own = {key: value for key, value in table.items() if key not in (*scope_keys, "diagnostic")}
    diagnostic = read_table(kind, own, where, mistakes)
    return None if scope is None or diagnostic is None else DiagnosticSettings(diagnostic, scope)


def check_distinct(**sizes: tuple[int, ...]) -> None:
    """Refuse a size that occurs twice, with a SettingsError; sizes come by the name of their setting."""
    for name, given in sizes.items():
        if len(set(given)) < len(given):
            raise SettingsError(f"{name} = {list(given)} holds the same number twice; give each once")
