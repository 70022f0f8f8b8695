"""Rows that are quick to write down, and changes behind the back of a store."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell, StudyRow

CREATED = "2026-01-01T00:00:00+00:00"


def study(name: str = "s") -> StudyRow:
    return StudyRow(name, {"name": name, "sizes": [1, 2]}, {"versions": {"torch": "2"}}, CREATED)


def cell(key: str, *needs: str, payload: dict[str, object] | None = None, **labels: str | int) -> PlannedCell:
    return PlannedCell(
        key, "method", {"method": "scratch", "seed": 0, "source": None, **labels}, payload or {"recipe": 1}, needs
    )


def outcome(*values: float) -> Outcome:
    records = tuple(Record("accuracy", Estimate(value, 0.1, 5)) for value in values)
    return Outcome(records, Cost(1.5, 2**40, 3, 4, 5), {"predictions": np.arange(4, dtype=np.int32)}, {"status": "ok"})


def change(path: Path | str, statement: str, *values: object) -> None:
    """Edit the file of a store; flip(content) turns its last bit."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.create_function("flip", 1, lambda content: bytes([*content[:-1], content[-1] ^ 1]))
        assert raw.execute(statement, values).rowcount != 0
