"""The tables of a study file that no other room owns, as frozen settings."""

import math
from dataclasses import dataclass, field
from typing import Literal

from transferscope.errors import SettingsError

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
    limit: int | None = None
    test_limit: int | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        _check_positive(limit=self.limit, test_limit=self.test_limit)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """The target: its data, and the numbers of labels to study.

    Attributes:
        data: As in `DataSettings`.
        transforms: As in `DataSettings`.
        limit: As in `DataSettings`.
        test_limit: As in `DataSettings`.
        sizes: Numbers of labelled training examples in all, distinct, each at least 1; empty for all that there are.
    """

    data: str
    transforms: tuple[str, ...] = ()
    limit: int | None = None
    test_limit: int | None = None
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the limits and sizes."""
        _check_positive(limit=self.limit, test_limit=self.test_limit)
        check_sizes(self.sizes, least=1)

    @property
    def as_data(self) -> DataSettings:
        """The data without the sizes."""
        return DataSettings(self.data, self.transforms, self.limit, self.test_limit)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Something to transfer from: data to pretrain on, or a network that is pretrained already.

    Attributes:
        data: The name of the data; None for a network.
        transforms: As for the target.
        limit: As for the target.
        test_limit: As for the target.
        network: Path of a safetensors file with the weights of the study's network; None for data.
        held_out: Further test sets with the source's labels, by name, as in { A = "half-images:cifar10?parts=A" };
            after transfer the source head is measured on the test part of each, transformed and scaled like the
            source.

    Raises:
        SettingsError: Not exactly one of `data` and `network` is given, or a network has data settings.
    """

    data: str | None = None
    transforms: tuple[str, ...] = ()
    limit: int | None = None
    test_limit: int | None = None
    network: str | None = None
    held_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that it is one thing."""
        _check_positive(limit=self.limit, test_limit=self.test_limit)
        if (self.data is None) == (self.network is None):
            seen = "both" if self.data is not None else "neither"
            raise SettingsError(f'gives {seen} of data and network; give exactly one, as in data = "mnist"')
        if self.network is not None and (self.transforms or self.limit or self.test_limit or self.held_out):
            raise SettingsError("is a network; transforms, limit, test_limit and held_out are for data")

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
        grid: Values to try, by method and setting; a setting is one of the method's or of [training].
    """

    trials: int
    folds: int = 5
    grid: dict[str, dict[str, tuple[Value, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.trials < 1 or self.folds < 2:
            raise SettingsError(f"trials = {self.trials} and folds = {self.folds}; expected at least 1 and 2")


@dataclass(frozen=True, slots=True)
class RaceSettings:
    """A race: only runs that can still decide the question are made, of those that the study file allows.

    Attributes:
        question: "whether" transfer helps, or "which" way is best, which settles whether as well.
        risk: Wanted probability of any false "better than training from scratch", above 0 and up to 0.5.
        margin: Differences up to this are of no interest, above 0: points of accuracy, or of R² for numbers.
        cells: Most runs to make, at least 2; None for no such limit.
        minutes: Most computing time of all cells together, above 0; None for no such limit.
    """

    question: Literal["whether", "which"] = "which"
    risk: float = 0.05
    margin: float = 1.0
    cells: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.risk <= 0.5:
            raise SettingsError(f"risk = {self.risk} is out of range; expected a probability above 0 and up to 0.5")
        if not 0 < self.margin < math.inf:
            raise SettingsError(f"margin = {self.margin} is out of range; expected points above 0")
        if self.cells is not None and self.cells < 2:
            raise SettingsError(f"cells = {self.cells} is out of range; expected at least 2 runs")
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise SettingsError(f"minutes = {self.minutes} is out of range; expected minutes above 0")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How a study is carried out.

    Workers and limits change no result. Another number of threads, or a GPU, adds the same numbers in another order,
    which changes the last digits: their cells are kept apart from those of one thread on the CPU.

    Attributes:
        workers: Processes that do cells, 0 for this one, at most MOST_PROCESSES; None for as many as the machine has
            room for.
        threads: Threads of each, from 1 to MOST_PROCESSES.
        device: "auto", "cpu", "cuda" or "mps".
        cell_minutes: How long a cell may take, above 0; one that takes longer is stopped and has failed.
    """

    workers: int | None = None
    threads: int = 1
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    cell_minutes: float = 1440.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.workers is not None and not 0 <= self.workers <= MOST_PROCESSES:
            raise SettingsError(f"workers = {self.workers} is out of range; expected from 0 to {MOST_PROCESSES}")
        if not 1 <= self.threads <= MOST_PROCESSES:
            raise SettingsError(f"threads = {self.threads} is out of range; expected from 1 to {MOST_PROCESSES}")
        if not 0 < self.cell_minutes < math.inf:
            raise SettingsError(f"cell_minutes = {self.cell_minutes} is out of range; expected minutes above 0")


def check_sizes(sizes: tuple[int, ...], *, least: int, name: str = "sizes") -> None:
    """Check numbers of examples (or of steps, by another name).

    Raises:
        SettingsError: One is below `least`, or occurs twice.
    """
    for size in sizes:
        if size < least:
            raise SettingsError(f"{name} holds {size}; expected at least {least}")
    if len(set(sizes)) < len(sizes):
        raise SettingsError(f"{name} = {list(sizes)} holds a {name.removesuffix('s')} twice; give each once")


def _check_positive(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise SettingsError(f"{name} = {value} is out of range; expected at least 1")
