"""Who does which cell: claims that no two processes can hold at once, leases, and their end."""

import time
from collections import deque
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, exists, func, select, update

from transferscope.records import FailureKind
from transferscope.store import schema
from transferscope.store.owner import Owner

_BATCH = 1000

_cells = schema.cells


def ready(connection: Connection, study: int) -> deque[int]:
    """Numbers of cells that could be done now, in the order of the plan, at most a thousand."""
    needed = _cells.alias("needed")
    unmet = (
        select(schema.needs.c.need_id)
        .join(needed, needed.c.id == schema.needs.c.need_id)
        .where(schema.needs.c.cell_id == _cells.c.id, needed.c.state != "done")
    )
    members = schema.study_cells
    query = (
        select(_cells.c.id)
        .join(members, members.c.cell_id == _cells.c.id)
        .where(members.c.study_id == study, _cells.c.state == "planned", ~exists(unmet))
        .order_by(members.c.position)
        .limit(_BATCH)
    )
    return deque(connection.scalars(query))


def take(connection: Connection, candidates: Iterable[int], owner: Owner) -> int | None:
    """Claim the first candidate that is still free; its number, or None when all are taken."""
    for cell in candidates:
        claim = update(_cells).where(_cells.c.id == cell, _cells.c.state == "planned")
        if connection.execute(claim.values(state="running", owner=str(owner), heartbeat=time.time())).rowcount == 1:
            return cell
    return None


def free_abandoned(connection: Connection) -> None:
    """Make the running cells free whose owner is gone."""
    running = select(_cells.c.owner, func.max(_cells.c.heartbeat)).where(_cells.c.state == "running")
    now = time.time()
    for owner, heartbeat in connection.execute(running.group_by(_cells.c.owner)).all():
        if Owner.parse(owner).is_gone(heartbeat=heartbeat, now=now):
            _free(connection, owner, silent_since=heartbeat)


def release(connection: Connection, owner: Owner) -> None:
    """Make all cells of `owner` free."""
    _free(connection, str(owner), silent_since=float("inf"))


def beat(connection: Connection, owner: Owner) -> None:
    """Say that `owner` lives."""
    connection.execute(update(_cells).where(_cells.c.owner == str(owner)).values(heartbeat=time.time()))


def retry_failed(connection: Connection, study: int, kinds: Sequence[FailureKind]) -> int:
    """Make cells of a study that failed in one of these ways planned again; how many there were."""
    failures, members = schema.failures, schema.study_cells
    query = select(failures.c.cell_id).join(members, members.c.cell_id == failures.c.cell_id)
    failed = list(connection.scalars(query.where(members.c.study_id == study, failures.c.kind.in_(kinds))))
    for cell in failed:
        connection.execute(delete(failures).where(failures.c.cell_id == cell))
        connection.execute(
            update(_cells).where(_cells.c.id == cell, _cells.c.state == "failed").values(state="planned")
        )
    return len(failed)


def _free(connection: Connection, owner: str, *, silent_since: float) -> None:
    """Free the cells of an owner, unless it has shown that it lives after `silent_since`."""
    held = update(_cells).where(_cells.c.owner == owner, _cells.c.state == "running")
    silent = held.where(_cells.c.heartbeat <= silent_since)
    connection.execute(silent.values(state="planned", owner=None, heartbeat=None))
