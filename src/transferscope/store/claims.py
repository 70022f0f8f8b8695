"""Who does which cell: claims that no two processes can hold at once, leases, and their end."""

from collections import deque
from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, Connection, delete, exists, func, select, true, update

from transferscope.records import FailureKind
from transferscope.store import schema
from transferscope.store.owner import LEASE_SECONDS, Owner

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


def take(
    connection: Connection, candidates: Iterable[int], owner: Owner, now: ColumnElement[float]
) -> tuple[int, int] | None:
    """Claim the first candidate that is still free.

    Returns:
        Its number and how often it has been claimed, this time included; None when all are taken.
    """
    for cell in candidates:
        claim = update(_cells).where(_cells.c.id == cell, _cells.c.state == "planned")
        taken = claim.values(state="running", owner=str(owner), heartbeat=now, attempt=_cells.c.attempt + 1)
        if connection.execute(taken).rowcount == 1:
            attempt = connection.scalar(select(_cells.c.attempt).where(_cells.c.id == cell))
            assert attempt is not None
            return cell, int(attempt)
    return None


def free_abandoned(connection: Connection, now: ColumnElement[float]) -> None:
    """Make the running cells free whose owner is gone."""
    last = func.max(func.coalesce(_cells.c.heartbeat, 0.0))
    running = select(_cells.c.owner, last.label("last"), (now - last).label("silent"))
    for row in connection.execute(running.where(_cells.c.state == "running").group_by(_cells.c.owner)).all():
        known = Owner.parse(row.owner)
        silent = abs(row.silent)  # a heartbeat far in the future is none either
        if silent > LEASE_SECONDS if known is None else known.is_gone(silent=silent):
            _free(
                connection, row.owner, func.coalesce(_cells.c.heartbeat, 0.0) <= row.last
            )  # unless it lives after all


def release(connection: Connection, owner: Owner) -> None:
    """Make all cells of `owner` free."""
    _free(connection, str(owner), true())


def beat(connection: Connection, owner: Owner, now: ColumnElement[float]) -> None:
    """Say that `owner` lives."""
    held = update(_cells).where(_cells.c.state == "running", _cells.c.owner == str(owner))
    connection.execute(held.values(heartbeat=now))


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


def _free(connection: Connection, owner: str | bytes | None, condition: ColumnElement[bool]) -> None:
    """Free the cells of an owner for which a condition holds; NULL is an owner too."""
    held = update(_cells).where(_cells.c.owner.is_not_distinct_from(owner), _cells.c.state == "running", condition)
    connection.execute(held.values(state="planned", owner=None, heartbeat=None))
