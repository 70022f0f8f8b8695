import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import event

from store.rows_for_tests import cell, outcome, study
from transferscope.errors import StoreError
from transferscope.store import Owner, Store, StudyCounts, database
from transferscope.store.database import connect, insert_many, sqlite_path
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


def test_an_absent_store_is_not_made_by_reading(tmp_path: Path) -> None:
    where = tmp_path / "none.sqlite"
    expected = f"there is no store at {where}; give the path of a store, or make one with `transferscope run`"
    assert message_of(where) == expected
    assert not where.exists()


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    where = tmp_path / "no" / "s.sqlite"
    expected = f"the store {where} cannot be created: there is no folder {where.parent}; create it first"
    assert message_of(where, create=True) == expected


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path) -> None:
    where = tmp_path / "notes.txt"
    where.write_text("dear diary, " * 100)
    assert message_of(where, create=True) == (
        f"the store {where} cannot be used: the file is not a store; give another path"
    )
    assert where.read_text() == "dear diary, " * 100


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    where = tmp_path / "other.sqlite"
    with sqlite3.connect(where) as other:
        other.execute("CREATE TABLE songs (name TEXT)")
    other.close()
    assert message_of(where, create=True) == (
        f"{where} is a database of something else; give the path of a transferscope store or a new file"
    )


def test_an_empty_database_is_no_store_to_read(tmp_path: Path) -> None:
    where = tmp_path / "empty.sqlite"
    where.touch()
    assert message_of(where) == f"{where} is an empty database; give the path of a transferscope store"


def test_a_store_of_a_newer_version_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    raw.close()
    assert message_of(path, create=True) == (
        f"{path} was written by a newer transferscope (its format is 99, this version reads up to 2); "
        "upgrade transferscope, or give another store"
    )


def test_a_damaged_file_is_said_to_be_damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 4] = b"\xff" * (4096 * 3)
    path.write_bytes(bytes(content))
    assert message_of(path) == (
        f"the store {path} cannot be used: the file is damaged; restore it from a copy, or give another path"
    )


def test_a_full_disk_loses_nothing_that_was_stored(path: Path) -> None:
    with Store.open(path) as store:
        _limit_pages(store, 60)
        with pytest.raises(StoreError) as error:
            store.finish("b", outcome(*range(20_000)))
        assert str(error.value) == (
            f"the store {path} cannot be used: the disk is full; what was stored is safe, free some space and run again"
        )
    with Store.open(path) as store:
        assert store.counts("s") == StudyCounts(planned=1, done=1)
        assert store.records("s").value.tolist() == [0.5]
        store.finish("b", outcome(*range(20_000)))
        assert len(store.records("s")) == 20_001


def test_a_store_that_may_not_be_written_can_be_read(path: Path) -> None:
    with Store.open(path) as store:
        _on_connect(store, "PRAGMA query_only = ON")
        assert store.records("s").value.tolist() == [0.5]
        with pytest.raises(StoreError) as error:
            store.finish("b", outcome(0.5))
        assert str(error.value) == (
            f"the store {path} cannot be used: it cannot be written to; give a store in a folder that you may write to"
        )


def test_a_store_on_a_read_only_medium_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    with Store.open(path, create=False) as store:
        assert store.records("s").value.tolist() == [0.5]
    assert sorted(found.name for found in path.parent.iterdir()) == ["s.sqlite"]


def test_a_locked_store_says_so_after_a_while(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(path) as store:
        assert len(store.cells("s")) == 2
        with pytest.raises(StoreError) as error:
            store.finish("b", outcome(0.5))
    other.close()
    assert str(error.value) == (
        f"the store {path} cannot be used: another program has locked it for 30 s; end that program and run again"
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "post gres://x",
            "a database URL that begins with 'post gres' cannot be read; expected a path, or a URL such as "
            "postgresql+psycopg://user@host/name",
        ),
        (
            "nosuch://user:secret@host/x",
            "the database driver of nosuch://user:***@host/x is missing: Can't load plugin: sqlalchemy.dialects:nosuch",
        ),
        (":memory:", "the store ':memory:' is in memory and would be lost at the end; give the path of a file"),
        ("sqlite://", "the store 'sqlite://' is in memory and would be lost at the end; give the path of a file"),
        (
            "sqlite:///:memory:",
            "the store 'sqlite:///:memory:' is in memory and would be lost at the end; give the path of a file",
        ),
    ],
)
def test_a_url_that_cannot_be_used_is_explained(url: str, message: str) -> None:
    assert message_of(url) == message


def test_a_sqlite_url_is_its_path(tmp_path: Path) -> None:
    assert sqlite_path(f"sqlite:///{tmp_path}/s.sqlite") == tmp_path / "s.sqlite"
    assert sqlite_path("postgresql://host/name") is None


@pytest.mark.parametrize("name", ["a?b#c%20 d.sqlite", "ü & <b>.sqlite"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store:
        store.plan(study(), [cell("a")])
    assert (tmp_path / name).exists()


def test_no_cell_is_claimed_twice_from_many_connections(tmp_path: Path) -> None:
    where = tmp_path / "s.sqlite"
    with Store.open(where) as store:
        store.plan(study(), [cell(f"{i:03}") for i in range(60)])
    found: list[str] = []

    def claim_all() -> None:
        with Store.open(where) as own:
            while (claimed := own.claim("s", Owner.current())) is not None:
                found.append(claimed.key)
                own.finish(claimed.key, outcome(0.5))

    threads = [threading.Thread(target=claim_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"{i:03}" for i in range(60)]


def test_opening_a_new_store_at_the_same_moment_makes_one(tmp_path: Path) -> None:
    where = tmp_path / "s.sqlite"
    errors: list[Exception] = []

    def open_it() -> None:
        try:
            Store.open(where).close()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("columns", [("name", "value"), ("value", "name")])
def test_many_rows_go_in_by_column_name_whatever_their_order(tmp_path: Path, columns: tuple[str, ...]) -> None:
    where = connect(tmp_path / "m.sqlite")
    row = {"name": "n", "value": "v"}
    with where.write() as connection:
        meta.create(connection)
        insert_many(connection, meta, columns, [tuple(row[name] for name in columns)])
    with where.read() as connection:
        assert connection.execute(meta.select()).all() == [("n", "v")]
    where.engine.dispose()


def _on_connect(store: Store, pragma: str) -> None:
    engine = store._database.engine
    engine.dispose()
    event.listen(engine, "connect", lambda raw, _record: raw.execute(pragma))


def _limit_pages(store: Store, pages: int) -> None:
    _on_connect(store, f"PRAGMA max_page_count = {pages}")
