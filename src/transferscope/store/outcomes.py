"""Writing what came of a cell: each in one transaction of its own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, insert, select, update

from transferscope.errors import StoreError
from transferscope.records import Failure, Record
from transferscope.store import schema
from transferscope.store.database import insert_many
from transferscope.store.encoding import to_bytes, to_json, to_number
from transferscope.store.rows import CellState, Outcome

_RECORD = ("cell_id", "position", "name", "part", "step", "value", "stderr", "n", "status")


def write_outcome(connection: Connection, key: str, outcome: Outcome) -> None:
    """Store the outcome of a cell and call it done; a cell that is done already stays as it is.

    Raises:
        StoreError: There is no such cell, or an array holds Python objects.
    """
    cell_id = _settle(connection, key, "done")
    if cell_id is None:
        return
    cost = outcome.cost
    row = {
        "cell_id": cell_id,
        "seconds": cost.seconds,
        "peak_memory": cost.peak_memory,
        "trained_parameters": cost.trained_parameters,
        "examples_seen": cost.examples_seen,
        "steps": cost.steps,
        "notes": to_json(dict(outcome.notes)),
    }
    connection.execute(insert(schema.outcomes).values(row))
    records = [_record_row(cell_id, position, record) for position, record in enumerate(outcome.records)]
    insert_many(connection, schema.records, _RECORD, records)
    _write_arrays(connection, cell_id, outcome.arrays)


def write_failure(connection: Connection, key: str, failure: Failure) -> None:
    """Store why a cell failed; a cell that is done already stays as it is.

    Raises:
        StoreError: There is no such cell.
    """
    cell_id = _settle(connection, key, "failed")
    if cell_id is None:
        return
    row = {"cell_id": cell_id, "kind": failure.kind, "message": failure.message, "details": failure.details}
    connection.execute(insert(schema.failures).values(row))


def forget_outcome(connection: Connection, key: str) -> None:
    """Make a cell that is done planned again; nothing happens to any other."""
    table = schema.cells
    cell_id = connection.scalar(select(table.c.id).where(table.c.key == key, table.c.state == "done"))
    if cell_id is None:
        return
    for kept in (schema.outcomes, schema.records, schema.arrays):
        connection.execute(delete(kept).where(kept.c.cell_id == cell_id))
    connection.execute(update(table).where(table.c.id == cell_id).values(state="planned"))


def _settle(connection: Connection, key: str, state: CellState) -> int | None:
    """Give a cell its last state; its number, or None when another process has done it meanwhile."""
    table = schema.cells
    cell_id = connection.scalar(select(table.c.id).where(table.c.key == key))
    if cell_id is None:
        raise StoreError(f"cell {key} is not in the store; plan the study first")
    settled = update(table).where(table.c.id == cell_id, table.c.state != "done")
    if connection.execute(settled.values(state=state, owner=None, heartbeat=None)).rowcount == 0:
        return None
    connection.execute(delete(schema.failures).where(schema.failures.c.cell_id == cell_id))
    return int(cell_id)


def _record_row(cell_id: int, position: int, record: Record) -> tuple[Any, ...]:
    estimate = record.estimate
    value, stderr = to_number(estimate.value), to_number(estimate.stderr)
    return cell_id, position, record.name, record.part, record.step, value, stderr, estimate.n, estimate.status


def _write_arrays(connection: Connection, cell_id: int, arrays: Mapping[str, np.ndarray]) -> None:
    rows = [(cell_id, name, to_bytes(name, array)) for name, array in arrays.items()]
    insert_many(connection, schema.arrays, ("cell_id", "name", "content"), rows)
