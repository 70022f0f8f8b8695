import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from store.postgresql import URL, emptied
from store.rows_for_tests import CREATED, cell, outcome, study
from transferscope.errors import StoreError, UnknownNameError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Failure, Record
from transferscope.store import Claim, Outcome, Owner, PlannedCell, Store, StudyCounts, StudyRow, schema

ME = Owner.current()


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.skipif(not URL, reason="needs a PostgreSQL database")),
    ]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = tmp_path / "s.sqlite" if request.param == "sqlite" else emptied(URL)
    with Store.open(url) as opened:
        yield opened


def claimed(store: Store, name: str = "s") -> str | None:
    return next((claim.key for claim in store.claim(name, ME)), None)


def test_what_is_planned_comes_back_as_it_was(store: Store) -> None:
    cells = [cell("b", source="ünicode <b>"), cell("a", "b", payload={"lr": 0.1, "widths": [1, 2], "none": None})]
    store.plan(study(), cells)
    assert store.study("s") == study()
    assert [stored.cell for stored in store.cells("s")] == cells
    assert {stored.state for stored in store.cells("s")} == {"planned"}


def test_what_a_cell_needs_comes_back_in_the_order_of_the_plan_pretraining_first(store: Store) -> None:
    """Whichever plan, of this study or of another, had a cell first."""
    store.plan(study("t"), [cell("second"), cell("first")])
    pretrained = replace(cell("z"), role="pretrain")
    cells = [cell("first"), cell("second"), pretrained, cell("last", "z", "first", "second")]
    store.plan(study(), cells)
    for done in ("first", "second", "z"):
        store.finish(done, outcome())
    assert [stored.cell for stored in store.cells("s")] == cells
    assert store.claim("s", ME) == [Claim(cells[-1], str(ME), 1)]


def test_what_the_end_of_a_cell_makes_ready_is_claimed_in_its_place(store: Store) -> None:
    early, late = [cell("z"), cell("y", "z"), cell("w", "z", "x"), cell("x")], [cell(f"{i:04}") for i in range(1100)]
    cells = [*early, *late, cell("last", "z")]
    store.plan(study(), cells)
    assert [claimed(store), claimed(store)] == ["z", "x"]
    store.finish("z", outcome())
    assert [claimed(store), claimed(store)] == ["y", "0000"]  # what needs another one too waits for that
    store.finish("z", outcome())  # which is done already
    store.finish("x", outcome())
    assert [claimed(store), claimed(store)] == ["w", "0001"]
    rest = store.claim("s", ME, at_most=2000)
    assert [claim.key for claim in rest] == [planned.key for planned in cells[6:]]


def test_cells_are_claimed_in_order_once_and_after_their_needs(store: Store) -> None:
    cells = [cell("z"), cell("y", "z"), *(cell(f"{i:03}") for i in range(100))]
    store.plan(study(), cells)
    first = store.claim("s", ME, at_most=70)
    assert first == [Claim(planned, str(ME), 1) for planned in (cells[0], *cells[2:71])]
    assert claimed(store) == cells[71].key
    rest = store.claim("s", ME, at_most=70)
    assert [claim.key for claim in rest] == [planned.key for planned in cells[72:]]
    assert claimed(store) is None
    store.finish("z", outcome())
    assert store.claim("s", ME, at_most=2) == [Claim(cells[1], str(ME), 1)]


def test_a_runner_passes_over_cells_that_another_has_claimed_since_it_looked(store: Store) -> None:
    cells = [cell(f"{i:03}") for i in range(200)]
    store.plan(study(), cells)
    with Store.open(store.place) as other:
        assert store.claim("s", ME)
        assert len(other.claim("s", ME, at_most=150)) == 150
        assert claimed(store) == cells[151].key
        assert other.claim("s", ME) == [Claim(cells[152], str(ME), 1)]


def test_an_outcome_comes_back_as_it_was(store: Store) -> None:
    store.plan(study(), [cell("a", n_target=10)])
    records = (
        Record("accuracy", Estimate(0.1 + 0.2, 0.05, 100), "target_test"),
        Record("loss", Estimate(float("nan"), None, 1, "non_finite"), "target_train", 7),
        Record("gap", Estimate(float("inf"), 0.0, 0, "unbounded"), ""),
    )
    arrays = {"predictions": np.array([1, 2], np.int32), "values": np.array([[0.5, np.nan]], np.float32)}
    store.finish("a", Outcome(records, Cost(1.25, 2**40, 2**35, 4, 5), arrays, {"chosen": {"lr": 0.1}}))
    stored = store.cells("s")[0]
    assert (stored.state, stored.cost) == ("done", Cost(1.25, 2**40, 2**35, 4, 5))
    assert stored.notes == {"chosen": {"lr": 0.1}}
    frame = pd.DataFrame(store.records("s").columns())
    expected = pd.DataFrame(
        {
            "key": "a",
            "name": ["accuracy", "loss", "gap"],
            "part": ["target_test", "target_train", ""],
            "step": [None, 7, None],
            "value": [0.1 + 0.2, np.nan, np.inf],
            "stderr": [0.05, np.nan, 0.0],
            "n": [100, 1, 0],
            "status": ["ok", "non_finite", "unbounded"],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)
    for name, array in arrays.items():
        read = store.arrays("s", name)["a"]
        np.testing.assert_array_equal(read, array)
        assert read.dtype == array.dtype


def test_a_study_without_outcomes_has_empty_records(store: Store) -> None:
    store.plan(study(), [cell("a")])
    records = store.records("s")
    assert (len(records), records.value.shape, store.arrays("s", "predictions")) == (0, (0,), {})


def test_planning_again_keeps_outcomes_and_first_date_and_adds_and_drops_cells(store: Store) -> None:
    store.plan(study(), [cell("a"), cell("b")])
    store.finish("a", outcome(0.5))
    later = StudyRow("s", {"new": True}, {}, "2027-01-01T00:00:00+00:00")
    store.plan(later, [cell("c"), cell("a", source="renamed")])
    assert store.study("s") == StudyRow("s", {"new": True}, {}, CREATED)
    assert [(stored.cell.key, stored.state) for stored in store.cells("s")] == [("c", "planned"), ("a", "done")]
    assert store.cells("s")[1].cell.labels["source"] == "renamed"
    store.plan(study(), [cell("a"), cell("b")])
    assert [stored.state for stored in store.cells("s")] == ["done", "planned"]


def test_studies_share_cells_under_their_own_labels(store: Store) -> None:
    store.plan(study("one"), [cell("a", source="x")])
    store.plan(study("two"), [cell("b"), cell("a", source="y")])
    assert claimed(store, "one") == "a"
    assert claimed(store, "two") == "b"
    store.finish("a", outcome(0.5))
    assert [row.name for row in store.studies()] == ["one", "two"]
    for name, source in {"one": "x", "two": "y"}.items():
        found = next(stored for stored in store.cells(name) if stored.cell.key == "a")
        assert (found.state, found.cell.labels["source"]) == ("done", source)
        assert store.records(name).value.tolist() == [0.5]


def test_what_needs_a_failed_cell_is_blocked_until_that_is_retried(store: Store) -> None:
    store.plan(study(), [cell("a"), cell("b", "a"), cell("c", "b"), cell("d")])
    failure = Failure("out_of_memory", "the memory ran out", "Traceback ...")
    assert claimed(store) == "a"
    store.fail("a", failure)
    assert [stored.state for stored in store.cells("s")] == ["failed", "blocked", "blocked", "planned"]
    assert [stored.failure for stored in store.failed_cells("s")] == [failure]
    assert store.counts("s") == StudyCounts(planned=1, failed=1, blocked=2)
    assert claimed(store) == "d"
    assert store.retry_failed("s", kinds=("lost",)) == 0
    assert store.retry_failed("s") == 1
    assert store.counts("s") == StudyCounts(planned=3, running=1)
    assert store.failed_cells("s") == []


def test_a_cell_that_is_done_stays_as_it_is(store: Store) -> None:
    store.plan(study(), [cell("a")])
    store.finish("a", outcome(0.5))
    store.finish("a", outcome(0.6, 0.7))
    store.fail("a", Failure("lost", "too late"))
    assert store.records("s").value.tolist() == [0.5]
    assert store.counts("s") == StudyCounts(done=1)


def test_a_cell_whose_files_are_gone_can_be_done_again(store: Store) -> None:
    store.plan(study(), [cell("a"), cell("b")])
    store.finish("a", Outcome((Record("accuracy", Estimate(0.5)),), Cost(1.0), {"predictions": np.arange(3)}))
    store.redo(["a", "b", "unknown"])
    assert store.counts("s") == StudyCounts(planned=2)
    assert len(store.records("s")) == 0
    assert store.arrays("s", "predictions") == {}
    assert claimed(store) == "a"
    store.finish("a", outcome(0.6))
    assert store.records("s").value.tolist() == [0.6]


def test_an_outcome_is_stored_as_a_whole_or_not_at_all(store: Store) -> None:
    store.plan(study(), [cell("a")])
    assert claimed(store) == "a"
    broken = Outcome(outcome(0.5).records, Cost(), {"objects": np.array([object()])})
    with pytest.raises(StoreError, match=r"^array 'objects' has the type object; expected numbers or text$"):
        store.finish("a", broken)
    assert store.counts("s") == StudyCounts(running=1)
    assert len(store.records("s")) == 0


def test_a_cell_of_an_ended_process_is_free_at_once(store: Store) -> None:
    store.plan(study(), [cell("a")])
    before = replace(ME, started=ME.started - 1000)  # the same process number, used before
    assert store.claim("s", before)
    assert claimed(store) == "a"
    assert claimed(store) is None


def test_a_cell_of_another_host_is_free_after_a_minute_of_silence_by_the_clock_of_the_database(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)  # the clock of this machine may say what it likes
    store.plan(study(), [cell("a")])
    there = replace(ME, host="elsewhere")
    assert store.claim("s", there)
    assert claimed(store) is None
    make_silent(store, seconds=57.0)
    assert claimed(store) is None
    store.heartbeat(there)
    make_silent(store, seconds=57.0)
    assert claimed(store) is None
    make_silent(store, seconds=4.0)
    assert claimed(store) == "a"


@pytest.mark.parametrize("wrong", [-3600.0, 3600.0])
def test_a_runner_that_hung_past_its_lease_overwrites_nothing_and_one_whose_clock_is_an_hour_wrong_steals_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, wrong: float
) -> None:
    store.plan(study(), [cell("a")])
    hung, there = replace(ME, host="hung"), replace(ME, host="elsewhere")
    (first,) = store.claim("s", hung)
    right = time.time()
    monkeypatch.setattr("time.time", lambda: right + wrong)
    assert claimed(store) is None
    make_silent(store, seconds=61.0)
    (second,) = store.claim("s", there)
    store.heartbeat(hung)  # it is back, and knows nothing
    assert not store.finish("a", outcome(0.1), claim=first)
    assert not store.fail("a", Failure("exception", "late"), claim=first)
    assert store.counts("s") == StudyCounts(running=1)
    assert store.finish("a", outcome(0.9), claim=second)
    assert not store.finish("a", outcome(0.1), claim=first)
    assert store.records("s").value.tolist() == [0.9]


def make_silent(store: Store, *, seconds: float) -> None:
    with store._database.write() as connection:
        connection.execute(schema.cells.update().values(heartbeat=schema.cells.c.heartbeat - seconds))


def test_released_cells_are_free(store: Store) -> None:
    store.plan(study(), [cell("a"), cell("b")])
    assert [claimed(store), claimed(store)] == ["a", "b"]
    store.finish("a", outcome())
    store.release(ME)
    assert store.counts("s") == StudyCounts(planned=1, done=1)
    assert claimed(store) == "b"


def test_arrays_of_a_study_can_be_replaced(store: Store) -> None:
    store.plan(study(), [])
    for labels in (np.arange(3), np.array([[0.5]])):
        store.put_study_array("s", "target_test_labels", labels)
        np.testing.assert_array_equal(store.study_array("s", "target_test_labels"), labels)
    assert store.study_array("s", "nothing") is None


DOCUMENT = {"words": "ünicode <b> −", "numbers": [0.1 + 0.2, 1e-300, None, "inf"], "nested": {"b": True, "a": []}}


def test_documents_of_a_study_come_back_can_be_replaced_and_stay(store: Store) -> None:
    store.plan(study(), [])
    assert store.study_documents("s").get("placements") is None
    for document in ({}, DOCUMENT):
        store.put_study_document("s", "placements", document)
        assert store.study_documents("s").get("placements") == document
    store.plan(study(), [cell("a")])
    with Store.open(store.place) as again:
        assert again.study_documents("s").get("placements") == DOCUMENT


def test_documents_and_arrays_of_one_name_and_of_two_studies_do_not_mix(store: Store) -> None:
    store.plan(study(), [])
    store.plan(study("t"), [])
    store.put_study_document("s", "labels", DOCUMENT)
    store.put_study_array("s", "labels", np.arange(3))
    assert store.study_documents("s").get("labels") == DOCUMENT
    np.testing.assert_array_equal(store.study_array("s", "labels"), np.arange(3))
    assert store.study_documents("t").get("labels") is None
    with pytest.raises(UnknownNameError):
        store.study_documents("nobody").get("labels")


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {1}])
def test_a_document_that_is_no_json_is_refused(store: Store, value: object) -> None:
    store.plan(study(), [])
    with pytest.raises(StoreError, match=r"document 'placements' .* JSON"):
        store.put_study_document("s", "placements", {"x": value})


def test_standings_tell_state_and_seconds(store: Store) -> None:
    store.plan(study(), [cell("a"), cell("b")])
    store.finish("a", outcome())
    found = {(one.key, one.state, one.seconds) for one in store.standings("s")}
    assert found == {("a", "done", 1.5), ("b", "planned", None)}


def test_a_copied_store_file_reads_the_same(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        store.plan(study(), [cell("a")])
        store.finish("a", outcome(0.25))
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes((tmp_path / "s.sqlite").read_bytes())
    with Store.open(copy, create=False) as copied:
        assert copied.records("s").value.tolist() == [0.25]
        assert copied.files == tmp_path / "copy.files"


def test_runners_of_a_server_keep_networks_in_one_folder(tmp_path: Path) -> None:
    def check(files: Path) -> None:
        with Store.open(tmp_path / "s.sqlite", files=files) as store:
            store._database.engine.dialect.name = "mysql"  # no file that its folder of networks lies beside
            store.check_files()

    first, same, elsewhere = tmp_path / "first", tmp_path / "same", tmp_path / "elsewhere"
    same.symlink_to(first)
    for files in (first, first, same):
        check(files)
    for _ in ("empty", "with the mark of another database"):
        with pytest.raises(StoreError, match=f"are in {first} on .* would write to {elsewhere};"):
            check(elsewhere)
        (mark,) = first.iterdir()
        (elsewhere / mark.name).write_text("0" * 32)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([cell("a"), cell("a")], "a plan of 2 cells has only 1 different keys; plan each cell once"),
        ([cell("a", "b")], "cell a needs cell b, which is not in the plan; add it"),
        ([cell("a", payload={"x": {1, 2}})], "only JSON values can be stored: Object of type set is not JSON"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(store: Store, cells: list[PlannedCell], message: str) -> None:
    with pytest.raises(StoreError, match=f"^{message}"):
        store.plan(study(), cells)
    assert store.studies() == []


def test_unknown_studies_and_cells_are_named(store: Store) -> None:
    store.plan(study("usps"), [])
    with pytest.raises(UnknownNameError, match="unknown study 'upsps': did you mean 'usps'"):
        store.records("upsps")
    with pytest.raises(StoreError, match="cell nothing is not in the store"):
        store.finish("nothing", outcome())
