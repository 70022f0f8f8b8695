"""Opening a database, its transactions, and its error messages."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    ColumnElement,
    Compiled,
    Connection,
    Dialect,
    Engine,
    Float,
    Table,
    create_engine,
    event,
    insert,
    make_url,
)
from sqlalchemy import literal_column as sql
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError

from transferscope.errors import StoreError, TransferscopeError, UnreachableError
from transferscope.machine import longest_file
from transferscope.store.encoding import DAMAGED

BUSY_SECONDS = 120.0

_TRIES_BEGIN_ANEW = 20
"""Milliseconds. SQLite tries for a lock after 1, 2, 5, 10, ... and at last every 100 ms: a writer that has waited long
tries least often, and among eight busy runners it may find the lock taken for half a minute."""

_REASONS = {
    "disk is full": "the disk is full; what was stored is safe, free some space and run again",
    "readonly database": "it cannot be written to; give a store in a folder that you may write to",
    "database is locked": f"another program has locked it for {BUSY_SECONDS:.0f} s; end that program and run again",
    "unable to open": "its file cannot be opened; check that its folder exists and that you may write there",
    "not a database": "the file is not a store; give another path",
    "malformed": "the file is damaged; restore it from a copy, or give another path",
    "Could not decode": "the file is damaged; restore it from a copy, or give another path",
    "disk I/O error": "the disk reports an input/output error; what was stored before is safe, check the disk",
    "no password supplied": "it asks for a password; set PGPASSWORD, or write a line for it in ~/.pgpass",
}

_CLOCKS = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "extract(epoch from clock_timestamp())::double precision",
}

_ONE_AT_A_TIME = 0x7472616E73666572
"""PostgreSQL advisory lock for mutually exclusive transactions: the first bytes of "transferscope"."""

_SECRET = "***"

_PATIENCE_OF_PSYCOPG = {
    "connect_timeout": 20,  # seconds
    "tcp_user_timeout": 60_000,  # milliseconds
    "keepalives_idle": 60,  # seconds
}
"""Settings by which a dead connection is detected after a minute instead of a quarter of an hour."""


@dataclass(frozen=True)
class Database:
    """A database with read and write transactions; `place`, for messages, contains no password."""

    engine: Engine
    place: str

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database throughout; raises StoreError if it cannot be read."""
        with self._explained(), self.engine.connect() as connection:
            if self.engine.dialect.name != "sqlite":  # which does so by itself
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            try:
                yield connection
            except TransferscopeError:
                raise
            except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
                raise StoreError(DAMAGED) from error

    @contextmanager
    def write(self, *, alone: bool = False) -> Iterator[Connection]:
        """Open a transaction that is written as a whole or not at all; on SQLite it waits for other writers first.

        Args:
            alone: Wait for all other transactions with this flag, also on PostgreSQL.
        """
        with self._explained(), self.engine.connect() as connection:
            writer = connection.execution_options(transferscope_writes=True)
            with writer.begin():
                if alone and self.engine.dialect.name == "postgresql":
                    writer.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})")
                yield writer

    @property
    def now(self) -> ColumnElement[float]:
        """The time of the database's clock in seconds since the epoch, common to all its users."""
        return sql(_CLOCKS.get(self.engine.dialect.name, "extract(epoch from current_timestamp)"), Float)

    def share(self) -> None:
        """Turn on the write-ahead log of a new SQLite file, so that readers do not block a writer."""
        if self.engine.dialect.name != "sqlite":
            return
        with self._explained(), self.engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            raw.cursor().execute("PRAGMA journal_mode = WAL")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            kind = UnreachableError if self._is_lost(error) else StoreError
            raise kind(f"the store {self.place} cannot be used: {_reason(error)}") from error
        except UnicodeDecodeError as error:  # so does SQLite say what is wrong with a file
            raise StoreError(f"the store {self.place} cannot be used: {_REASONS['malformed']}") from error
        except AssertionError as error:  # of SQLAlchemy, about a COMMIT or ROLLBACK that Ctrl-C has ended
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise

    def _is_lost(self, error: SQLAlchemyError | sqlite3.Error) -> bool:
        if self.engine.dialect.name == "sqlite" or not isinstance(error, OperationalError):
            return False
        return error.connection_invalidated or error.statement is None


def connect(url: str | Path) -> Database:
    """Connect to a database at a path (SQLite) or URL, without reading or writing.

    Args:
        url: A path, or a database URL of SQLAlchemy ("postgresql+psycopg://user@host/name"), preferably without a
            password: PostgreSQL's driver reads it from PGPASSWORD or ~/.pgpass.

    Raises:
        StoreError: The URL cannot be read, or its driver is not installed.
    """
    path = sqlite_path(url)
    if path is not None:
        engine = create_engine(_sqlite_url(path), connect_args={"timeout": BUSY_SECONDS})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return Database(engine, str(path).encode(errors="backslashreplace").decode())
    address = str(url)
    try:
        made = make_url(address)
    except (ArgumentError, ValueError) as error:
        scheme = address.partition("://")[0]  # the rest may hold a password
        raise StoreError(
            f"the database URL with scheme {scheme!r} is invalid; expected a path, or a URL such as "
            "postgresql+psycopg://user@host/name"
        ) from error
    if "@" in (made.host or ""):  # the end of a password
        raise StoreError(
            f"the database URL with scheme {made.drivername!r} contains two @; write an @ in the user name or "
            "password as %40"
        )
    try:
        options = _PATIENCE_OF_PSYCOPG if made.drivername == "postgresql+psycopg" else {}
        given = {name: value for name, value in options.items() if name not in made.query}
        engine = create_engine(made, pool_pre_ping=True, connect_args=given)
        return Database(engine, without_password(address))
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(f"the database driver of {without_password(address)} is missing: {error}") from error


def without_password(url: str) -> str:
    """Return a store's address for display and storage: a path unchanged, a URL with `***` for its secrets."""
    if "://" not in url:
        return url
    try:
        made = make_url(url)
    except (ArgumentError, ValueError):
        return f"{url.partition('://')[0]}://{_SECRET}"
    if "@" in (made.host or ""):
        return f"{made.drivername}://{_SECRET}"
    if made.get_backend_name() == "sqlite":
        return f"{made.drivername}://{_SECRET}" if made.password else url
    secret = {name: _SECRET for name in made.query if "pass" in name.lower()}
    shown = made.update_query_dict(secret).render_as_string(hide_password=True)
    return shown.replace(quote(_SECRET, safe=""), _SECRET)


def sqlite_path(url: str | Path) -> Path | None:
    """Return the file of a SQLite store, None for another database; raises StoreError in memory or with options."""
    address = str(url)
    if "\0" in address:
        raise StoreError(f"the store path {address!r} contains a null character; give another path")
    scheme, separator, rest = address.partition("://")
    of_sqlite = bool(separator) and scheme.lower().partition("+")[0] == "sqlite"
    path = rest.removeprefix("/") if of_sqlite else address
    name, _, options = path.partition("?") if of_sqlite or path.startswith("file:") else (path, "", "")
    in_memory = "mode=memory" in options or "vfs=memdb" in options or ":memory:" in name
    if in_memory or (of_sqlite and (not name or not rest.startswith("/"))):
        raise StoreError(
            f"the store {without_password(address)!r} is in memory and would be lost; give the path of a file"
        )
    if of_sqlite and (options or scheme.lower() not in ("sqlite", "sqlite+pysqlite") or name.startswith("file:")):
        raise StoreError(f"the store {address!r} is a SQLite URL with a driver or options; give the path of its file")
    return None if separator and not of_sqlite else Path(path)


def insert_many(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, if there are any.

    Drivers with positional values get the rows directly, in a third of SQLAlchemy's time for 100,000 rows.
    """
    if not rows:
        return
    compiled = _compiled_insert(table, connection.dialect, tuple(columns))
    order = getattr(compiled, "positiontup", None)
    if order is None:
        connection.execute(insert(table), [dict(zip(columns, row, strict=True)) for row in rows])
        return
    places = [columns.index(name) for name in order]
    in_order = places == list(range(len(columns)))
    values = rows if in_order else [tuple(row[place] for place in places) for row in rows]
    connection.exec_driver_sql(str(compiled), list(values))


@lru_cache(maxsize=64)
def _compiled_insert(table: Table, dialect: Dialect, columns: tuple[str, ...]) -> Compiled:
    return insert(table).compile(dialect=dialect, column_keys=list(columns))


def _sqlite_url(path: Path) -> URL:
    """Return the URL of the file, as immutable if it cannot be written or lies on a read-only medium.

    Otherwise SQLite would leave two further files, which it could not delete.
    """
    effective = os.access in os.supports_effective_ids
    may_write = all(os.access(one, os.W_OK, effective_ids=effective) for one in (path.parent, path))
    if not path.exists() or may_write or path.with_name(f"{path.name}-wal").exists():
        return URL.create("sqlite", database=str(path))
    unchanging = {"uri": "true", "mode": "ro", "immutable": "1"}
    return URL.create("sqlite", database=f"file:{quote(os.fsencode(path))}", query=unchanging)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin_sqlite says
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    if not connection.get_execution_options().get("transferscope_writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    raw: Any = connection.connection.dbapi_connection  # SQLAlchemy's type leaves out what SQLite's can do
    deadline = time.monotonic() + BUSY_SECONDS
    raw.execute(f"PRAGMA busy_timeout = {_TRIES_BEGIN_ANEW}")
    try:
        while True:
            try:
                raw.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
    finally:
        raw.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS:.0f}")


def _reason(error: SQLAlchemyError | sqlite3.Error) -> str:
    cause = str(getattr(error, "orig", None) or error)
    if "disk I/O error" in cause and (most := longest_file()) is not None:
        return (
            f"this process may write files of {most:,} bytes at most (`ulimit -f`); what was stored before is safe, "
            "raise the limit and run again"
        )
    for sign, reason in _REASONS.items():
        if sign in cause:
            return reason
    return cause.strip().splitlines()[0]
