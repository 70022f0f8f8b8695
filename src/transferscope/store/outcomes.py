"""Storage of outcomes, each in one transaction."""

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from sqlalchemy import Connection, delete, insert, select, update

from transferscope.errors import StoreError, unknown_name
from transferscope.estimate import Status
from transferscope.records import Cost, Failure, Record
from transferscope.store import schema
from transferscope.store.checksums import NO_RECORDS, checksum, record_checksums, step_codes, text_codes
from transferscope.store.database import insert_many
from transferscope.store.encoding import printable, to_bytes, to_json, to_number
from transferscope.store.rows import CellState, Claim, Outcome

_RECORD = ("cell_id", "position", "name", "part", "step", "value", "stderr", "n", "status")
_LONGEST_SHOWN = 100


def check_outcome(outcome: object) -> Outcome:
    """Return the outcome if every database can store all of it; raises StoreError otherwise."""
    if not isinstance(outcome, Outcome):
        raise StoreError(f"the run returned {_shown(outcome)}; expected an Outcome")
    try:
        _check_cost(outcome.cost)
        for record in outcome.records:
            _check_record(record)
        to_json(dict(outcome.notes))
        for name, array in outcome.arrays.items():
            if not isinstance(array, np.ndarray):
                raise StoreError(f"array {_shown(name)} is {_shown(array)}; expected a NumPy array")
            _check_text("the name of an array", name)
            if array.dtype.hasobject:
                raise StoreError(f"array {name!r} has the type {array.dtype}; expected numbers or text")
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StoreError(f"an outcome cannot be stored: {error}") from error
    return outcome


def write_outcome(connection: Connection, key: str, outcome: Outcome, claim: Claim | None) -> bool:
    """Store the outcome of a cell and mark it as done.

    Returns:
        Whether it was stored: a finished cell is not changed, nor one that was claimed again since `claim` (None to
        store in any case).

    Raises:
        StoreError: The cell does not exist, or the outcome cannot be stored.
    """
    check_outcome(outcome)
    cell_id = _settle(connection, key, "done", claim)
    if cell_id is None:
        return False
    cost = outcome.cost
    row = {
        "seconds": float(cost.seconds),
        "peak_memory": int(cost.peak_memory),
        "trained_parameters": int(cost.trained_parameters),
        "examples_seen": int(cost.examples_seen),
        "steps": int(cost.steps),
        "notes": to_json(dict(outcome.notes)),
    }
    records = [_record_row(cell_id, position, record) for position, record in enumerate(outcome.records)]
    sums = {"checksum": checksum(*row.values()), "records": checksum_of(records)}
    connection.execute(insert(schema.outcomes).values(cell_id=cell_id, **row, **sums))
    insert_many(connection, schema.records, _RECORD, records)
    contents = [(name, to_bytes(name, array)) for name, array in outcome.arrays.items()]
    arrays = [(cell_id, name, content, checksum(content)) for name, content in contents]
    insert_many(connection, schema.arrays, ("cell_id", "name", "content", "checksum"), arrays)
    return True


def checksum_of(records: Sequence[tuple[Any, ...]]) -> str:
    """Return the digest of the records of one cell, rows of their table."""
    if not records:
        return NO_RECORDS
    cells, _, names, parts, steps, values, stderrs, counts, statuses = zip(*records, strict=True)
    columns = [text_codes(names), text_codes(parts), step_codes(steps), text_codes(statuses)]
    columns += [np.array(counts, dtype=np.int64), *(np.array(column, dtype=np.float64) for column in (values, stderrs))]
    ((_, digest),) = record_checksums(np.array(cells, dtype=np.int64), columns)
    return digest


def write_failure(connection: Connection, key: str, failure: Failure, claim: Claim | None) -> bool:
    """Store the failure of a cell; returns and raises like `write_outcome`."""
    cell_id = _settle(connection, key, "failed", claim)
    if cell_id is None:
        return False
    row = {
        "cell_id": cell_id,
        "kind": failure.kind,
        "message": printable(failure.message),
        "details": printable(failure.details),
    }
    connection.execute(insert(schema.failures).values(row))
    return True


def forget_outcome(connection: Connection, key: str) -> None:
    """Plan a finished cell again; other cells do not change."""
    table = schema.cells
    cell_id = connection.scalar(select(table.c.id).where(table.c.key == key, table.c.state == "done"))
    if cell_id is None:
        return
    for kept in (schema.outcomes, schema.records, schema.arrays):
        connection.execute(delete(kept).where(kept.c.cell_id == cell_id))
    connection.execute(update(table).where(table.c.id == cell_id).values(state="planned"))


def _settle(connection: Connection, key: str, state: CellState, claim: Claim | None) -> int | None:
    """Set the final state of a cell; return its number, or None if another process holds it or it is done."""
    table = schema.cells
    cell_id = connection.scalar(select(table.c.id).where(table.c.key == key))
    if cell_id is None:
        raise StoreError(f"cell {key} is not in the store; plan the study first")
    settled = update(table).where(table.c.id == cell_id, table.c.state != "done")
    if claim is not None:
        held = (table.c.state == "running", table.c.owner == claim.owner, table.c.attempt == claim.attempt)
        settled = settled.where(*held)
    if connection.execute(settled.values(state=state, owner=None, heartbeat=None)).rowcount == 0:
        return None
    connection.execute(delete(schema.failures).where(schema.failures.c.cell_id == cell_id))
    return int(cell_id)


def _check_cost(cost: Cost) -> None:
    _check_number("seconds", cost.seconds)
    if math.isnan(cost.seconds):
        raise StoreError("seconds is NaN; expected the duration of the run")
    for name in ("peak_memory", "trained_parameters", "examples_seen", "steps"):
        _check_whole(name, getattr(cost, name))


def _check_record(record: Record) -> None:
    estimate = record.estimate
    _check_text("the name of a record", record.name)
    _check_text(f"the part of record {record.name!r}", record.part)
    _check_number(f"the value of record {record.name!r}", estimate.value)
    if estimate.stderr is not None:
        _check_number(f"the standard error of record {record.name!r}", estimate.stderr)
    if record.step is not None:
        _check_whole(f"the step of record {record.name!r}", record.step)
    _check_whole(f"the sample count of record {record.name!r}", estimate.n)
    if estimate.status not in get_args(Status):
        raise unknown_name(f"status of record {record.name!r}", str(estimate.status), get_args(Status))


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str) or value != printable(value):
        raise StoreError(f"{what} is {_shown(value)}; expected text without null characters and lone surrogates")


def _check_number(what: str, value: object) -> None:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, np.complexfloating)
    if not is_number or (isinstance(value, int) and abs(value) >= 2**1023):
        raise StoreError(f"{what} is {_shown(value)}; expected a number")


def _check_whole(what: str, value: object) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise StoreError(f"{what} is {_shown(value)}; expected a whole number of at most 64 bits")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # code of another package may raise anything
        text = f"a {type(value).__name__}"
    return printable(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


def _record_row(cell_id: int, position: int, record: Record) -> tuple[Any, ...]:
    estimate = record.estimate
    stderr = None if estimate.stderr is None else to_number(estimate.stderr)
    step = None if record.step is None else int(record.step)
    value, n = to_number(estimate.value), int(estimate.n)  # drivers do not know NumPy's numbers
    return cell_id, position, record.name, record.part, step, value, stderr, n, estimate.status
