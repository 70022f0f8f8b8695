"""What a diagnostic is, and what it hands back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from transferscope.diagnostics.subject import Subject
from transferscope.errors import SettingsError
from transferscope.estimate import Estimate, Interval
from transferscope.records import Meaning, Record


@dataclass(frozen=True, slots=True)
class Findings:
    """What a diagnostic saw.

    Attributes:
        arrays: What is too long for records (grids, curves, maps), by name, for the figures.
        left_out: Names of weights that it could not read.
    """

    records: tuple[Record, ...]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        return {record.name: record.estimate for record in self.records}[name]


@dataclass(frozen=True, slots=True)
class Spread:
    """What a standard error was taken over, and the interval that this many samples allow.

    Attributes:
        n: How many samples: batches, probes or examples.
        interval: 95 % interval by Student's t with n - 1 degrees of freedom; None without a standard error.
    """

    n: int
    over: Literal["batches", "probes", "examples"]
    interval: Interval | None


@runtime_checkable
class Diagnostic(Protocol):
    """A way to look at a trained network.

    A diagnostic is a frozen dataclass whose fields are its settings. It changes nothing: weights, gradients, modes and
    the global random state come back as they were, and the same settings on the same subject give the same numbers.
    Numbers that cannot be had come with a status; what it cannot work with at all raises a package error.

    Attributes:
        headline: Name of the record that is shown.
        meaning: Its words, which are kept with its numbers: a page is built where the diagnostic need not be installed.
        needs_source: Whether it compares source and target data, and so refuses a subject without source examples.
        needs_start: Whether it compares two networks, and so refuses a subject without another network or a start.

    One that cannot read every kind of labels says so by a class variable `kinds`, as ("classification",); a study with
    other labels is refused then before anything runs.

    A standard error is over the examples unless a class variable `errors_over` says "batches" (of its setting
    `batch_size`) or "probes".

    A class variable `looks_at` of "features" says that the head of the network does not matter to it, and of "data"
    that no network does. One whose own settings take long has in `quick` those that it is measured with where nobody
    named it.

    A class variable `version` (2 without one) is raised when the same settings give other results than before.
    """

    name: ClassVar[str]
    headline: ClassVar[str]
    meaning: ClassVar[Meaning]
    needs_source: ClassVar[bool]
    needs_start: ClassVar[bool]

    def measure(self, subject: Subject) -> Findings:
        """Look at `subject`."""
        ...


def check_labels_suit(diagnostic: Diagnostic, kind: str) -> None:
    """Refuse labels of a kind that a diagnostic does not read.

    Args:
        kind: Of the labels, as `data.task.Kind`; those on a grid suit a diagnostic only where it says so.

    Raises:
        SettingsError: It does not read them.
    """
    kinds = getattr(diagnostic, "kinds", ("classification", "regression", "multi-label"))
    if kind not in kinds:
        raise SettingsError(
            f"{diagnostic.name} reads labels of {' and '.join(kinds)}, and these are of {kind}; leave it out"
        )


def spread_of(diagnostic: Diagnostic, estimate: Estimate) -> Spread:
    """How many samples the standard error of an estimate rests on, and the interval that follows."""
    over: Literal["batches", "probes", "examples"] = getattr(diagnostic, "errors_over", "examples")
    n = -(-estimate.n // int(getattr(diagnostic, "batch_size", 1))) if over == "batches" else estimate.n
    if estimate.stderr is None or n < 2:
        return Spread(n, over, None)
    from scipy import special  # takes long, and a study without diagnostics needs none

    half = float(special.stdtrit(n - 1, 0.975)) * estimate.stderr
    interval = Interval(estimate.value - half, estimate.value + half)
    if diagnostic.meaning.share:
        interval = interval.clipped(min(0.0, estimate.value), max(1.0, estimate.value))
    return Spread(n, over, interval)
