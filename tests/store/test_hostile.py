"""Stores that somebody else wrote, or that were damaged: each is read as it is, or refused in one sentence."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from store.rows_for_tests import cell, change, outcome, study
from transferscope.errors import StoreError, TransferscopeError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Failure, Record
from transferscope.store import Claim, Outcome, Owner, Store, StudyCounts, check_outcome, schema
from transferscope.store.encoding import DAMAGED, from_bytes, tables_from_json, to_bytes
from transferscope.store.rows import Label, PlannedCell

ME = Owner.current()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("store") / "s.sqlite"
    with Store.open(where) as store:
        store.plan(study(), [cell("a"), cell("b", "a"), cell("c"), cell("d", "c")])
        store.finish("a", outcome(0.5))
        store.put_study_array("s", "target_test_labels", np.arange(3))
        store.put_study_document("s", "placements", {"x": 1})
        store.fail("b", Failure("exception", "it broke"))
    return where


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def read_all(store: Store) -> None:
    for found in store.studies():
        store.study(found.name)
        for read in (store.counts, store.standings, store.cells, store.failed_cells, store.records):
            read(found.name)
        store.arrays(found.name, "predictions")
        store.study_array(found.name, "target_test_labels")
        store.study_documents(found.name).get("placements")


def do_all(store: Store) -> None:
    while claims := store.claim("s", ME):
        store.finish(claims[0].key, outcome(0.5), claim=claims[0])
    store.retry_failed("s")


@pytest.mark.parametrize(
    "value", ["²", "٣٣", "-1", "1.5", "", " 1", "1" * 5000, "NULL", "x'3200'", "2e0"], ids=lambda value: value[:5]
)
def test_a_version_that_is_none_is_no_store(path: Path, value: str) -> None:
    literal = value if value in ("NULL", "x'3200'") else f"'{value}'"
    change(path, "DROP TABLE meta")
    change(path, "CREATE TABLE meta (name TEXT PRIMARY KEY, value)")
    change(path, f"INSERT INTO meta VALUES ('format', {literal})")
    with pytest.raises(StoreError, match=r"has format .*; expected 2"):
        Store.open(path, create=False)


DAMAGES = {
    "labels that are null": "UPDATE study_cells SET labels = 'null'",
    "labels that are a list": "UPDATE study_cells SET labels = '[1]'",
    "labels with text for a number": """UPDATE study_cells SET labels = '{"seed": "one"}'""",
    "labels with a table": """UPDATE study_cells SET labels = '{"method": {}}'""",
    "labels as bytes": "UPDATE study_cells SET labels = x'ff00'",
    "labels nested deep": f"UPDATE study_cells SET labels = '{'[' * 100_000}'",
    "a spec that is null": "UPDATE studies SET spec = 'null'",
    "a spec that is a list": "UPDATE studies SET spec = '[]'",
    "facts that are text": """UPDATE studies SET facts = '"facts"'""",
    "notes that are null": "UPDATE outcomes SET notes = 'null'",
    "notes that are a list": "UPDATE outcomes SET notes = '[1, 2]'",
    "notes that are cut off": """UPDATE outcomes SET notes = '{"a":'""",
    "a state that is unknown": "UPDATE cells SET state = 'exploded' WHERE key = 'a'",
    "text for seconds": "UPDATE outcomes SET seconds = 'long'",
    "text for a count": "UPDATE outcomes SET steps = 'many'",
    "text for a value": "UPDATE records SET value = 'high'",
    "bytes for a value": "UPDATE records SET value = x'00'",
    "a broken number of samples": "UPDATE records SET n = 1.5",
    "a number for a name": "UPDATE failures SET message = x'00'",
    "an array that is none": "UPDATE arrays SET content = x'93'",
    "an array that is cut off": "UPDATE arrays SET content = x'934e554d5059'",
    "an array as text": "UPDATE arrays SET content = 'predictions'",
    "a document that is no text": "UPDATE study_arrays SET content = x'ff' WHERE name = 'document/placements'",
    "a document that is a list": "UPDATE study_arrays SET content = '[]' WHERE name = 'document/placements'",
    "a payload that is a number": "UPDATE payloads SET content = '5'",
    "no payload": "DELETE FROM payloads",
    "a table that is gone": "DROP TABLE records",
    "a column that is gone": "ALTER TABLE outcomes DROP COLUMN notes",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_value_is_refused_in_a_sentence(path: Path, damage: str) -> None:
    change(path, DAMAGES[damage])
    with Store.open(path, create=False) as store, pytest.raises(StoreError) as error:
        read_all(store)
    said = str(error.value)
    unusable = said.startswith(f"the store {path} cannot be used: ")
    assert unusable or said == DAMAGED or "do not match their checksum" in said or " are damaged: " in said
    assert "\n" not in said


COLUMNS = [(table.name, column.name) for table in schema.metadata.sorted_tables for column in table.columns]


@pytest.mark.parametrize(
    "value", ["NULL", "x'ff'", "'9e999'", *(pytest.param(value, marks=pytest.mark.long) for value in ("1e300", "''"))]
)
@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=lambda name: name)
def test_any_value_in_any_column_is_read_as_what_it_should_be_or_refused(
    path: Path, table: str, column: str, value: str
) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:  # a file that somebody else wrote need not keep our own rules
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
        raw.execute(f"PRAGMA schema_version = {raw.execute('PRAGMA schema_version').fetchone()[0] + 1}")
    try:
        change(path, f"UPDATE {table} SET {column} = {value}")
    except sqlite3.DatabaseError:
        return  # two rows alike, or no number as the number of a row: this cannot be in such a file
    refusal: StoreError | None = None
    try:
        with Store.open(path, create=False) as store:
            read_all(store)
            for found in store.studies():
                texts = [found.name, *(standing.key for standing in store.standings(found.name))]
                for cell in store.cells(found.name):
                    texts += [cell.cell.key, cell.cell.role, *cell.cell.needs]
                records = store.records(found.name)
                texts += [*records.key, *records.name, *records.part, *store.arrays(found.name, "predictions")]
                assert {type(text) for text in texts} <= {str}
    except StoreError as error:
        refusal = error
    if refusal is not None:
        assert "\n" not in str(refusal)
        assert "TypeCheck" not in repr(refusal.__cause__)  # a check that only the tests make


@pytest.mark.parametrize("text", ['{"a":1},{"b":2}', '{"a":1}]', "[]", '{"a":[', '""', "", "x"])
def test_texts_that_are_read_as_one_list_are_each_one_table(text: str) -> None:
    whole = ['{"a":1}', '{"b":"},{"}', "{}"]
    assert tables_from_json(whole) == [{"a": 1}, {"b": "},{"}, {}]
    assert tables_from_json([]) == []
    with pytest.raises(StoreError, match="damaged"):
        tables_from_json([*whole, text, *whole])


@pytest.mark.parametrize("owner", ["'nonsense'", "NULL", "''", "'host 12 1234.56'", "'a b c d e'", "x'ff'"])
@pytest.mark.parametrize("heartbeat", ["0", "NULL", "1e300", "'late'"])
def test_a_running_cell_of_nobody_is_free(path: Path, owner: str, heartbeat: str) -> None:
    change(path, f"UPDATE cells SET state = 'running', owner = {owner}, heartbeat = {heartbeat} WHERE key = 'c'")
    with Store.open(path) as store:
        do_all(store)
        assert store.counts("s") == StudyCounts(done=3, planned=1)  # what had failed is planned again at the end


def test_cells_that_need_each_other_are_counted_and_claimed_by_nobody(path: Path) -> None:
    change(path, "INSERT INTO needs SELECT a.id, b.id FROM cells a, cells b WHERE a.key = 'c' AND b.key = 'd'")
    with Store.open(path) as store:
        read_all(store)
        assert store.claim("s", ME) == []
        assert store.counts("s") == StudyCounts(done=1, failed=1, planned=2)


@pytest.mark.long
def test_any_damaged_byte_is_a_sentence_or_does_no_harm(path: Path, tmp_path: Path) -> None:
    whole, copy = path.read_bytes(), tmp_path / "copy.sqlite"
    messages = []
    for seed in range(60):
        generator, content = random.Random(seed), bytearray(whole)
        for _ in range(1 + seed % 8):
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        copy.write_bytes(bytes(content))
        for beside in ("-wal", "-shm", "-journal"):
            copy.with_name(copy.name + beside).unlink(missing_ok=True)
        try:
            with Store.open(copy, create=False) as store:
                read_all(store)
                do_all(store)
        except TransferscopeError as error:
            messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)


def test_a_store_may_have_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    where = tmp_path / "s\udcff.sqlite"
    with Store.open(where) as store:
        store.plan(study(), [cell("a")])
        assert store.place == f"{tmp_path}/s\\udcff.sqlite"
    with Store.open(where, create=False) as store:
        assert store.counts("s") == StudyCounts(planned=1)


def test_arrays_of_any_shape_come_back_and_a_shape_that_does_not_fit_asks_for_no_memory() -> None:
    for array in (np.zeros((0, 3)), np.array(1.5), np.array(["ü", "b"]), np.arange(6).reshape(2, 3), np.zeros(0, "U0")):
        np.testing.assert_array_equal(from_bytes(to_bytes("a", array)), array)
    bomb = to_bytes("a", np.zeros(6)).replace(b"(6,)", b"(9999999999999,)")
    with pytest.raises(StoreError):
        from_bytes(bomb)


def test_names_with_halves_of_surrogate_pairs_and_null_characters_come_back(path: Path) -> None:
    labels: dict[str, Label] = {"method": "a\ud800b", "source": "c\0d", "seed": 0}
    odd = PlannedCell("e", "method", labels, {"classes": ["\udcff", "\0"]})
    with Store.open(path) as store:
        store.plan(study("t"), [odd])
        assert [stored.cell for stored in store.cells("t")] == [odd]
        (claim,) = store.claim("t", ME)
        assert claim == Claim(odd, str(ME), 1)
        assert store.fail("e", Failure("exception", "\ud800 \0", "\0"), claim=claim)
        (stored,) = store.failed_cells("t")
        assert stored.failure == Failure("exception", "\\ud800 \\x00", "\\x00")


def test_numbers_of_numpy_are_stored_as_numbers(path: Path) -> None:
    record, cost = Record("accuracy", Estimate(0.0), step=0), Cost()
    numbers = {"value": np.float32(0.5), "stderr": np.float64(0.1), "n": np.int32(7)}
    for name, value in numbers.items():
        object.__setattr__(record.estimate, name, value)
    object.__setattr__(record, "step", np.int64(3))
    object.__setattr__(cost, "steps", np.int64(9))
    with Store.open(path) as store:
        store.finish("c", Outcome((record,), cost))
        records = store.records("s")
        i = records.key.index("c")
        assert (records.value[i], records.stderr[i], records.n[i], records.step[i]) == (0.5, 0.1, 7, 3)
        assert store.cells("s")[2].cost == Cost(steps=9)


def test_what_no_database_can_keep_is_refused_before_anything_is_stored(path: Path) -> None:
    with Store.open(path) as store:
        before = store.counts("s")
        with pytest.raises(StoreError, match=f"sample count of record 'loss' is {2**63}; .* at most 64 bits"):
            store.finish("c", Outcome((Record("loss", Estimate(0.5, n=2**63)),), Cost()))
        for value in ("0.5", 1j, np.complex128(1), None):
            object.__setattr__(estimate := Estimate(0.5), "value", value)
            with pytest.raises(StoreError, match=r"value of record 'loss' is .+; expected a number"):
                store.finish("c", Outcome((Record("loss", estimate),), Cost()))
        assert store.counts("s") == before
    check_outcome(outcome(0.5))


# Claims


def as_another(claim: Claim, **changes: Any) -> Claim:
    return Claim(claim.cell, changes.get("owner", claim.owner), changes.get("attempt", claim.attempt))


@pytest.mark.parametrize("report", ["finish", "fail"])
def test_what_a_stale_owner_reports_changes_nothing(path: Path, report: str) -> None:
    tell: Callable[[Store, Claim], bool] = {
        "finish": lambda store, claim: store.finish(claim.key, outcome(0.9), claim=claim),
        "fail": lambda store, claim: store.fail(claim.key, Failure("exception", "late"), claim=claim),
    }[report]
    with Store.open(path) as store:
        (first,) = store.claim("s", ME)
        store.release(ME)
        assert not tell(store, first)  # the cell is nobody's
        (second,) = store.claim("s", ME)
        assert second == as_another(first, attempt=2)
        assert not tell(store, first)  # an earlier attempt of this very process
        assert not tell(store, as_another(second, owner="elsewhere"))
        assert store.counts("s").running == 1
        assert store.finish(second.key, outcome(0.7), claim=second)
        assert not tell(store, second)  # it is done
        records = store.records("s")
        assert records.value[records.key.index(second.key)] == 0.7


def test_failed_cells_are_counted_without_looking_through_all_needs_for_each(path: Path) -> None:
    with Store.open(path) as store, store._database.read() as connection:
        query = "EXPLAIN QUERY PLAN SELECT cell_id FROM needs WHERE need_id = 1"
        plan = " ".join(str(row) for row in connection.execute(text(query)))
    assert "needs_by_need" in plan
    assert {index.name for index in schema.needs.indexes} == {"needs_by_need"}
