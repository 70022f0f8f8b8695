"""Decision and execution settings of a study file: the tables [decision], [engine], [race] and [track]."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from transferscope.errors import SettingsError
from transferscope.records import Checked, Positive, Says, check_settings

MOST_PROCESSES = 1024
"""Most workers or threads: more would overload the machine, and are probably a typing error."""

DEVICES = "auto|cpu|mps|cuda(:[0-9]{1,3})?"
"""Regular expression of device names."""

Keep = Literal["winners", "all", "none"]
"""Which trained networks stay on the disk when a study is finished; see `EngineSettings`."""


@dataclass(frozen=True, slots=True)
class DecisionSettings(Checked):
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


@dataclass(frozen=True, slots=True)
class RaceSettings(Checked):
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
        Positive | None, Says("Maximum expected minutes of one run", "A longer one is skipped. None for no such limit.")
    ] = None


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Execution of a study: workers, devices, timeouts and what is kept.

    Workers and limits do not change results. Another number of threads, or a GPU, changes the order of summation and so
    the last digits; such cells are stored separately.
    """

    workers: Annotated[
        Annotated[int, Ge(0), Le(MOST_PROCESSES)] | None,
        Says(
            "Runs at a time", "0 for one at a time in the main process; None for as many as the machine has room for."
        ),
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

    def __post_init__(self) -> None:
        check_settings(self)
        if not re.fullmatch(DEVICES, self.device):
            raise SettingsError(
                f'device = "{self.device}" is unknown; expected "auto", "cpu", "mps", "cuda" or a GPU, as in "cuda:1"'
            )


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
