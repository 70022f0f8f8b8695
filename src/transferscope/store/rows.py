"""What goes into the store and what comes out of it: frozen rows without SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from transferscope.records import Cost, Failure, Record

Role = Literal["pretrain", "method", "diagnose", "theory"]
CellState = Literal["planned", "running", "done", "failed"]
Label = str | int | float | None


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One unit of work, before it is done.

    Attributes:
        key: Hash of everything that can change the answer, and of nothing else.
        role: What kind of work it is.
        labels: What a reader groups by: "source", "method", "n_target", "n_source", "seed".
        payload: What a worker needs to do it (JSON values only).
        needs: Keys of the cells that must be done first (the shared pre-training).
    """

    key: str
    role: Role
    labels: Mapping[str, Label]
    payload: Mapping[str, Any]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a cell.

    Attributes:
        records: Named numbers, training curves included.
        cost: What it took.
        arrays: Named arrays worth keeping, such as "predictions"; no object arrays.
        notes: Text worth keeping, such as "status" of the training or the chosen settings; JSON values.
    """

    records: tuple[Record, ...]
    cost: Cost
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredCell:
    """A cell as the store has it.

    Attributes:
        cell: As planned.
        state: Where it stands; a running cell whose process is gone counts as planned again.
        cost: What it took; None unless done.
        notes: As in the outcome; empty unless done.
        failure: Why it failed; None unless failed.
    """

    cell: PlannedCell
    state: CellState
    cost: Cost | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study as the store has it.

    Attributes:
        name: Its name, unique in a store.
        spec: The validated study file as JSON values.
        facts: Data sets (sizes, classes, fingerprints, provenance), versions and machine, as JSON values.
        created: When it was first planned, ISO 8601 in UTC.
    """

    name: str
    spec: Mapping[str, Any]
    facts: Mapping[str, Any]
    created: str
