"""What only a server shows: several runners at once, one state of the database, and where a password comes from."""

import os
import platform
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from store.postgresql import URL, emptied
from store.rows_for_tests import cell, outcome, study
from store.test_database import together
from transferscope.errors import StoreError, UnreachableError
from transferscope.store import Owner, Store, StudyCounts
from transferscope.store.database import connect

pytestmark = pytest.mark.skipif(not URL, reason="needs a PostgreSQL database")


@pytest.fixture
def url() -> str:
    return emptied(URL)


def test_runners_that_start_together_on_an_empty_database_all_live_and_do_each_cell_once(url: str) -> None:
    cells = [cell(f"{i:02}") for i in range(40)]
    done: list[str] = []

    def run() -> None:
        with Store.open(url) as store:
            store.plan(study(), cells)
            while claims := store.claim("s", Owner.current()):
                assert store.finish(claims[0].key, outcome(0.5), claim=claims[0])
                done.append(claims[0].key)

    together(8, run)
    assert sorted(done) == [planned.key for planned in cells]


def test_a_reader_sees_one_state_of_the_database(url: str) -> None:
    with Store.open(url) as store, Store.open(url) as other:
        store.plan(study(), [cell("a")])
        with store._database.read() as connection:
            before = connection.scalar(text("select state from cells"))
            other.finish("a", outcome(0.5))
            assert connection.scalar(text("select state from cells")) == before == "planned"
        assert store.counts("s") == StudyCounts(done=1)


def test_a_password_may_come_from_the_environment_or_a_file_and_is_nowhere_in_the_store(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_url(url)
    password = made.password or os.environ.get("PGPASSWORD")
    if password is None:
        pytest.skip("the database asks for no password")
    bare = made.set(password=None).render_as_string()
    monkeypatch.delenv("PGPASSWORD", raising=False)
    (tmp_path / "pgpass").write_text(f"*:*:*:*:{password}\n")
    (tmp_path / "pgpass").chmod(0o600)
    for name, value in (("PGPASSWORD", password), ("PGPASSFILE", str(tmp_path / "pgpass"))):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with Store.open(bare) as store:
                assert password not in store.place
    spelled = made.set(password=password).render_as_string(hide_password=False)
    with Store.open(spelled) as store:
        row = study()
        store.plan(type(row)(row.name, {"store": spelled}, row.facts, row.created), [cell("a")])
        assert store.study("s").spec == {"store": made.set(password="x").render_as_string(hide_password=True)}
        with store._database.read() as connection:
            assert password not in str(connection.execute(text("select * from studies")).all())


def test_all_runners_of_a_database_keep_networks_in_one_folder_whatever_its_path(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, elsewhere, same = tmp_path / "first", tmp_path / "elsewhere", tmp_path / "same"
    with Store.open(url, files=first) as store:
        store.check_files()
    monkeypatch.chdir(tmp_path)
    with Store.open(url) as store:  # a reader in the folder above finds it
        assert store.files == first
        store.check_files()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with Store.open(url) as store:  # another does not
        assert store.files.resolve().parent == elsewhere
        with pytest.raises(StoreError, match="would write to"):
            store.check_files()
    with Store.open(url, files=elsewhere) as store, pytest.raises(StoreError) as refused:
        store.check_files()
    assert f"are in {first} on {platform.node()}, but this machine would write to {elsewhere};" in str(refused.value)
    same.symlink_to(first)
    with Store.open(url, files=same) as store:
        store.check_files()


def test_cells_that_another_runner_is_just_claiming_are_passed_over_without_waiting(url: str) -> None:
    cells = [cell(f"{i:02}") for i in range(4)]
    with Store.open(url) as store, Store.open(url) as other:
        store.plan(study(), cells)
        with other._database.write() as connection:
            connection.execute(text("select id from cells where key = '00' for update"))
            assert [claim.key for claim in store.claim("s", Owner.current(), at_most=2)] == ["01", "02"]
        assert [claim.key for claim in store.claim("s", Owner.current(), at_most=2)] == ["03", "00"]


def test_a_connection_that_the_server_has_ended_is_told_from_a_wrong_question(url: str) -> None:
    database = connect(url)
    with pytest.raises(UnreachableError), database.write() as connection:
        connection.execute(text("select pg_terminate_backend(pg_backend_pid())"))
    with pytest.raises(StoreError) as wrong, database.write() as connection:
        connection.execute(text("select nonsense"))
    assert not isinstance(wrong.value, UnreachableError)
    database.engine.dispose()
