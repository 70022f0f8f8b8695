"""Reading a store, as frozen rows."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, cast, get_args

import numpy as np
from jaxtyping import Float, Int
from sqlalchemy import CTE, Connection, Row, Select, and_, func, select

from transferscope.errors import DamagedRunError, StoreError, unknown_name
from transferscope.estimate import Status
from transferscope.records import Cost, Failure, FailureKind, Role
from transferscope.store import schema
from transferscope.store.checksums import NO_RECORDS, checksum, record_checksums, step_codes, text_codes
from transferscope.store.encoding import DAMAGED, from_bytes, table_from_json, tables_from_json
from transferscope.store.rows import (
    CellState,
    Claim,
    Label,
    PlannedCell,
    RecordColumns,
    Standing,
    StoredCell,
    StudyCounts,
    StudyRow,
    gc_paused,
)
from transferscope.store.shapes import FACTS, LABELS, NOTES, SPEC, require_shape
from transferscope.wording import cell_words, counted

_members = schema.study_cells

_KEY = re.compile(r"[\w-]{1,64}", re.ASCII)
"""Valid keys: digits of a hash, or names without signs that have a meaning in paths."""

_TRAINED = frozenset(("method", "command", "diagnose"))
"""Roles whose runs are of a method and a seed, which their labels name."""

Fits = Callable[[np.ndarray], bool]
"""Returns whether an array is valid for its purpose: checksums detect damage, but not deliberate changes."""

_NUMBERS: frozenset[type] = frozenset({int, float, type(None)})
_WHOLES: frozenset[type] = frozenset({int, type(None)})


def read_studies(connection: Connection) -> list[StudyRow]:
    """Return all studies in the order of their first planning."""
    return [_study(row) for row in connection.execute(select(schema.studies).order_by(schema.studies.c.id))]


def read_study(connection: Connection, study: int) -> StudyRow:
    """Return one study by its number."""
    return _study(connection.execute(select(schema.studies).where(schema.studies.c.id == study)).one())


def study_id(connection: Connection, name: str) -> int:
    """Return the number of a study; raises UnknownNameError if unknown."""
    known = {row.name: row.id for row in connection.execute(select(schema.studies.c.name, schema.studies.c.id))}
    if name not in known:
        raise unknown_name("study", name, known)
    return int(known[name])


def read_counts(connection: Connection, study: int) -> StudyCounts:
    """Count the cells of the study by state."""
    states = _of_study(select(schema.cells.c.state, func.count().label("cells")), study)
    counts: dict[str, int] = {_state(s): n for s, n in connection.execute(states.group_by(schema.cells.c.state))}
    waits = schema.cells.c.id.in_(select(_blocked().c.cell_id))
    stuck = _of_study(select(func.count()), study).where(schema.cells.c.state == "planned", waits)
    blocked = connection.scalar(stuck) or 0
    counts["planned"] = counts.get("planned", 0) - blocked
    return StudyCounts(**counts, blocked=blocked)


def read_standings(connection: Connection, study: int) -> list[Standing]:
    """Return the state of every cell of the study, in no particular order."""
    columns = (schema.cells.c.key, schema.cells.c.state, schema.outcomes.c.seconds)
    query = _of_study(select(*columns), study)
    query = query.outerjoin(schema.outcomes, schema.outcomes.c.cell_id == schema.cells.c.id)
    keys, states, seconds = _columns(connection, query)
    _require_keys(keys)
    _require_all(seconds, *_NUMBERS)
    known = {state: _state(state) for state in set(states)}
    return [Standing(key, known[state], took) for key, state, took in zip(keys, states, seconds, strict=True)]


_COST = ("seconds", "peak_memory", "trained_parameters", "examples_seen", "steps")


@gc_paused()
def read_cells(connection: Connection, study: int, *, only: CellState | None = None) -> list[StoredCell]:
    """Return the cells of a study in the order of its plan, all or those in the state `only`."""
    cells, outcomes, failures = schema.cells.c, schema.outcomes.c, schema.failures.c
    of_outcome = (*(outcomes[name] for name in _COST), outcomes.notes, outcomes.checksum)
    of_failure = (failures.kind, failures.message, failures.details)
    columns = (cells.id, cells.key, cells.role, cells.state, _members.c.labels, _members.c.payload_id)
    query = (
        _of_study(select(*columns, *of_outcome, *of_failure), study)
        .outerjoin(schema.outcomes, outcomes.cell_id == cells.id)
        .outerjoin(schema.failures, failures.cell_id == cells.id)
        .order_by(_members.c.position)
    )
    if only is not None:
        query = query.where(cells.state == only)
    numbers, keys, roles, states, texts, payload_ids, *rest = _columns(connection, query)
    payloads, needs = _payloads(connection, study), _needs(connection, study)
    blocked = set(connection.scalars(select(_blocked().c.cell_id)))
    _refuse_damaged(connection, _damaged_outcomes(numbers, *rest[:7]))
    outcome_of = _outcomes(*rest[:6])
    failure_of = _failures(*rest[7:], there=[state is None for state in rest[0]])
    known = {state: _state(state) for state in set(states)}
    stored = []
    for i, planned in enumerate(_all_planned(numbers, keys, roles, texts, payload_ids, payloads, needs)):
        state = "blocked" if states[i] == "planned" and numbers[i] in blocked else known[states[i]]
        cost, notes = outcome_of[i]
        stored.append(StoredCell(planned, state, cost, notes, failure_of.get(i)))
    return stored


def _all_planned(
    numbers: Sequence[Any],
    keys: Sequence[Any],
    roles: Sequence[Any],
    texts: Sequence[Any],
    payload_ids: Sequence[Any],
    payloads: Mapping[int, dict[str, Any]],
    needs: Mapping[int, tuple[str, ...]],
) -> Iterator[PlannedCell]:
    """Yield planned cells from columns of unchecked values."""
    _require_keys(keys)
    if not set(roles) <= set(get_args(Role)):
        raise StoreError(DAMAGED)
    of_all = zip(numbers, keys, roles, _labels(texts), payload_ids, strict=True)
    for number, key, role, labels, payload in of_all:
        if role in _TRAINED and (labels.get("method") is None or labels.get("seed") is None):
            raise StoreError(DAMAGED)
        yield PlannedCell(key, role, labels, payloads[payload], needs.get(number, ()))


def _outcomes(*columns: Sequence[Any]) -> list[tuple[Cost | None, dict[str, Any]]]:
    """Return cost and notes of each cell from the columns _COST and notes; empty unless it is done."""
    *costs, notes = columns
    done = [seconds is not None for seconds in costs[0]]
    seconds, *whole = (list(compress(column, done)) for column in costs)
    _require_all(seconds, int, float)
    for column in whole:
        _require_all(column, int)
    noted = tables_from_json(list(compress(notes, done)))
    require_shape(NOTES, noted, "the notes of the runs")
    outcomes = iter(zip(map(Cost, seconds, *whole), noted, strict=True))
    return [next(outcomes) if is_done else (None, {}) for is_done in done]


def _damaged_outcomes(numbers: Sequence[int], *columns: Sequence[Any]) -> list[int]:
    """Return the cells whose cost or notes do not match the checksum in the last column; its rows may be None."""
    return [
        number
        for number, *values, stored in zip(numbers, *columns, strict=True)
        if stored is not None and checksum(*values) != stored
    ]


def _refuse_damaged(connection: Connection, numbers: Collection[int]) -> None:
    """Raise DamagedRunError with the damaged runs, if any."""
    if not numbers:
        return
    query = select(schema.cells.c.key, schema.cells.c.role, _members.c.labels).join(
        _members, _members.c.cell_id == schema.cells.c.id
    )
    key, role, labels = connection.execute(query.where(schema.cells.c.id == min(numbers))).first() or ("?", "?", "{}")
    others = f" and of {counted(len(numbers) - 1, 'other run')}" if len(numbers) > 1 else ""
    raise DamagedRunError(
        f"the results of {cell_words(str(role), table_from_json(labels))} (run {str(key)[:12]}){others} do not match "
        "their checksum: the store is damaged or was edited; repeat them with `transferscope run STUDY.toml`"
    )


def damaged_runs(connection: Connection, study: int, fits: Mapping[str, Fits]) -> list[str]:
    """Return the keys of the runs of a study with damaged records or notes, or an array that does not fit.

    Args:
        fits: Checks of arrays by name; other arrays are not checked.
    """
    outcomes = schema.outcomes.c
    of_outcome = (schema.cells.c.id, *(outcomes[name] for name in _COST), outcomes.notes, outcomes.checksum)
    query = _of_study(select(*of_outcome), study).join(schema.outcomes, outcomes.cell_id == schema.cells.c.id)
    damaged = set(_damaged_outcomes(*_columns(connection, query)))
    damaged |= set(_read_records(connection, study).damaged)
    arrays = schema.arrays.c
    contents = select(schema.cells.c.id, arrays.name, arrays.content, arrays.checksum)
    read = connection.execute(_of_study(contents, study).join(schema.arrays, arrays.cell_id == schema.cells.c.id))
    for cell, name, content, stored in read:
        if checksum(content) != stored or (name in fits and not fits[name](from_bytes(content))):
            damaged.add(cell)
    keys = _of_study(select(schema.cells.c.id, schema.cells.c.key), study)
    return [key for number, key in connection.execute(keys) if number in damaged]


def _failures(
    kinds: Sequence[Any], messages: Sequence[Any], details: Sequence[Any], *, there: Sequence[bool]
) -> dict[int, Failure]:
    places = [i for i, kind in enumerate(kinds) if kind is not None and there[i]]
    _require_all([column[i] for i in places for column in (messages, details)], str)
    if not {kinds[i] for i in places} <= set(get_args(FailureKind)):
        raise StoreError(DAMAGED)
    return {i: Failure(kinds[i], messages[i], details[i]) for i in places}


_ROWS_AT_A_TIME = 50_000


@gc_paused()
def read_records(connection: Connection, study: int) -> RecordColumns:
    """Return all records of the study's cells in the order of its plan."""
    read = _read_records(connection, study)
    _refuse_damaged(connection, read.damaged)
    cells = _of_study(select(schema.cells.c.id, schema.cells.c.key), study).order_by(_members.c.position)
    cell_numbers, keys = _columns(connection, cells)
    _require_keys(keys)
    in_plan = np.array(cell_numbers, dtype=np.int64)
    by_number = np.argsort(in_plan)
    place = by_number[np.searchsorted(in_plan, read.cells, sorter=by_number)]
    if not np.array_equal(in_plan[place], read.cells):  # a cell that is not there
        raise StoreError(DAMAGED)
    order = np.argsort(place, kind="stable")
    names, parts, steps, statuses = (
        list(np.array([*words, None], dtype=object)[codes[order]]) for words, codes in read.texts
    )
    return RecordColumns(
        key=list(np.array([*keys, None], dtype=object)[place[order]]),
        name=names,
        part=parts,
        step=steps,
        value=read.value[order],
        stderr=read.stderr[order],
        n=read.n[order],
        status=statuses,
    )


class _Records(NamedTuple):
    """Records in the order of their table.

    Attributes:
        cells: Number of the cell of each.
        texts: Distinct values of name, part, step and status, and the index of each record's value.
        damaged: Numbers of the cells whose records were changed.
    """

    cells: Int[np.ndarray, " n_records"]
    texts: list[tuple[list[Any], Int[np.ndarray, " n_records"]]]
    value: Float[np.ndarray, " n_records"]
    stderr: Float[np.ndarray, " n_records"]
    n: Int[np.ndarray, " n_records"]
    damaged: list[int]


def _read_records(connection: Connection, study: int) -> _Records:
    """Read all records of the study's cells.

    They are read in parts in the order of the table, without sorting, and each distinct text and step is kept once.
    """
    table = schema.records.c
    query = (
        select(table.cell_id, table.name, table.part, table.step, table.status, table.n, table.value, table.stderr)
        .select_from(_members.join(schema.records, table.cell_id == _members.c.cell_id))
        .where(_members.c.study_id == study)
        .order_by(_members.c.cell_id, table.position)
    )
    texts: tuple[dict[Any, int], ...] = ({}, {}, {}, {})  # name, part, step, status: each to its place
    kinds = ((str,), (str,), _WHOLES, (str,), (int,), _NUMBERS, _NUMBERS)
    parts = [[np.empty(0, dtype=np.int64)] for _ in range(6)] + [[np.empty(0)] for _ in range(2)]
    for rows in connection.execute(query).partitions(_ROWS_AT_A_TIME):
        numbers, *columns = zip(*rows, strict=True)
        for column, allowed in zip(columns, kinds, strict=True):
            _require_all(column, *allowed)
        parts[0].append(np.array(numbers, dtype=np.int64))
        for into, places, column in zip(parts[1:5], texts, columns[:4], strict=True):
            for one in set(column) - places.keys():
                places[one] = len(places)
            into.append(np.fromiter(map(places.__getitem__, column), np.int64, len(column)))
        parts[5].append(np.array(columns[4], dtype=np.int64))
        parts[6].append(np.array(columns[5], dtype=np.float64))  # None becomes NaN
        parts[7].append(np.array(columns[6], dtype=np.float64))
    if not texts[3].keys() <= set(get_args(Status)):
        raise StoreError(DAMAGED)
    of_cell, *codes, n, value, stderr = (np.concatenate(column) for column in parts)
    read = list(zip(map(list, texts), codes, strict=True))
    coded = [(step_codes if i == 2 else text_codes)(words)[own] for i, (words, own) in enumerate(read)]
    found = dict(record_checksums(of_cell, [*coded, n, value, stderr]))
    sums = _of_study(select(schema.cells.c.id, schema.outcomes.c.records), study)
    sums = sums.join(schema.outcomes, schema.outcomes.c.cell_id == schema.cells.c.id)
    damaged = [cell for cell, stored in connection.execute(sums) if found.get(cell, NO_RECORDS) != stored]
    return _Records(of_cell, read, value, stderr, n, damaged)


def read_notes(connection: Connection, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the notes of those of these cells that are done, by key."""
    outcomes = schema.outcomes.c
    columns = (schema.cells.c.id, schema.cells.c.key, *(outcomes[name] for name in _COST), outcomes.notes)
    query = select(*columns, outcomes.checksum).join(schema.outcomes, outcomes.cell_id == schema.cells.c.id)
    numbers, found, *rest = _columns(connection, query.where(schema.cells.c.key.in_(keys)))
    _refuse_damaged(connection, _damaged_outcomes(numbers, *rest))
    noted = tables_from_json(rest[-2])
    require_shape(NOTES, noted, "the notes of the runs")
    return dict(zip(found, noted, strict=True))


def read_arrays(connection: Connection, study: int, name: str, fits: Fits) -> dict[str, np.ndarray]:
    """Return the array `name` of every cell of the study that has it, by key."""
    arrays = schema.arrays.c
    query = _of_study(select(schema.cells.c.id, schema.cells.c.key, arrays.content, arrays.checksum), study)
    query = query.join(schema.arrays, schema.arrays.c.cell_id == schema.cells.c.id).where(schema.arrays.c.name == name)
    rows = connection.execute(query.order_by(_members.c.position)).all()
    _require_keys([row.key for row in rows])
    _refuse_damaged(connection, [row.id for row in rows if checksum(row.content) != row.checksum])
    read = [from_bytes(row.content) for row in rows]
    _refuse_damaged(connection, [row.id for row, array in zip(rows, read, strict=True) if not fits(array)])
    return {row.key: array for row, array in zip(rows, read, strict=True)}


def read_claims(connection: Connection, study: int, numbers: Sequence[int], owner: str) -> list[Claim]:
    """Return the claims of an owner on cells of a study, in the order of these numbers."""
    cells = schema.cells
    columns = (cells.c.id, cells.c.key, cells.c.role, cells.c.attempt, _members.c.labels, schema.payloads.c.content)
    query = _of_study(select(*columns), study).join(schema.payloads, schema.payloads.c.id == _members.c.payload_id)
    rows = {row.id: row for row in connection.execute(query.where(cells.c.id.in_(numbers)))}
    chosen = [rows[number] for number in numbers]
    payloads = {row.id: table_from_json(row.content) for row in chosen}
    keys, roles, texts = ([getattr(row, name) for row in chosen] for name in ("key", "role", "labels"))
    planned = _all_planned(numbers, keys, roles, texts, numbers, payloads, _needs(connection, study, numbers))
    return [Claim(cell, owner, int(row.attempt)) for cell, row in zip(planned, chosen, strict=True)]


def _columns(connection: Connection, query: Select[Any]) -> list[tuple[Any, ...]]:
    rows = connection.execute(query).all()
    return list(zip(*rows, strict=True)) if rows else [()] * len(query.selected_columns)


def _of_study(query: Select[Any], study: int) -> Select[Any]:
    joined = query.select_from(_members).join(schema.cells, schema.cells.c.id == _members.c.cell_id)
    return joined.where(_members.c.study_id == study)


def _blocked() -> CTE:
    """Select cells that need a failed cell, directly or through others."""
    needs, cells = schema.needs, schema.cells
    direct = select(needs.c.cell_id).join(cells, cells.c.id == needs.c.need_id).where(cells.c.state == "failed")
    blocked = direct.cte("blocked", recursive=True)
    return blocked.union(select(needs.c.cell_id).join(blocked, blocked.c.cell_id == needs.c.need_id))


def _payloads(connection: Connection, study: int) -> dict[int, dict[str, Any]]:
    used = select(_members.c.payload_id).where(_members.c.study_id == study)
    query = select(schema.payloads.c.id, schema.payloads.c.content).where(schema.payloads.c.id.in_(used))
    return {row.id: table_from_json(row.content) for row in connection.execute(query)}


def _needs(connection: Connection, study: int, cells: Sequence[int] | None = None) -> dict[int, tuple[str, ...]]:
    """Return the needs of the study's cells, or of all: pretraining first, then in the order of the plan.

    Numbers of cells have no order: a cell is numbered by the plan that had it first.
    """
    needed, places = schema.cells.alias("needed"), _members.alias("places")
    query = (
        select(schema.needs.c.cell_id, needed.c.key)
        .join(needed, needed.c.id == schema.needs.c.need_id)
        .join(_members, _members.c.cell_id == schema.needs.c.cell_id)
        # an outer join, lest SQLite begins with it, which takes minutes for a hundred thousand cells
        .outerjoin(places, and_(places.c.study_id == study, places.c.cell_id == needed.c.id))
        .where(_members.c.study_id == study)
        .order_by(needed.c.role != "pretrain", places.c.position)
    )
    if cells is not None:
        query = query.where(_members.c.cell_id.in_(cells))
    keys: dict[int, tuple[str, ...]] = {}
    for cell, key in connection.execute(query):
        keys[cell] = (*keys.get(cell, ()), key)
    _require_keys({key for of_cell in keys.values() for key in of_cell})
    return keys


def _study(row: Row[Any]) -> StudyRow:
    _require_all([row.name], str)
    spec, facts = table_from_json(row.spec), table_from_json(row.facts)
    require_shape(SPEC, spec, f"the settings of the study {row.name}")
    require_shape(FACTS, facts, f"the facts of the study {row.name}")
    return StudyRow(row.name, spec, facts, str(row.created))


def _state(state: object) -> CellState:
    if state not in get_args(CellState) or state == "blocked":
        raise StoreError(DAMAGED)
    return cast(CellState, state)


def _labels(texts: Sequence[object]) -> list[dict[str, Label]]:
    tables = tables_from_json(texts)
    require_shape(LABELS, tables, "the labels of the runs")
    return tables


def _require_keys(keys: Collection[object]) -> None:
    """Check that keys are digests, since they become file names; raises StoreError."""
    _require_all(keys, str)
    for key in keys:
        if not _KEY.fullmatch(str(key)):
            raise StoreError(
                f"the store contains the invalid key {str(key)[:80]!r}, so it was edited; restore it from a copy"
            )


def _require_all(values: Iterable[object], *kinds: type) -> None:
    """Check the types of values, since a SQLite column accepts any; raises StoreError."""
    if not set(map(type, values)) <= set(kinds):
        raise StoreError(DAMAGED)
