"""Reading a store: everything comes out as frozen rows."""

from collections.abc import Sequence
from typing import Any, cast, get_args

import numpy as np
from sqlalchemy import CTE, Connection, Row, Select, func, select

from transferscope.errors import StoreError, unknown_name
from transferscope.estimate import Status
from transferscope.records import Cost, Failure, FailureKind
from transferscope.store import schema
from transferscope.store.encoding import DAMAGED, from_bytes, table_from_json
from transferscope.store.planning import hidden
from transferscope.store.rows import (
    CellState,
    Claim,
    Label,
    PlannedCell,
    RecordColumns,
    Role,
    Standing,
    StoredCell,
    StudyCounts,
    StudyRow,
)

_members = schema.study_cells

_WHOLE = ("n_target", "n_source", "seed", "pretrain_step")
_NUMBERS, _WHOLES = {int, float, type(None)}, {int, type(None)}


def read_studies(connection: Connection) -> list[StudyRow]:
    """All studies, in the order of their first planning."""
    return [_study(row) for row in connection.execute(select(schema.studies).order_by(schema.studies.c.id))]


def read_study(connection: Connection, study: int) -> StudyRow:
    """One study by its number."""
    return _study(connection.execute(select(schema.studies).where(schema.studies.c.id == study)).one())


def study_id(connection: Connection, name: str) -> int:
    """The number of a study.

    Raises:
        UnknownNameError: The store has no such study.
    """
    known = {row.name: row.id for row in connection.execute(select(schema.studies.c.name, schema.studies.c.id))}
    if name not in known:
        raise unknown_name("study", name, known)
    return int(known[name])


def read_counts(connection: Connection, study: int) -> StudyCounts:
    """How many cells of the study stand where."""
    states = _of_study(select(schema.cells.c.state, func.count().label("cells")), study)
    counts: dict[str, int] = {_state(s): n for s, n in connection.execute(states.group_by(schema.cells.c.state))}
    waits = schema.cells.c.id.in_(select(_blocked().c.cell_id))
    stuck = _of_study(select(func.count()), study).where(schema.cells.c.state == "planned", waits)
    blocked = connection.scalar(stuck) or 0
    counts["planned"] = counts.get("planned", 0) - blocked
    return StudyCounts(**counts, blocked=blocked)


def read_standings(connection: Connection, study: int) -> list[Standing]:
    """Where every cell of the study stands, in no particular order."""
    columns = (schema.cells.c.key, schema.cells.c.state, schema.outcomes.c.seconds)
    query = _of_study(select(*columns), study)
    query = query.outerjoin(schema.outcomes, schema.outcomes.c.cell_id == schema.cells.c.id)
    rows = connection.execute(query).all()
    for row in rows:
        _require(row.key, str)
        if row.seconds is not None:
            _require(row.seconds, int, float)
    return [Standing(row.key, _state(row.state), row.seconds) for row in rows]


def read_cells(connection: Connection, study: int, *, only: CellState | None = None) -> list[StoredCell]:
    """The cells of a study in the order of its plan; all of them, or those in the stored state `only`."""
    columns = (
        schema.cells.c.id,
        schema.cells.c.key,
        schema.cells.c.role,
        schema.cells.c.state,
        _members.c.labels,
        _members.c.payload_id,
        *(column for column in schema.outcomes.c if column.name != "cell_id"),
        *(column for column in schema.failures.c if column.name != "cell_id"),
    )
    query = (
        _of_study(select(*columns), study)
        .outerjoin(schema.outcomes, schema.outcomes.c.cell_id == schema.cells.c.id)
        .outerjoin(schema.failures, schema.failures.c.cell_id == schema.cells.c.id)
        .order_by(_members.c.position)
    )
    if only is not None:
        query = query.where(schema.cells.c.state == only)
    payloads = _payloads(connection, study)
    needs = _needs(connection, study)
    blocked = set(connection.scalars(select(_blocked().c.cell_id)))
    return [
        _stored(row, _planned(row, payloads[row.payload_id], needs.get(row.id, ())), row.id in blocked)
        for row in connection.execute(query)
    ]


def read_records(connection: Connection, study: int) -> RecordColumns:
    """All records of the study's cells, in the order of its plan."""
    table = schema.records
    columns = (
        schema.cells.c.key,
        *(table.c[name] for name in ("name", "part", "step", "value", "stderr", "n", "status")),
    )
    query = _of_study(select(*columns), study).join(table, table.c.cell_id == schema.cells.c.id)
    rows = connection.execute(query.order_by(_members.c.position, table.c.position)).all()
    key, name, part, step, value, stderr, n, status = zip(*rows, strict=True) if rows else ((),) * 8
    kinds = ((value, _NUMBERS), (stderr, _NUMBERS), (step, _WHOLES), (n, _WHOLES), (key + name + part, {str}))
    if not set(status) <= set(get_args(Status)) or any(
        not set(map(type, column)) <= allowed for column, allowed in kinds
    ):
        raise StoreError(DAMAGED)
    return RecordColumns(
        key=list(key),
        name=list(name),
        part=list(part),
        step=list(step),
        value=np.array(value, dtype=np.float64),  # None becomes NaN
        stderr=np.array(stderr, dtype=np.float64),
        n=np.array(n, dtype=np.int64),
        status=list(status),
    )


def read_arrays(connection: Connection, study: int, name: str) -> dict[str, np.ndarray]:
    """The array `name` of every cell of the study that has it, by key."""
    query = _of_study(select(schema.cells.c.key, schema.arrays.c.content), study)
    query = query.join(schema.arrays, schema.arrays.c.cell_id == schema.cells.c.id).where(schema.arrays.c.name == name)
    rows = connection.execute(query.order_by(_members.c.position)).all()
    for row in rows:
        _require(row.key, str)
    return {row.key: from_bytes(row.content) for row in rows}


def read_claims(connection: Connection, study: int, numbers: Sequence[int], owner: str) -> list[Claim]:
    """The claims of an owner on cells of a study, by the numbers of these, in their order."""
    cells = schema.cells
    columns = (cells.c.id, cells.c.key, cells.c.role, cells.c.attempt, _members.c.labels, schema.payloads.c.content)
    query = _of_study(select(*columns), study).join(schema.payloads, schema.payloads.c.id == _members.c.payload_id)
    rows = {row.id: row for row in connection.execute(query.where(cells.c.id.in_(numbers)))}
    needs: dict[int, tuple[str, ...]] = {}
    needed = select(schema.needs.c.cell_id, cells.c.key).join(schema.needs, schema.needs.c.need_id == cells.c.id)
    for cell, key in connection.execute(needed.where(schema.needs.c.cell_id.in_(numbers))):
        needs[cell] = (*needs.get(cell, ()), key)
    return [
        Claim(_planned(row, table_from_json(row.content), needs.get(number, ())), owner, int(row.attempt))
        for number, row in ((number, rows[number]) for number in numbers)
    ]


def _planned(row: Row[Any], payload: dict[str, Any], needs: tuple[str, ...]) -> PlannedCell:
    for text in (row.key, *needs):
        _require(text, str)
    if row.role not in get_args(Role):
        raise StoreError(DAMAGED)
    return PlannedCell(row.key, row.role, _labels(row.labels), payload, needs)


def _of_study(query: Select[Any], study: int) -> Select[Any]:
    joined = query.select_from(_members).join(schema.cells, schema.cells.c.id == _members.c.cell_id)
    return joined.where(_members.c.study_id == study)


def _blocked() -> CTE:
    """Cells that need a failed cell, directly or through others."""
    needs, cells = schema.needs, schema.cells
    direct = select(needs.c.cell_id).join(cells, cells.c.id == needs.c.need_id).where(cells.c.state == "failed")
    found = direct.cte("blocked", recursive=True)
    return found.union(select(needs.c.cell_id).join(found, found.c.cell_id == needs.c.need_id))


def _payloads(connection: Connection, study: int) -> dict[int, dict[str, Any]]:
    used = select(_members.c.payload_id).where(_members.c.study_id == study)
    query = select(schema.payloads.c.id, schema.payloads.c.content).where(schema.payloads.c.id.in_(used))
    return {row.id: table_from_json(row.content) for row in connection.execute(query)}


def _needs(connection: Connection, study: int) -> dict[int, tuple[str, ...]]:
    needed = schema.cells.alias("needed")
    query = (
        select(schema.needs.c.cell_id, needed.c.key)
        .join(needed, needed.c.id == schema.needs.c.need_id)
        .join(_members, _members.c.cell_id == schema.needs.c.cell_id)
        .where(_members.c.study_id == study)
    )
    keys: dict[int, tuple[str, ...]] = {}
    for cell, key in connection.execute(query):
        keys[cell] = (*keys.get(cell, ()), key)
    return keys


def _study(row: Row[Any]) -> StudyRow:
    _require(row.name, str)
    return StudyRow(row.name, hidden(table_from_json(row.spec)), table_from_json(row.facts), str(row.created))


def _stored(row: Row[Any], cell: PlannedCell, blocked: bool) -> StoredCell:
    state: CellState = "blocked" if row.state == "planned" and blocked else _state(row.state)
    if row.seconds is not None:
        _require(row.seconds, int, float)
        whole = (row.peak_memory, row.trained_parameters, row.examples_seen, row.steps)
        for value in whole:
            _require(value, int)
        return StoredCell(cell, state, cost=Cost(row.seconds, *whole), notes=table_from_json(row.notes))
    if row.kind is not None:
        for text in (row.message, row.details):
            _require(text, str)
        if row.kind not in get_args(FailureKind):
            raise StoreError(DAMAGED)
        return StoredCell(cell, state, failure=Failure(row.kind, row.message, row.details))
    return StoredCell(cell, state)


def _state(found: object) -> CellState:
    """A state as stored.

    Raises:
        StoreError: There is no such state.
    """
    if found not in get_args(CellState) or found == "blocked":
        raise StoreError(DAMAGED)
    return cast(CellState, found)


def _labels(content: object) -> dict[str, Label]:
    """The labels of a cell.

    Raises:
        StoreError: They are damaged, or a number is something else.
    """
    labels = table_from_json(content)
    for name, value in labels.items():
        if value is not None:
            _require(value, *((int,) if name in _WHOLE else (str, int, float)))
    return labels


def _require(value: object, *kinds: type) -> None:
    """Check the type of a value: a SQLite column takes values of any.

    Raises:
        StoreError: It has another.
    """
    if type(value) not in kinds:
        raise StoreError(DAMAGED)
