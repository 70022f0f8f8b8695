"""Input and output of the store: frozen rows without SQL."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from transferscope.estimate import Status
from transferscope.records import Cost, Failure, Record, Role

CellState = Literal["planned", "running", "done", "failed", "blocked"]
"""State of a cell. blocked: a cell that it needs has failed, so it cannot be done before that one is retried."""

Label = str | int | float | None


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A unit of work before its execution.

    Attributes:
        key: Hash of everything that can change the answer, and of nothing else.
        labels: Labels for grouping: "source", "method", "n_target", "n_source", "seed".
        payload: Further input of the worker (JSON values only). Cells that differ only in their labels share one
            payload, which is stored once.
        needs: Keys of the cells that must be done first, the shared pretraining before others.
    """

    key: str
    role: Role
    labels: Mapping[str, Label]
    payload: Mapping[str, Any]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of one owner on a cell until the cell is free again; results of an earlier claim are not stored.

    Attributes:
        owner: The owner, as stored.
        attempt: Number of claims of the cell so far, including this one.
    """

    cell: PlannedCell
    owner: str
    attempt: int

    @property
    def key(self) -> str:
        """The key of the cell."""
        return self.cell.key


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a cell.

    Attributes:
        records: Named numbers, training curves included.
        arrays: Named arrays worth keeping, such as "predictions"; no object arrays.
        notes: Text worth keeping, such as "status" of the training or the chosen settings; JSON values.
    """

    records: tuple[Record, ...]
    cost: Cost
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredCell:
    """A cell in the store.

    Attributes:
        state: Its state; a running cell whose process has ended counts as planned.
        cost: Cost of its outcome; None unless done.
        notes: As in the outcome; empty unless done.
        failure: Why it failed; None unless failed.
    """

    cell: PlannedCell
    state: CellState
    cost: Cost | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a cell without its content, fast to read for a hundred thousand cells.

    Attributes:
        state: Its state; "planned" also for a blocked cell.
        seconds: Its run time in seconds; None unless done.
    """

    key: str
    state: CellState
    seconds: float | None


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study in the store.

    Attributes:
        spec: The validated study file as JSON values.
        facts: Data sets (sizes, classes, fingerprints, provenance), versions and machine, as JSON values.
        created: When it was first planned, ISO 8601 in UTC.
    """

    name: str
    spec: Mapping[str, Any]
    facts: Mapping[str, Any]
    created: str


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """The number of cells of a study by state; `blocked` cells need one that failed."""

    planned: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    blocked: int = 0

    @property
    def total(self) -> int:
        """The number of cells of the study."""
        return self.planned + self.running + self.done + self.failed + self.blocked


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The records of a study by column; entry i of every column belongs to record i.

    Attributes:
        name: Name of the number, as in `Record`.
        step: The training step; None for a final value.
        value: Shape (n_records,); NaN without a number.
        stderr: Shape (n_records,); NaN if unknown.
        n: Sample counts, shape (n_records,).
    """

    key: list[str]
    name: list[str]
    part: list[str]
    step: list[int | None]
    value: Float[np.ndarray, " n_records"]
    stderr: Float[np.ndarray, " n_records"]
    n: Int[np.ndarray, " n_records"]
    status: list[Status]

    def __len__(self) -> int:
        return len(self.key)

    def columns(self) -> dict[str, Any]:
        """Return the columns by name, for `pandas.DataFrame`."""
        return {column.name: getattr(self, column.name) for column in fields(self)}


@contextmanager
def gc_paused() -> Iterator[None]:
    """Suspend Python's cyclic garbage collector while many long-lived rows are created.

    Repeated collection of a plan of 100,000 cells would take a third of the time of creating it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
