"""Writing the plan of a study: cells are shared between studies, labels belong to one study."""

import hashlib
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from transferscope.errors import StoreError
from transferscope.store import schema
from transferscope.store.database import insert_many, without_password
from transferscope.store.encoding import to_json
from transferscope.store.rows import PlannedCell, StudyRow, gc_paused


@gc_paused()
def write_plan(connection: Connection, study: StudyRow, cells: Sequence[PlannedCell]) -> None:
    """Set the cells of `study` to exactly `cells`, in this order.

    Stored cells keep their state and outcome. Cells that leave the plan stay stored. Planning the same cells again
    writes only the study's spec and facts; its `created` stays.

    Raises:
        StoreError: Two cells have the same key, or a cell needs one that is not in the plan.
    """
    _check_keys(cells)
    labels = [to_json(dict(cell.labels)) for cell in cells]
    contents: dict[str, str] = {}  # of payloads, by their digest
    digests: dict[int, str] = {}  # by the identity of the mapping: many cells share one, and it is encoded once
    for identity, payload in {id(cell.payload): cell.payload for cell in cells}.items():
        content = to_json(payload)
        digests[identity] = _digest(content)
        contents[digests[identity]] = content
    lines = [f"{cell.key} {digests[id(cell.payload)]} {text}" for cell, text in zip(cells, labels, strict=True)]
    digest = _digest("\n".join(lines))
    study_id = _write_study(connection, study)
    if connection.scalar(select(schema.studies.c.plan).where(schema.studies.c.id == study_id)) == digest:
        return
    cell_ids = _write_cells(connection, cells)
    payload_ids = _write_payloads(connection, contents)
    members = [
        (study_id, cell_ids[cell.key], payload_ids[digests[id(cell.payload)]], position, text)
        for position, (cell, text) in enumerate(zip(cells, labels, strict=True))
    ]
    connection.execute(delete(schema.study_cells).where(schema.study_cells.c.study_id == study_id))
    insert_many(connection, schema.study_cells, ("study_id", "cell_id", "payload_id", "position", "labels"), members)
    connection.execute(update(schema.studies).where(schema.studies.c.id == study_id).values(plan=digest))


def _check_keys(cells: Sequence[PlannedCell]) -> None:
    keys = {cell.key for cell in cells}
    if len(keys) != len(cells):
        raise StoreError(f"a plan of {len(cells)} cells has only {len(keys)} different keys; plan each cell once")
    for cell in cells:
        for need in cell.needs:
            if need not in keys:
                raise StoreError(f"cell {cell.key} needs cell {need}, which is not in the plan; add it")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _write_study(connection: Connection, study: StudyRow) -> int:
    table, spec = schema.studies, dict(study.spec)
    if isinstance(spec.get("store"), str):
        spec["store"] = without_password(spec["store"])
    content = {"spec": to_json(spec), "facts": to_json(study.facts)}
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


def _write_payloads(connection: Connection, contents: Mapping[str, str]) -> dict[str, int]:
    table = schema.payloads
    ids = {row.digest: row.id for row in connection.execute(select(table.c.digest, table.c.id))}
    first = (connection.scalar(select(func.max(table.c.id))) or 0) + 1
    new = {digest: content for digest, content in contents.items() if digest not in ids}
    ids.update((digest, number) for number, digest in enumerate(new, start=first))
    rows = [(ids[digest], digest, content) for digest, content in new.items()]
    insert_many(connection, table, ("id", "digest", "content"), rows)
    return ids
