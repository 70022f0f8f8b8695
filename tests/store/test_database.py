import socket
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.engine.base import RootTransaction
from sqlalchemy.exc import OperationalError, ProgrammingError

from store.rows_for_tests import cell, change, outcome, study
from transferscope.errors import StoreError, UnreachableError
from transferscope.store import Owner, Store, StudyCounts, database
from transferscope.store.database import Database, insert_many, sqlite_path, without_password
from transferscope.store.schema import meta


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "s.sqlite"
    with Store.open(where) as store:
        store.plan(study(), [cell("a"), cell("b")])
        store.finish("a", outcome(0.5))
    return where


def message_of(place: Path | str, *, create: bool = False) -> str:
    with pytest.raises(StoreError) as error:
        Store.open(place, create=create)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "create", "message"),
    [
        ("none.sqlite", False, "there is no store {}; give the path of a store, or make one with"),
        ("no/s.sqlite", True, "there is no folder "),
        ("notes.txt", True, "the store {} cannot be used: the file is not a store"),
        ("other.sqlite", True, "{} is not a transferscope store"),
        ("empty.sqlite", False, "{} is an empty database"),
        ("", True, "the store {} is not a file"),
        ("/dev/null", True, "the store {} is not a file"),
    ],
)
def test_what_is_no_store_is_refused_and_left_alone(tmp_path: Path, name: str, create: bool, message: str) -> None:
    (tmp_path / "notes.txt").write_text("dear diary, " * 100)
    (tmp_path / "empty.sqlite").touch()
    change(tmp_path / "other.sqlite", "CREATE TABLE songs (name TEXT)")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    where = tmp_path / name
    assert message_of(where, create=create).startswith(message.format(where))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = '99' WHERE name = 'format'",
        "UPDATE meta SET value = '2', name = 'schema' WHERE name = 'format'",  # as before the first release
    ],
)
def test_a_store_of_another_format_is_refused_and_left_alone(path: Path, statement: str) -> None:
    change(path, statement)
    with closing(sqlite3.connect(path)) as raw:
        before = list(raw.iterdump())
    for create in (True, False):
        assert message_of(path, create=create).startswith(f"the store {path} has format ")
    with closing(sqlite3.connect(path)) as raw:
        assert list(raw.iterdump()) == before


def test_a_damaged_file_is_said_to_be_damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 4] = b"\xff" * (4096 * 3)
    path.write_bytes(bytes(content))
    assert message_of(path).startswith(f"the store {path} cannot be used: the file is damaged; ")


@pytest.mark.parametrize("which", ["_do_commit", "_do_rollback"])
def test_ctrl_c_in_the_midst_of_a_transaction_is_ctrl_c(
    path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    def press(_transaction: object) -> None:  # as it falls: at the first line of SQLAlchemy's function
        raise KeyboardInterrupt

    with Store.open(path) as store:
        owner = Owner.current()
        with monkeypatch.context() as pressed:
            pressed.setattr(RootTransaction, which, press)
            with pytest.raises(KeyboardInterrupt):
                store.claim("s", owner) if which == "_do_commit" else store.finish("none", outcome(0.1))
        assert store.counts("s") == StudyCounts(planned=1, done=1)
        assert store.finish("b", outcome(0.25))


@pytest.mark.long
def test_a_full_disk_loses_nothing_that_was_stored(path: Path) -> None:
    with Store.open(path) as store:
        _on_connect(store, "PRAGMA max_page_count = 60")
        with pytest.raises(StoreError, match="cannot be used: the disk is full; what was stored is safe"):
            store.finish("b", outcome(*range(20_000)))
    with Store.open(path) as store:
        assert store.counts("s") == StudyCounts(planned=1, done=1)
        assert store.records("s").value.tolist() == [0.5]
        store.finish("b", outcome(*range(20_000)))
        assert len(store.records("s")) == 20_001


def test_a_store_that_may_not_be_written_can_be_read(path: Path) -> None:
    with Store.open(path) as store:
        _on_connect(store, "PRAGMA query_only = ON")
        assert store.records("s").value.tolist() == [0.5]
        with pytest.raises(StoreError, match="cannot be used: it cannot be written to"):
            store.finish("b", outcome(0.5))


def test_a_store_on_a_read_only_medium_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _path, _mode, **_: False)
    with Store.open(path, create=False) as store:
        assert store.records("s").value.tolist() == [0.5]
    assert sorted(found.name for found in path.parent.iterdir()) == ["s.sqlite"]


def test_a_locked_store_says_so_after_a_while(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(path) as store:
        assert len(store.cells("s")) == 2
        with pytest.raises(StoreError, match="cannot be used: another program has locked it for 120 s"):
            store.finish("b", outcome(0.5))
    other.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("post gres://x", "the database URL with scheme 'post gres' is invalid; expected a path, or a URL"),
        ("nosuch://user:secret@host/x", "the database driver of nosuch://user:***@host/x is missing"),
        ("postgresql://user:secret@host:xx/name", "the database URL with scheme 'postgresql' is invalid"),
        ("postgresql://user:sec@ret@host/name", "the database URL with scheme 'postgresql' contains two @"),
        (
            "nosuch://host/x?password=secret&sslpassword=secret&sslmode=require",
            "the database driver of nosuch://host/x?password=***&sslmode=require&sslpassword=*** is missing",
        ),
        ("sqlite+pysqlcipher:///s.sqlite", "the store 'sqlite+pysqlcipher:///s.sqlite' is a SQLite URL with a driver"),
        ("sqlite:///s.sqlite?mode=ro", "the store 'sqlite:///s.sqlite?mode=ro' is a SQLite URL with a driver or op"),
        ("a\0b", "the store path 'a\\x00b' contains a null character"),
    ],
)
def test_a_url_that_cannot_be_used_is_explained(url: str, message: str) -> None:
    assert message_of(url).startswith(message)
    assert "secret" not in message_of(url)


@pytest.mark.parametrize(
    "url",
    [
        ":memory:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite+pysqlite://",
        "sqlite+pysqlite:///",
        "sqlite+pysqlite:///:memory:",
        "SQLite+pysqlite://",
        "sqlite+aiosqlite://",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///file:x?mode=memory&uri=true",
        "sqlite+pysqlite:///file:x?vfs=memdb&uri=true",
        "file:x?mode=memory",
        "file::memory:",
    ],
)
def test_a_store_in_memory_is_refused(url: str) -> None:
    assert message_of(url, create=True).startswith(f"the store {url!r} is in memory and would be lost; give the path")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("runs/a@b:c.sqlite", "runs/a@b:c.sqlite"),
        ("sqlite:///a.sqlite", "sqlite:///a.sqlite"),
        ("postgresql+psycopg://user@host/name", "postgresql+psycopg://user@host/name"),
        ("postgresql://user:s3cret@host:5/name?sslmode=require", "postgresql://user:***@host:5/name?sslmode=require"),
        ("postgresql://host/name?user=u&password=s3cret", "postgresql://host/name?password=***&user=u"),
        ("mysql://u:p%40s3cret@h/n?ssl_key_password=s3cret", "mysql://u:***@h/n?ssl_key_password=***"),
        ("postgresql://user:s3@cret@host/name", "postgresql://***"),
        ("post gres://user:s3cret@host", "post gres://***"),
        ("postgresql://user:s3cret@host:port/name", "postgresql://***"),
    ],
)
def test_no_password_is_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_a_sqlite_url_is_its_path(tmp_path: Path) -> None:
    for scheme in ("sqlite", "sqlite+pysqlite", "SQLite"):
        assert sqlite_path(f"{scheme}:///{tmp_path}/s.sqlite") == tmp_path / "s.sqlite"
    assert sqlite_path("postgresql://host/name") is None


@pytest.mark.parametrize("name", ["a?b#c%20 d.sqlite", "ü & <b>.sqlite"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store:
        store.plan(study(), [cell("a")])
    assert (tmp_path / name).exists()


def together(n: int, act: Callable[[], None]) -> None:
    """Do the same in several threads; an exception of any is raised here."""
    with ThreadPoolExecutor(n) as pool:
        for one in [pool.submit(act) for _ in range(n)]:
            one.result()


def test_no_cell_is_claimed_twice_from_many_connections(tmp_path: Path) -> None:
    where = tmp_path / "s.sqlite"
    together(8, lambda: Store.open(where).close())  # one store is made
    with Store.open(where) as store:
        store.plan(study(), [cell(f"{i:03}") for i in range(60)])
    found: list[str] = []

    def claim_all() -> None:
        with Store.open(where) as own:
            while claims := own.claim("s", Owner.current()):
                found.append(claims[0].key)
                own.finish(claims[0].key, outcome(0.5))

    together(4, claim_all)
    assert sorted(found) == [f"{i:03}" for i in range(60)]


@pytest.mark.parametrize("paramstyle", ["qmark", "named"])  # by position, and by name as psycopg takes values
@pytest.mark.parametrize("columns", [("name", "value"), ("value", "name")])
def test_many_rows_go_in_by_column_name_whatever_their_order(columns: tuple[str, ...], paramstyle: Any) -> None:
    engine = create_engine("sqlite://", paramstyle=paramstyle)
    row = {"name": "n", "value": "v"}
    with engine.begin() as connection:
        meta.create(connection)
        insert_many(connection, meta, columns, [tuple(row[name] for name in columns)])
        assert connection.execute(meta.select()).all() == [("n", "v")]
    engine.dispose()


def _on_connect(store: Store, pragma: str) -> None:
    engine = store._database.engine
    engine.dispose()
    event.listen(engine, "connect", lambda raw, _record: raw.execute(pragma))


REFUSED = Exception("refused")


@pytest.mark.parametrize(
    ("dialect", "error", "kind"),
    [
        ("postgresql", OperationalError(None, None, REFUSED), UnreachableError),
        ("postgresql", OperationalError("SELECT 1", None, REFUSED), StoreError),
        ("postgresql", OperationalError("SELECT 1", None, REFUSED, connection_invalidated=True), UnreachableError),
        ("postgresql", ProgrammingError(None, None, REFUSED), StoreError),
        ("sqlite", OperationalError(None, None, REFUSED), StoreError),  # a file has no connection to lose
    ],
)
def test_a_lost_connection_is_told_from_a_statement_that_fails(
    dialect: str, error: Exception, kind: type[StoreError]
) -> None:
    engine = create_engine("sqlite://")
    engine.dialect.name = dialect

    def ask() -> None:
        raise error

    with pytest.raises(StoreError) as said, Database(engine, "the place").write():
        ask()
    assert type(said.value) is kind


def test_a_server_that_does_not_answer_is_told_from_one_that_refuses() -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as taken:  # a port that nobody listens at
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql+psycopg://me@127.0.0.1:{taken.getsockname()[1]}/name"
        with pytest.raises(UnreachableError, match="Connection refused"):
            Store.open(url)
