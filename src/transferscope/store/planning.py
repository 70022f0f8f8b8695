"""Writing the plan of a study: cells are shared between studies, labels belong to one study."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from transferscope.errors import StoreError
from transferscope.store import schema
from transferscope.store.database import insert_many, without_password
from transferscope.store.encoding import to_json
from transferscope.store.rows import PlannedCell, StudyRow, gc_paused


@gc_paused()
def write_plan(connection: Connection, study: StudyRow, cells: Sequence[PlannedCell]) -> None:
    """Make the cells of `study` exactly `cells`, in this order.

    Cells that are stored already keep their state and outcome. Cells that leave the plan stay stored, and leave the
    study. Planning the same again writes nothing but the study's spec and facts; its `created` stays.

    Raises:
        StoreError: Two cells have the same key, or a cell needs one that is not in the plan.
    """
    _check_keys(cells)
    payloads = _encode_payloads(cells)
    labels = [to_json(dict(cell.labels)) for cell in cells]
    digest = _digest(cells, payloads, labels)
    study_id = _write_study(connection, study)
    if connection.scalar(select(schema.studies.c.plan).where(schema.studies.c.id == study_id)) == digest:
        return
    cell_ids = _write_cells(connection, cells)
    payload_ids = _write_payloads(connection, payloads)
    members = [
        (study_id, cell_ids[cell.key], payload_ids[payloads[id(cell.payload)].digest], position, text)
        for position, (cell, text) in enumerate(zip(cells, labels, strict=True))
    ]
    connection.execute(delete(schema.study_cells).where(schema.study_cells.c.study_id == study_id))
    insert_many(connection, schema.study_cells, ("study_id", "cell_id", "payload_id", "position", "labels"), members)
    connection.execute(update(schema.studies).where(schema.studies.c.id == study_id).values(plan=digest))


def _hidden(spec: Mapping[str, Any]) -> dict[str, Any]:
    store = spec.get("store")
    return {**spec, "store": without_password(store)} if isinstance(store, str) else dict(spec)


@dataclass(frozen=True, slots=True)
class _Payload:
    digest: str
    content: str


def _check_keys(cells: Sequence[PlannedCell]) -> None:
    keys = {cell.key for cell in cells}
    if len(keys) != len(cells):
        raise StoreError(f"a plan of {len(cells)} cells holds only {len(keys)} different keys; plan each cell once")
    for cell in cells:
        for need in cell.needs:
            if need not in keys:
                raise StoreError(f"cell {cell.key} needs cell {need}, which is not in the plan; plan that one too")


def _encode_payloads(cells: Sequence[PlannedCell]) -> dict[int, _Payload]:
    """Payloads by the identity of their mapping: many cells share one, and it is encoded once."""
    distinct: dict[int, Mapping[str, Any]] = {id(cell.payload): cell.payload for cell in cells}
    encoded = {}
    for identity, payload in distinct.items():
        content = to_json(payload)
        encoded[identity] = _Payload(hashlib.blake2b(content.encode(), digest_size=16).hexdigest(), content)
    return encoded


def _digest(cells: Sequence[PlannedCell], payloads: Mapping[int, _Payload], labels: Sequence[str]) -> str:
    lines = [f"{cell.key} {payloads[id(cell.payload)].digest} {text}" for cell, text in zip(cells, labels, strict=True)]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _write_study(connection: Connection, study: StudyRow) -> int:
    table = schema.studies
    content = {"spec": to_json(_hidden(study.spec)), "facts": to_json(study.facts)}
    known = connection.scalar(select(table.c.id).where(table.c.name == study.name))
    if known is not None:
        connection.execute(update(table).where(table.c.id == known).values(content))
        return int(known)
    row = {"name": study.name, "created": study.created, "plan": "", **content}
    created = connection.execute(insert(table).values(row)).inserted_primary_key
    assert created is not None
    return int(created[0])


def _write_cells(connection: Connection, cells: Sequence[PlannedCell]) -> dict[str, int]:
    table = schema.cells
    ids = {row.key: row.id for row in connection.execute(select(table.c.key, table.c.id))}
    first = (connection.scalar(select(func.max(table.c.id))) or 0) + 1
    new = [cell for cell in cells if cell.key not in ids]
    ids.update((cell.key, number) for number, cell in enumerate(new, start=first))
    rows = [(ids[cell.key], cell.key, cell.role, "planned") for cell in new]
    insert_many(connection, table, ("id", "key", "role", "state"), rows)
    needs = [(ids[cell.key], ids[need]) for cell in new for need in cell.needs]
    insert_many(connection, schema.needs, ("cell_id", "need_id"), needs)
    return ids


def _write_payloads(connection: Connection, payloads: Mapping[int, _Payload]) -> dict[str, int]:
    table = schema.payloads
    ids = {row.digest: row.id for row in connection.execute(select(table.c.digest, table.c.id))}
    first = (connection.scalar(select(func.max(table.c.id))) or 0) + 1
    new = {payload.digest: payload.content for payload in payloads.values() if payload.digest not in ids}
    ids.update((digest, number) for number, digest in enumerate(new, start=first))
    rows = [(ids[digest], digest, content) for digest, content in new.items()]
    insert_many(connection, table, ("id", "digest", "content"), rows)
    return ids
