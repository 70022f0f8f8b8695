"""Claims of processes on cells: exclusive, with leases that expire."""

import os
import platform
from bisect import insort
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import psutil
from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, select, true, update

from transferscope.records import FailureKind
from transferscope.store import schema

LEASE_SECONDS = 60.0
"""Seconds without a heartbeat after which the cell of a remote owner is free again."""

_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that executes cells.

    Two machines, or two containers on one machine, may have the same name, so a process is only looked up if boot and
    namespace equal those of this process. The start is counted from boot if possible, independent of clock changes.

    Attributes:
        boot: Identifier of the machine's current boot; "?" if unknown.
        namespace: Identifier of the process-number namespace (one per container); "?" if there is none.
        started: Start of the process, in clock ticks since boot (Linux) or hundredths of a second since the epoch;
            unique, unlike process numbers.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    started: int

    @classmethod
    def current(cls) -> Self:
        """Return the owner of this process."""
        return cls(platform.node() or _UNKNOWN, *_surroundings(), os.getpid(), _started(os.getpid()))

    @classmethod
    def parse(cls, text: object) -> Self | None:
        """Parse an owner written by `str`; None for unknown formats."""
        parts = str(text).rsplit(" ", 4)
        try:
            host, boot, namespace, pid, started = parts
            return cls(host, boot, namespace, int(pid), int(started))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.host} {self.boot} {self.namespace} {self.pid} {self.started}"

    def is_gone(self, *, silent: float) -> bool:
        """Return whether its cells are free: its process has ended (if visible from here), or its lease has expired.

        Args:
            silent: Seconds since its last heartbeat, by the database's clock.
        """
        here = platform.node() or _UNKNOWN, *_surroundings()
        if (self.host, self.boot, self.namespace) != here:
            return silent > LEASE_SECONDS
        try:
            status, started = psutil.Process(self.pid).status(), _started(self.pid)
        except (psutil.Error, OSError):  # it has ended, or the system shows this user no more than that it exists
            return not psutil.pid_exists(self.pid) or silent > LEASE_SECONDS
        if status == psutil.STATUS_ZOMBIE or started != self.started:
            return True
        return status == psutil.STATUS_STOPPED and silent > LEASE_SECONDS


@lru_cache(maxsize=1)
def _surroundings() -> tuple[str, str]:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return boot, str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        return _UNKNOWN, _UNKNOWN


def _started(pid: int) -> int:
    if platform.system() == "Linux":
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])  # field 22; the name, field 2, may hold anything
    return round(psutil.Process(pid).create_time() * 100)


_READ_AHEAD = 1000
_LOOK = 64

_cells = schema.cells

Queue = deque[tuple[int, int]]
"""Cells in the order of the plan: position and number."""


def ready(connection: Connection, study: int) -> Queue:
    """Return the next ready cells, at most a thousand."""
    query = _ready(study).order_by(schema.study_cells.c.position).limit(_READ_AHEAD)
    return deque((row.position, row.id) for row in connection.execute(query))


def add_ready(connection: Connection, study: int, queue: Queue, done: str) -> None:
    """Insert the cells that became ready after `done` at their places in a queue.

    Otherwise all pretraining of a study would come before its first use. Cells after the last one in the queue are
    found when it is empty.
    """
    if not queue:
        return
    needs, need = schema.needs, select(_cells.c.id).where(_cells.c.key == done).scalar_subquery()
    # by themselves first: joined to what is ready, SQLite would look through all cells that are planned
    waiting = list(connection.scalars(select(needs.c.cell_id).where(needs.c.need_id == need)))
    last = queue[-1]
    for start in range(0, len(waiting), _READ_AHEAD):
        some = waiting[start : start + _READ_AHEAD]
        for row in connection.execute(_ready(study).where(_cells.c.id.in_(some))):
            if (row.position, row.id) < last:
                insort(queue, (row.position, row.id))


def _ready(study: int) -> Select[tuple[int, int]]:
    """Select the position and number of every planned cell of a study whose needs are done."""
    needed = _cells.alias("needed")
    unmet = (
        select(schema.needs.c.need_id)
        .join(needed, needed.c.id == schema.needs.c.need_id)
        .where(schema.needs.c.cell_id == _cells.c.id, needed.c.state != "done")
    )
    members = schema.study_cells
    return (
        select(members.c.position, _cells.c.id)
        .join(members, members.c.cell_id == _cells.c.id)
        .where(members.c.study_id == study, _cells.c.state == "planned", ~exists(unmet))
    )


def take(
    connection: Connection,
    study: int,
    candidates: Queue,
    owner: Owner,
    now: ColumnElement[float],
    *,
    at_most: int,
) -> list[int]:
    """Claim up to `at_most` free candidates and remove them and those before from the queue; return their numbers.

    SQLite has one writer at a time; elsewhere candidate rows are locked, and rows locked by another runner are skipped,
    so two runners never take the same cell or wait for each other.
    """
    members = schema.study_cells
    taken: list[int] = []
    while candidates and len(taken) < at_most:
        some = [candidates.popleft() for _ in range(len(candidates) if taken else min(_LOOK, len(candidates)))]
        numbers = [number for _, number in some]
        free = (
            select(_cells.c.id)
            .join(members, members.c.cell_id == _cells.c.id)
            .where(members.c.study_id == study, members.c.cell_id.in_(numbers), _cells.c.state == "planned")
            .order_by(members.c.position)
            .limit(at_most - len(taken))
            .with_for_update(of=_cells, skip_locked=True)
        )
        keys = list(connection.scalars(free))
        taken += keys
        if len(taken) == at_most:
            candidates.extendleft(reversed(some[numbers.index(keys[-1]) + 1 :]))
    if taken:
        claim = update(_cells).where(_cells.c.id.in_(taken), _cells.c.state == "planned")
        values = {"state": "running", "owner": str(owner), "heartbeat": now, "attempt": _cells.c.attempt + 1}
        connection.execute(claim.values(values))
    return taken


def free_abandoned(connection: Connection, now: ColumnElement[float]) -> None:
    """Free the running cells whose owner has ended."""
    last = func.max(func.coalesce(_cells.c.heartbeat, 0.0))
    running = select(_cells.c.owner, last.label("last"), (now - last).label("silent"))
    for row in connection.execute(running.where(_cells.c.state == "running").group_by(_cells.c.owner)).all():
        known = Owner.parse(row.owner)
        silent = abs(row.silent)  # a heartbeat far in the future is none either
        if silent > LEASE_SECONDS if known is None else known.is_gone(silent=silent):
            unheard = func.coalesce(_cells.c.heartbeat, 0.0) <= row.last  # it may live after all
            _free(connection, row.owner, unheard)


def release(connection: Connection, owner: Owner, *, but: Collection[str] = ()) -> None:
    """Free the cells of `owner`, except those with these keys."""
    _free(connection, str(owner), _cells.c.key.not_in(list(but)) if but else true())


def retry_failed(connection: Connection, study: int, kinds: Sequence[FailureKind]) -> int:
    """Plan cells of a study again that failed in one of these ways; return their number."""
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
    held = update(_cells).where(_cells.c.owner.is_not_distinct_from(owner), _cells.c.state == "running", condition)
    connection.execute(held.values(state="planned", owner=None, heartbeat=None))
