"""The interface of diagnostics, and their findings."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from transferscope.diagnostics.subject import Subject
from transferscope.errors import unsupported
from transferscope.estimate import Estimate, Interval
from transferscope.records import Meaning, Record, check_settings


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a diagnostic.

    Attributes:
        arrays: Grids, curves and maps by name, for the figures.
        left_out: Names of weights that it does not cover.
    """

    records: tuple[Record, ...]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        subject: Subject,
        named: Mapping[str, Estimate],
        arrays: Mapping[str, np.ndarray] | None = None,
        left_out: tuple[str, ...] = (),
    ) -> Self:
        """Return findings whose records are estimates by name, of the subject's part and step."""
        records = tuple(Record(name, estimate, subject.part, subject.step) for name, estimate in named.items())
        return cls(records, arrays or {}, left_out)

    def __getitem__(self, name: str) -> Estimate:
        return {record.name: record.estimate for record in self.records}[name]


@dataclass(frozen=True, slots=True)
class Spread:
    """The number of samples of a standard error, and the resulting interval.

    Attributes:
        n: Number of samples: batches, probes or examples.
        interval: 95 % interval by Student's t with n - 1 degrees of freedom; None without a standard error.
    """

    n: int
    over: str
    interval: Interval | None


class Diagnostic(ABC):
    """A diagnostic of a trained network: a frozen dataclass whose fields are its settings.

    It restores weights, gradients, modes and the global random state; the same settings on the same subject give the
    same numbers. Undefined numbers have a status; an unsupported subject raises a package error.
    """

    name: ClassVar[str]
    """The name in study files and tables."""

    headline: ClassVar[str]
    """Name of the record that is shown."""

    meaning: ClassVar[Meaning]
    """Its description, stored with its numbers, so that a page does not need the diagnostic installed."""

    version: ClassVar[int] = 2
    """Part of a cell's key; raised when the same settings give other results than before."""

    needs_source: ClassVar[bool] = False
    """Whether it compares source and target data; a subject without source examples is refused."""

    needs_start: ClassVar[bool] = False
    """Whether it compares two networks; a subject without a start is refused."""

    looks_at: ClassVar[str] = "network"
    """"features" if it ignores the head of the network, "data" if it ignores the network."""

    kinds: ClassVar[tuple[str, ...]] = ("classification", "regression", "multi-label")
    """Kinds of labels that it reads; a study with others is refused before anything runs."""

    errors_over: ClassVar[str] = "examples"
    """Units of its standard errors: "examples", or "batches" (of its setting `batch_size`)."""

    quick: ClassVar[Mapping[str, int]] = {}
    """Cheaper settings of a slow diagnostic, used unless it is requested by name."""

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def measure(self, subject: Subject) -> Findings:
        """Measure `subject`."""


def check_labels_suit(diagnostic: Diagnostic, kind: str) -> None:
    """Refuse labels of a kind that a diagnostic does not support.

    Args:
        kind: Kind of the labels, as `data.task.Kind`; labels on a grid are supported only by diagnostics that declare
            it.

    Raises:
        DataError: The kind is not supported.
    """
    if kind not in diagnostic.kinds:
        raise unsupported(diagnostic.name, f"labels of {' or '.join(diagnostic.kinds)}", f"these are of {kind}")


def spread_of(diagnostic: Diagnostic, estimate: Estimate) -> Spread:
    """Return the number of samples behind an estimate's standard error, and its interval."""
    over = diagnostic.errors_over
    n = -(-estimate.n // int(getattr(diagnostic, "batch_size", 1))) if over == "batches" else estimate.n
    if estimate.stderr is None or n < 2:
        return Spread(n, over, None)
    from scipy import special  # takes long, and a study without diagnostics needs none

    half = float(special.stdtrit(n - 1, 0.975)) * estimate.stderr
    interval = Interval(estimate.value - half, estimate.value + half)
    if diagnostic.meaning.share:
        interval = interval.clipped(min(0.0, estimate.value), max(1.0, estimate.value))
    return Spread(n, over, interval)
