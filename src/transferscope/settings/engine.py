"""Decision and execution settings of a study file: the tables [decision], [engine], [race] and [track]."""

import math
import re
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

from transferscope.errors import SettingsError, unknown_name
from transferscope.records import Positive, Role, Says, check_settings

MOST_PROCESSES = 1024
"""Most workers or threads: more would overload the machine, and are probably a typing error."""

DEVICES = "auto|cpu|mps|cuda(:[0-9]{1,3})?"
"""Regular expression of device names."""

_RESOURCES = ("cpus", "gpus", "memory")

Keep = Literal["winners", "all", "none"]
"""Which trained networks stay on the disk when a study is finished; see `EngineSettings`."""


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """The margin of a decision, and the time that a point is worth."""

    margin: Annotated[
        Positive | None,
        Says(
            "Margin: points below which differences do not matter",
            "Of accuracy, of average precision for several labels of each input, or of R² for numbers. None: 1, or "
            "0.01 in other units.",
        ),
    ] = None
    worth: Annotated[
        Positive | None,
        Says(
            "Seconds of a run that a point is worth",
            "The arm of the least expected loss is recommended, its time included. None: the cheapest in the margin.",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class RaceSettings:
    """A race: only those runs of the study file that decide its questions at the lowest cost."""

    runs: Annotated[Annotated[int, Ge(2)] | None, Says("Most runs in all", "None for no such limit.")] = None
    minutes: Annotated[
        Positive | None,
        Says(
            "Time limit in minutes, from the start of its command",
            "A run that would end later is skipped, and one that takes longer is stopped. None for no such limit.",
        ),
    ] = None
    run_minutes: Annotated[
        Positive | None,
        Says("Maximum expected minutes of one run", "A longer one is skipped. None for no such limit."),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Execution of a study: workers, devices, timeouts and what is kept.

    Workers and limits do not change results. Another number of threads, or a GPU, changes the order of summation and so
    the last digits; such cells are stored separately.
    """

    workers: Annotated[
        Annotated[int, Ge(0), Le(MOST_PROCESSES)] | None,
        Says("Runs at a time", '0 is "inline"; None for as many as the machine, or the cluster, has room for.'),
    ] = None
    threads: Annotated[int, Ge(1), Le(MOST_PROCESSES), Says("Threads of each process")] = 1
    device: Annotated[
        str,
        Says(
            "auto, cpu, mps, cuda or cuda:N",
            '"cuda" is all visible GPUs, among which local workers are divided, and "cuda:1" that one.',
        ),
    ] = "auto"
    timeout: Annotated[
        Positive, Says("Timeout of a run, in minutes", "A run that takes longer is stopped and counts as failed.")
    ] = 1440.0
    keep: Annotated[
        Keep,
        Says(
            "Trained networks to keep",
            '"winners": for every method and number of labels that of the source with the best mean score, of its '
            'lowest seed; "all": with those on the way that diagnostics asked for; "none". Networks of pretraining '
            "stay in any case.",
        ),
    ] = "winners"
    backend: Annotated[
        Literal["local", "inline", "ray"],
        Says(
            "Where runs are made",
            '"local": in processes of this machine; "inline": in the runner itself, one at a time; "ray": as tasks of '
            "a Ray cluster.",
        ),
    ] = "local"
    address: Annotated[
        str | None,
        Says(
            "Address of the Ray cluster, auto or HOST:PORT",
            "None for that in RAY_ADDRESS, or else a new one of this machine.",
        ),
    ] = None
    resources: Annotated[
        dict[str, dict[str, float]],
        Says(
            "Resources that a run requests from the cluster, by kind",
            'As in { method = { cpus = 2, gpus = 0.25 } }; kinds are "pretrain", "method", "command", "diagnose" and '
            '"theory", resources "cpus", "gpus" and "memory" (bytes).',
        ),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.backend != "ray" and (self.address is not None or self.resources):
            raise SettingsError(f"address and resources are for backend = 'ray', not {self.backend!r}; leave them out")
        if (self.backend == "inline" and self.workers) or (self.backend == "ray" and self.workers == 0):
            raise SettingsError(f"workers = {self.workers} does not suit backend = {self.backend!r}; leave one out")
        for role, wanted in self.resources.items():
            if role not in get_args(Role):
                raise SettingsError(f"resources: {unknown_name('kind of run', role, get_args(Role))}")
            for name, amount in wanted.items():
                if name not in _RESOURCES:
                    raise SettingsError(f"resources.{role}: {unknown_name('resource', name, _RESOURCES)}")
                if not 0 <= amount < math.inf or (name == "gpus" and amount > 1 and amount != int(amount)):
                    raise SettingsError(
                        f"resources.{role}: {name} = {amount:g}; expected at least 0, and whole numbers of GPUs above 1"
                    )
        if not re.fullmatch(DEVICES, self.device):
            raise SettingsError(
                f'device = "{self.device}" is unknown; expected "auto", "cpu", "mps", "cuda" or a GPU, as in "cuda:1"'
            )

    @property
    def is_inline(self) -> bool:
        """Whether runs are made in the main process."""
        return self.backend == "inline" or self.workers == 0

    @property
    def cell_resources(self) -> dict[str, dict[str, float]]:
        """The resources that each kind of cell requests from a cluster: one CPU per thread, and a GPU on "cuda"."""
        usual = {"cpus": float(self.threads), "gpus": float(self.device.startswith("cuda"))}
        return {role: usual | self.resources.get(role, {}) for role in get_args(Role)}


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Experiment trackers that show the runs of a study; they change no result."""

    mlflow: Annotated[
        str | None, Says("Where MLflow keeps its runs", "A folder, or the URI of a tracking server or database.")
    ] = None
    tensorboard: Annotated[str | None, Says("The folder that `tensorboard --logdir` is given")] = None
    wandb: Annotated[str | None, Says('A project of Weights & Biases, or "ENTITY/PROJECT"')] = None

    def __post_init__(self) -> None:
        if not self.places:
            raise SettingsError('has no tracker; give one, as in mlflow = "mlruns"')
        for name, place in self.places.items():
            if not place.strip():
                raise SettingsError(f"{name} = {place!r} is empty; give a folder, an address or a project")

    @property
    def places(self) -> dict[str, str]:
        """The location of each requested tracker."""
        named = {"mlflow": self.mlflow, "tensorboard": self.tensorboard, "wandb": self.wandb}
        return {name: place for name, place in named.items() if place is not None}
