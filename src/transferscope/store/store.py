"""The store: written by `study`, read by `report`, and their only connection."""

import json
import logging
import platform
import secrets
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from sqlalchemy import ColumnElement, Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from transferscope.errors import StoreError
from transferscope.files import inside, network_file_system
from transferscope.records import Failure, FailureKind
from transferscope.store import claims, outcomes, planning, reads, schema
from transferscope.store.checksums import checksum
from transferscope.store.claims import Owner
from transferscope.store.database import Database, connect, sqlite_path
from transferscope.store.encoding import (
    DAMAGED,
    document_to_bytes,
    from_bytes,
    table_from_json,
    to_bytes,
)
from transferscope.store.reads import Fits
from transferscope.store.rows import (
    Claim,
    Outcome,
    PlannedCell,
    RecordColumns,
    Standing,
    StoredCell,
    StudyCounts,
    StudyRow,
)

_LOG = logging.getLogger(__name__)

_FILES = "files"
"""Row with the location of the trained networks of a database."""

_MARK = ".transferscope-store"
"""File that identifies their folder."""

_DOCUMENT = "document/"
"""Prefix of the names of documents, which are stored with the arrays of a study."""


class Store:
    """Plans, claims, outcomes and failures of studies in a SQL database.

    Every write is one transaction, complete or absent after a crash. Any number of processes may use one store at a
    time. Open it with `Store.open`, preferably in a `with` statement.

    Attributes:
        files: Folder of the trained networks, `NAME.files` beside a SQLite file.
    """

    def __init__(self, database: Database, files: Path) -> None:
        self.files = files
        self._database = database
        self._ready: dict[int, claims.Queue] = {}  # by the number of the study

    @classmethod
    def open(cls, url: str | Path, *, create: bool = True, files: str | Path | None = None) -> Self:
        """Open a store.

        Args:
            url: Path of a SQLite file, or a database URL ("postgresql+psycopg://user@host/name").
            create: Whether to create a missing store.
            files: Folder of the trained networks; None for `NAME.files` next to the SQLite file. For other databases,
                None for the folder of its first runner, if it is in the current folder, or else `NAME.files` there,
                since a database must not choose other places to write to.

        Raises:
            StoreError: It is missing and `create` is off; it is not a store, damaged, locked, or of a newer version; or
            it cannot be created.
        """
        path = sqlite_path(url)
        if path is not None and not path.exists():
            if not create:
                raise StoreError(
                    f"there is no store {path}; give the path of a store, or make one with `transferscope run`"
                )
            if not path.parent.is_dir():
                raise StoreError(f"there is no folder {path.parent} for the store {path}; create it first")
        elif path is not None and not path.is_file():
            raise StoreError(f"the store {path} is not a file; give the path of a store, or of a new file")
        database = connect(url)
        try:
            _prepare(database, create=create)
        except StoreError:
            database.engine.dispose()
            raise
        if path is not None:
            return cls(database, Path(files) if files else inside(path.parent, path.with_suffix(".files").name))
        if files is not None:
            return cls(database, Path(files))
        with database.read() as connection:
            known = _known_files(connection)
        if known is not None and known.is_seen:
            try:
                return cls(database, inside(Path(), known.path))
            except StoreError:
                _LOG.warning(
                    "the networks of %s lie in %s, outside of this folder, and are left alone; go there, or give the "
                    "study file with files = %r",
                    *(database.place, known.path, known.path),
                )
        return cls(database, inside(Path(), Path(database.engine.url.database or "transferscope").stem + ".files"))

    @property
    def network_disk(self) -> str | None:
        """The kind of network file system of a SQLite file, as in "nfs4"; None for any other store."""
        return network_file_system(Path(self.place)) if self._database.engine.dialect.name == "sqlite" else None

    def check_files(self) -> None:
        """Check that all runners of a database keep their trained networks in one folder.

        The first runner writes a mark to its folder and to the database. A SQLite file has its folder next to it, which
        is not checked.

        Raises:
            StoreError: This runner has another folder.
        """
        if self._database.engine.dialect.name == "sqlite":
            return
        self.files.mkdir(parents=True, exist_ok=True)
        own = self.files / _MARK
        with self._database.write(alone=True) as connection:
            known = _known_files(connection)
            if known is None:
                if not own.exists():
                    own.write_text(secrets.token_hex(16), encoding="ascii")
                recorded = _KnownFiles(own.read_text(encoding="ascii"), str(self.files.absolute()), platform.node())
                row = {"name": _FILES, "value": json.dumps(asdict(recorded))}
                connection.execute(insert(schema.meta).values(row))
                return
        if not own.is_file() or own.read_text(encoding="ascii") != known.mark:
            raise StoreError(
                f"the networks of {self.place} are in {known.path} on {known.host}, but this machine would write to "
                f"{self.files.absolute()}; give one folder that all machines share, as in files = "
                '"/shared/networks", or copy that folder here with its hidden file'
            )

    @property
    def place(self) -> str:
        """The location of the store: a path, or a URL without its password."""
        return self._database.place

    def close(self) -> None:
        """Close all connections."""
        self._database.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def plan(self, study: StudyRow, cells: Sequence[PlannedCell]) -> None:
        """Set the cells of `study` to exactly `cells`, in this order; stored cells keep their outcome.

        Args:
            study: The study; spec and facts replace those stored, `created` stays as first planned.
            cells: Its cells, in the order of execution. Other cells stay stored, for other studies and for later, but
                leave this study.

        Raises:
            StoreError: Two cells have one key, a cell needs one outside the plan, or the store cannot be written.
        """
        self._ready.clear()
        try:
            with self._database.write(alone=True) as connection:
                planning.write_plan(connection, study, cells)
        except StoreError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            with self._database.write(alone=True) as connection:  # another process planned the same cells just now
                planning.write_plan(connection, study, cells)

    def claim(self, study: str, owner: Owner, *, at_most: int = 1) -> list[Claim]:
        """Claim the next cells of a study whose needs are done, so that no other process can claim them.

        Cells of ended owners are free again: at once if their process is visible from here, otherwise (another machine
        or container) after a minute without a heartbeat.

        Args:
            at_most: How many, at least 1.

        Returns:
            The claims, in the order of the plan; empty if no cell is ready: all are done, failed, blocked, running
            elsewhere, or wait for a running one.

        Raises:
            StoreError: The store cannot be written.
            UnknownNameError: There is no such study.
        """
        now = self._database.now
        with self._database.write() as connection:
            study_id = reads.study_id(connection, study)
            queue = self._ready.get(study_id, deque())
            taken = claims.take(connection, study_id, queue, owner, now, at_most=at_most)
            if len(taken) < at_most:
                claims.free_abandoned(connection, now)
                queue = self._ready[study_id] = claims.ready(connection, study_id)
                taken += claims.take(connection, study_id, queue, owner, now, at_most=at_most - len(taken))
            return reads.read_claims(connection, study_id, taken, str(owner)) if taken else []

    def finish(self, key: str, outcome: Outcome, *, claim: Claim | None = None, is_needed: bool = True) -> bool:
        """Store the outcome of a cell, unless it is already done; return whether it was stored.

        Args:
            claim: The claim under which it was done; an outcome of an ended claim is ignored. None to store in any
                case.
            is_needed: Whether other cells may need it; False saves the search for them.

        Raises:
            StoreError: There is no such cell, the outcome holds something that cannot be stored, or the store cannot
                be written.
        """
        with self._database.write() as connection:
            is_stored = outcomes.write_outcome(connection, key, outcome, claim)
            for study, queue in self._ready.items() if is_stored and is_needed else ():
                claims.add_ready(connection, study, queue, key)
            return is_stored

    def fail(self, key: str, failure: Failure, *, claim: Claim | None = None) -> bool:
        """Store the failure of a cell, unless it is already done; return whether it was stored. `claim` is as for
        `finish`.

        Raises:
            StoreError: There is no such cell, or the store cannot be written.
        """
        with self._database.write() as connection:
            return outcomes.write_failure(connection, key, failure, claim)

    def redo(self, keys: Iterable[str]) -> None:
        """Plan finished cells again whose files outside the store are missing; other cells do not change."""
        with self._database.write() as connection:
            for key in keys:
                outcomes.forget_outcome(connection, key)

    def redo_damaged(self, study: str, *, fits: Mapping[str, Fits] | None = None) -> None:
        """Plan those cells of a study again with a damaged record, array or note.

        Args:
            fits: Check of an array by name.
        """
        with self._database.read() as connection:
            damaged = reads.damaged_runs(connection, reads.study_id(connection, study), fits or {})
        self.redo(damaged)

    def release(self, owner: Owner, *, but: Collection[str] = ()) -> None:
        """Release every claim of `owner`, except those on cells with these keys."""
        with self._database.write() as connection:
            claims.release(connection, owner, but=but)

    def heartbeat(self, owner: Owner) -> None:
        """Renew the lease of `owner` on its cells; due well within a minute."""
        with self._database.write() as connection:
            held = schema.cells.update().where(schema.cells.c.state == "running", schema.cells.c.owner == str(owner))
            connection.execute(held.values(heartbeat=self._database.now))

    def retry_failed(self, study: str, *, kinds: Sequence[FailureKind] = get_args(FailureKind)) -> int:
        """Plan cells of a study again that failed in one of these ways; return their number."""
        with self._database.write() as connection:
            return claims.retry_failed(connection, reads.study_id(connection, study), kinds)

    def studies(self) -> list[StudyRow]:
        """Return all studies in the order of their first planning."""
        with self._database.read() as connection:
            return reads.read_studies(connection)

    def study(self, name: str) -> StudyRow:
        """Return one study; raises UnknownNameError if unknown."""
        with self._database.read() as connection:
            return reads.read_study(connection, reads.study_id(connection, name))

    def counts(self, study: str) -> StudyCounts:
        """Count the cells of a study by state."""
        with self._database.read() as connection:
            return reads.read_counts(connection, reads.study_id(connection, study))

    def standings(self, study: str) -> list[Standing]:
        """Return the state of every cell of the study, in no particular order."""
        with self._database.read() as connection:
            return reads.read_standings(connection, reads.study_id(connection, study))

    def done(self, keys: Iterable[str]) -> set[str]:
        """Return those of these cells that are done, in any study."""
        cells = schema.cells
        with self._database.read() as connection:
            return set(keys) & set(connection.scalars(select(cells.c.key).where(cells.c.state == "done")))

    def notes(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the notes of those of these cells that are done, by key."""
        wanted = list(keys)
        if not wanted:
            return {}
        with self._database.read() as connection:
            return reads.read_notes(connection, wanted)

    def cells(self, study: str) -> list[StoredCell]:
        """Return the cells of a study in the order of its plan."""
        with self._database.read() as connection:
            return reads.read_cells(connection, reads.study_id(connection, study))

    def failed_cells(self, study: str) -> list[StoredCell]:
        """Return the failed cells of a study in the order of its plan."""
        with self._database.read() as connection:
            return reads.read_cells(connection, reads.study_id(connection, study), only="failed")

    def records(self, study: str) -> RecordColumns:
        """Return all records of a study's cells by column: `pandas.DataFrame(store.records(study).columns())`."""
        with self._database.read() as connection:
            return reads.read_records(connection, reads.study_id(connection, study))

    def arrays(self, study: str, name: str, *, fits: Fits = lambda array: True) -> dict[str, np.ndarray]:
        """Return the array `name` of each cell of a study that has it, by the cell's key.

        Args:
            fits: Check of an array; a run whose array fails it counts as damaged.
        """
        with self._database.read() as connection:
            return reads.read_arrays(connection, reads.study_id(connection, study), name, fits)

    def put_study_array(self, study: str, name: str, array: np.ndarray) -> None:
        """Store an array with a study, such as "target_test_labels", replacing one of the same name.

        Raises:
            StoreError: It holds Python objects, or the store cannot be written.
        """
        self._put_content(study, name, to_bytes(name, array))

    def study_array(self, study: str, name: str, *, fits: Fits = lambda array: True) -> np.ndarray | None:
        """Return an array stored with a study, or None if there is none of that name. `fits` is as for `arrays`."""
        kept = self._contents(study, schema.study_arrays.c.name == name)
        array = from_bytes(kept[name]) if kept else None
        if array is not None and not fits(array):
            raise _damaged(study, name)
        return array

    def put_study_document(self, study: str, name: str, document: Mapping[str, Any]) -> None:
        """Store a JSON document with a study, such as "ranking", replacing one of the same name.

        It is kept when the study is planned again or resumed. An array may have the same name.

        Raises:
            StoreError: It has values that JSON cannot represent (such as NaN and infinity), or the store cannot be
            written.
            UnknownNameError: There is no such study.
        """
        self._put_content(study, _DOCUMENT + name, document_to_bytes(name, document))

    def study_documents(self, study: str) -> dict[str, dict[str, Any]]:
        """Return every JSON document stored with a study, by name; raises UnknownNameError without the study."""
        kept = self._contents(study, schema.study_arrays.c.name.startswith(_DOCUMENT))
        return {name.removeprefix(_DOCUMENT): _document(content) for name, content in kept.items()}

    def _put_content(self, study: str, name: str, content: bytes) -> None:
        table = schema.study_arrays
        with self._database.write() as connection:
            study_id = reads.study_id(connection, study)
            connection.execute(delete(table).where(table.c.study_id == study_id, table.c.name == name))
            row = {"study_id": study_id, "name": name, "content": content, "checksum": checksum(content)}
            connection.execute(insert(table).values(row))

    def _contents(self, study: str, names: ColumnElement[bool]) -> dict[str, object]:
        """Return the named contents of a study as stored; raises StoreError if they are damaged."""
        table = schema.study_arrays
        with self._database.read() as connection:
            study_id = reads.study_id(connection, study)
            kept = select(table.c.name, table.c.content, table.c.checksum).where(table.c.study_id == study_id, names)
            rows = connection.execute(kept.order_by(table.c.name)).all()
        for name, content, stored in rows:
            if checksum(content) != stored:
                raise _damaged(study, str(name).removeprefix(_DOCUMENT))
        return {str(name): content for name, content, _ in rows}


@dataclass(frozen=True, slots=True)
class _KnownFiles:
    """The folder of a database's trained networks, as its first runner saw it."""

    mark: str
    path: str
    host: str

    @property
    def is_seen(self) -> bool:
        """Whether the same folder exists at the same path."""
        own = Path(self.path) / _MARK
        return own.is_file() and own.read_text(encoding="ascii", errors="replace") == self.mark


def _damaged(study: str, name: str) -> StoreError:
    return StoreError(
        f"{name} of {study} do not match their checksum: the store is damaged or was edited; repeat the command that "
        "made them, for labels `transferscope run STUDY.toml`"
    )


def _document(content: object) -> dict[str, Any]:
    if not isinstance(content, bytes):
        raise StoreError(DAMAGED)
    return table_from_json(content.decode(errors="replace"))


def _known_files(connection: Connection) -> _KnownFiles | None:
    text = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.name == _FILES))
    if text is None:
        return None
    known = table_from_json(text)
    return _KnownFiles(str(known.get("mark")), str(known.get("path")), str(known.get("host")))


def _prepare(database: Database, *, create: bool) -> None:
    with database.read() as connection:
        empty = schema.is_empty(connection)
    if empty and not create:
        raise StoreError(f"{database.place} is an empty database; give a transferscope store")
    if empty:
        database.share()
        with database.write(alone=True) as connection:
            if schema.is_empty(connection):  # no other process was faster
                schema.create(connection)
    with database.read() as connection:
        schema.check(connection, database.place)
