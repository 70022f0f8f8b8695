import math
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch import nn

from store.rows_for_tests import change
from study.fake_work import STRANGE
from study.plans import small_plan
from transferscope.errors import MissingDataError, SettingsError, StoreError, UnreachableError
from transferscope.models import Network
from transferscope.models.weights import save_weights
from transferscope.settings.engine import EngineSettings
from transferscope.store import Claim, Outcome, Owner, PlannedCell, Store, StudyCounts, claims
from transferscope.store import store as store_module
from transferscope.study import backends, run
from transferscope.study.backends import InlineBackend, Message
from transferscope.study.backends.backend import attempt
from transferscope.study.context import WorkContext
from transferscope.study.plan import StudyPlan
from transferscope.study.run import (
    CellFailed,
    Event,
    Interrupt,
    Share,
    StudyProgress,
    deferred_interrupt,
    run_plan,
    work_on,
)
from transferscope.study.status import StudyStatus

INLINE = EngineSettings(workers=0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.sqlite") as opened:
        yield opened


def do(plan: StudyPlan, store: Store, work: str = "count", **options: Any) -> StudyStatus:
    options.setdefault("engine", INLINE)
    return run_plan(plan, store, work=f"study.fake_work:{work}", **options)


def table(store: Store, name: str = "small") -> pd.DataFrame:
    return pd.DataFrame(store.records(name).columns())


def assert_as_undisturbed(store: Store, plan: StudyPlan) -> None:
    """The records of a study are those of one that is done at one go, in line."""
    with Store.open(store.files.parent / "other.sqlite") as other:
        do(plan, other)
        pd.testing.assert_frame_equal(table(other), table(store), check_exact=True)


def log(store: Store) -> list[str]:
    return (store.files / "log.txt").read_text().split()


def test_all_cells_are_done_and_stored(store: Store) -> None:
    plan = small_plan()
    status = do(plan, store)
    assert status == StudyStatus("small", store.place, StudyCounts(done=12), ())
    assert len(table(store)) == 36
    assert len(store.arrays("small", "predictions")) == 12
    labels = store.study_array("small", "target_test_labels")
    assert labels is not None
    np.testing.assert_array_equal(labels, np.arange(20))


@pytest.mark.parametrize("work", ["count", "troubled"])
def test_cells_that_another_runner_has_planned_since_are_done_and_not_counted(store: Store, work: str) -> None:
    larger = small_plan(2, sizes=(10, 20, 30))

    def plan_more(_: Event) -> None:
        store.plan(larger.study, larger.cells)

    status = do(small_plan(2), store, work=work, on_event=plan_more)
    assert status.counts.done + status.counts.failed + status.counts.blocked == len(larger.cells)


def test_a_device_that_is_absent_is_refused_before_any_cell_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SettingsError, match=r"^device = 'cuda', but this machine has none; use 'auto' or 'cpu'$"):
        do(small_plan(), store, engine=EngineSettings(workers=0, device="cuda"))
    assert store.counts("small") == StudyCounts(planned=12)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_and_two_processes_give_the_same_tables(store: Store, workers: int) -> None:
    do(small_plan(), store, engine=EngineSettings(workers=workers))
    assert_as_undisturbed(store, small_plan())


def test_whole_seeds_are_complete_first_and_only_what_is_missing_is_done(store: Store) -> None:
    first, larger = small_plan(2), small_plan(3, sizes=(10, 20, 30))
    do(first, store, "log_count")
    do(larger, store, "log_count")
    before = [cell.key for cell in first.cells]
    assert log(store) == before + [cell.key for cell in larger.cells if cell.key not in before]


def test_a_failure_is_stored_and_the_rest_goes_on(store: Store) -> None:
    events: list[Event] = []
    status = do(small_plan(6), store, "troubled", on_event=events.append)
    failures = [event for event in events if isinstance(event, CellFailed)]
    assert status.counts == StudyCounts(done=4, failed=10, blocked=10)
    assert [cell.cell.key for cell in status.failed] == [event.cell.key for event in failures]
    kinds = [(event.cell.labels["seed"], event.failure.kind) for event in failures if event.cell.role == "pretrain"]
    assert kinds == [(1, "bad_input"), (2, "exception"), (3, "out_of_memory"), (4, "non_finite"), (5, "non_finite")]


def test_failed_cells_are_tried_again_when_asked(store: Store) -> None:
    do(small_plan(2), store, "troubled")
    assert do(small_plan(2), store).counts == StudyCounts(done=4, failed=2, blocked=2)
    assert do(small_plan(2), store, retry_failed=True).counts == StudyCounts(done=8)
    assert do(small_plan(2), store, work="none").counts == StudyCounts(done=8)  # nothing is started


@pytest.mark.long
def test_cells_whose_process_died_are_tried_again_unasked(store: Store) -> None:
    plan = small_plan(7)
    one = StudyPlan(plan.study, tuple(cell for cell in plan.cells if cell.labels["seed"] == 6), {})
    assert do(one, store, "troubled", engine=EngineSettings(workers=1)).counts == StudyCounts(failed=2, blocked=2)
    assert do(one, store).counts == StudyCounts(done=4)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_cells_that_found_the_disk_full_are_tried_again_unasked(store: Store) -> None:
    status = do(small_plan(1), store, "full")
    assert {cell.failure.kind for cell in status.failed if cell.failure} == {"disk_full"}
    assert do(small_plan(1), store).counts == StudyCounts(done=4)


@pytest.mark.parametrize("damage", ["gone", "empty", "zeros", "half", "flipped"])
def test_pretraining_whose_network_is_gone_or_damaged_is_done_again_when_a_cell_needs_it(
    store: Store, damage: str
) -> None:
    do(small_plan(1), store)
    before = table(store)
    (network,) = store.files.glob("*.safetensors")
    save_weights(Network(nn.Identity(), nn.Linear(4, 3), 4), network)
    whole = network.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    network.write_bytes({"zeros": bytes(8), "half": whole[: len(whole) // 2], "flipped": flipped}.get(damage, b""))
    if damage == "gone":
        network.unlink()
    do(small_plan(1), store, work="log_count")
    assert not (store.files / "log.txt").exists()  # no cell that is left to do needs it
    larger = small_plan(1, sizes=(10, 20, 30))
    assert do(larger, store, work="log_count").counts == StudyCounts(done=5)
    assert log(store) == [network.stem, larger.cells[-1].key]
    after = table(store)
    pd.testing.assert_frame_equal(after[after.key.isin(before.key)].reset_index(drop=True), before)


def test_what_strangers_give_is_a_failure_row_and_the_study_goes_on(store: Store) -> None:
    n = len(STRANGE)
    plan = small_plan(n)
    plan = StudyPlan(plan.study, tuple(cell for cell in plan.cells if not cell.needs and cell.role == "method"), {})
    status = do(plan, store, "strange")
    assert status.counts == StudyCounts(failed=n)
    assert {cell.failure.kind for cell in status.failed if cell.failure} == {"exception"}


def test_a_cell_in_line_keeps_its_lease_however_long_it_takes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[float] = []
    monkeypatch.setattr(run, "_HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(Store, "heartbeat", lambda _store, _owner: beats.append(time.monotonic()))
    do(small_plan(1), store, "slow_count")  # each takes at least 50 ms
    assert len(beats) >= 4
    assert not [thread for thread in threading.enumerate() if "_beat" in thread.name]


def test_the_late_outcome_of_a_cell_that_another_runner_has_now_is_not_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Store.finish
    lost: list[str] = []

    def freed_meanwhile(opened: Store, key: str, outcome: Outcome, *, claim: Claim, **options: bool) -> bool:
        if not lost:
            lost.append(key)
            opened.release(Owner.current())  # as another runner does when the lease is over
        return finish(opened, key, outcome, claim=claim, **options)

    monkeypatch.setattr(Store, "finish", freed_meanwhile)
    assert do(small_plan(1), store, "log_count").counts == StudyCounts(done=4)
    assert sorted(log(store)) == sorted([*(cell.key for cell in small_plan(1).cells), *lost])


def test_a_machine_without_the_data_fails_no_cell_of_a_study_that_another_has_planned(store: Store) -> None:
    plan = small_plan(2)
    store.plan(plan.study, plan.cells)
    with pytest.raises(MissingDataError, match=rf"no file flowers\.npz; .*{platform.node()} .* released for machines"):
        work_on("small", store, engine=INLINE, work="study.fake_work:without_data")
    assert store.counts("small") == StudyCounts(planned=8)
    assert work_on("small", store, engine=INLINE, work="study.fake_work:count").done == 8
    assert do(small_plan(3), store, "without_data").counts.failed == 2  # it has read the data itself


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner that waits for nothing between two questions to a database that does not answer."""
    monkeypatch.setattr(run, "_SECONDS_BETWEEN_QUESTIONS", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("method", "work"), [("claim", "count"), ("finish", "count"), ("fail", "full")])
@pytest.mark.parametrize("is_carried_out", [False, True])
def test_a_database_that_is_away_for_a_while_loses_no_cell(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
    work: str,
    is_carried_out: bool,
) -> None:
    """The connection is lost before the database has read a question, or before it has answered."""
    given = getattr(Store, method)
    questions: list[str] = []

    def unsure(opened: Store, *asked: Any, **options: Any) -> Any:
        questions.append(method)
        if len(questions) % 3 == 0:
            return given(opened, *asked, **options)
        if is_carried_out:
            given(opened, *asked, **options)
        raise UnreachableError("the store cannot be used: the connection is lost")

    monkeypatch.setattr(Store, method, unsure)
    counts = do(small_plan(3), store, work).counts
    assert (counts.running, counts.planned, counts.total) == (0, 0, 12)
    assert counts.done == 12 or work == "full"
    assert "the connection is lost; this runner asks again for 10 min" in caplog.text


@pytest.mark.usefixtures("impatient")
def test_a_database_that_stays_away_ends_the_runner(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_asked: Any, **_options: Any) -> None:
        raise UnreachableError("the store cannot be used: connection refused")

    monkeypatch.setattr(run, "_SECONDS_WITHOUT_DATABASE", 0.05)
    monkeypatch.setattr(Store, "claim", away)
    with pytest.raises(UnreachableError, match="connection refused"):
        do(small_plan(1), store)


def test_ctrl_c_ends_a_runner_whose_database_is_away_before_its_first_cell(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(1)
    store.plan(plan.study, plan.cells)

    def away(*_asked: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise UnreachableError("the store cannot be used: connection refused")

    monkeypatch.setattr(Store, "standings", away)
    with pytest.raises(KeyboardInterrupt):
        share(store)


def test_cells_that_wait_for_each_other_end_the_study_with_a_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_STUCK_SECONDS", 0.1)
    plan = small_plan(1)
    store.plan(plan.study, plan.cells)
    change(store.place, "INSERT INTO needs SELECT need_id, cell_id FROM needs")
    with pytest.raises(StoreError, match=r"3 runs of small need .*s\.sqlite is damaged; restore it from a copy"):
        do(plan, store)
    assert store.counts("small").done == 1


class _Crowd(InlineBackend):
    """Room for all; the cells that others wait for are done last."""

    def __init__(self, work: str, context: WorkContext, *, seconds: float | None = None) -> None:
        super().__init__(work, context)
        self._started: list[PlannedCell] = []

    @property
    def free(self) -> int:
        return 100 - len(self._started)

    def start(self, cell: PlannedCell, *, until: float = math.inf) -> None:
        self._started = sorted([*self._started, cell], key=lambda other: other.role == "pretrain")

    def messages(self, timeout: float) -> Iterator[Message]:
        yield attempt(self._work, self._started.pop(0), self._context)


def test_while_all_wait_for_one_cell_the_store_is_not_asked_after_every_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ready = claims.ready

    def counted(connection: Any, study: int) -> Any:
        asked.append(study)
        return ready(connection, study)

    monkeypatch.setattr(claims, "ready", counted)
    monkeypatch.setattr(backends, "InlineBackend", _Crowd)
    monkeypatch.setattr(run, "_CLAIM_SECONDS", 1000.0)
    plan = small_plan(40)
    waiting = {cell.key for cell in plan.cells if cell.labels["seed"] != 0 and cell.labels["method"] != "scratch"}
    few = StudyPlan(plan.study, tuple(cell for cell in plan.cells if cell.key not in waiting), {})
    assert do(few, store).counts == StudyCounts(done=43)
    assert len(asked) <= 5  # before and after the pretraining, and not after each of the 40 cells from scratch


def test_a_runner_that_is_limited_ends_what_it_has_begun_and_leaves_the_rest(store: Store) -> None:
    plan = small_plan(2)
    store.plan(plan.study, plan.cells)
    first = share(store, most_cells=3)
    assert (first.done, first.failed, first.status.counts) == (3, 0, StudyCounts(done=3, planned=5))
    none = share(store, seconds=0.0)
    assert (none.done, none.status.counts) == (0, first.status.counts)
    rest = share(store)
    assert (rest.done, rest.status.counts) == (5, StudyCounts(done=8))
    assert share(store).done == 0
    assert_as_undisturbed(store, plan)


def share(store: Store, **limits: Any) -> Share:
    return work_on("small", store, engine=INLINE, work="study.fake_work:count", **limits)


def test_who_works_on_a_race_is_sent_to_run(store: Store) -> None:
    plan = small_plan(1)
    store.plan(replace(plan.study, spec={"race": {"minutes": 1.0}}), plan.cells)
    with pytest.raises(SettingsError, match=r"^small is a race"):
        share(store)


def test_a_sqlite_store_on_a_network_disk_is_refused_unless_that_is_allowed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "network_file_system", lambda path: "nfs4")
    monkeypatch.delenv("TRANSFERSCOPE_NETWORK_DISK", raising=False)  # which a command of another test may have set
    for begin in (lambda: do(small_plan(1), store), lambda: share(store)):
        with pytest.raises(StoreError) as refused:
            begin()
        for fact in (store.place, "(nfs4)", "postgresql+psycopg://", "TRANSFERSCOPE_NETWORK_DISK=1"):
            assert str(fact) in str(refused.value)
    assert store.studies() == []
    monkeypatch.setenv("TRANSFERSCOPE_NETWORK_DISK", "1")
    assert do(small_plan(1), store).counts == StudyCounts(done=4)


def test_progress_is_told_for_the_whole_study(store: Store) -> None:
    events: list[Event] = []
    do(small_plan(2), store)
    do(small_plan(4), store, "slow_count", on_event=events.append)
    progress = [event for event in events if isinstance(event, StudyProgress)]
    assert progress[-1] == StudyProgress(done=16, failed=0, running=0, total=16, seconds_left=(0.0, 0.0))
    assert progress[0].seconds_left is not None
    assert all(event.total == 16 and event.done >= 8 for event in progress)


def test_an_interruption_in_line_keeps_what_is_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, StudyProgress) and event.done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(run, "_WAIT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt) as error:
        do(small_plan(), store, on_event=interrupt)
    assert str(error.value) == "stopped with 3 of 12 runs done and stored; the same command resumes there"
    assert store.counts("small") == StudyCounts(planned=9, done=3)
    do(small_plan(), store)
    assert_as_undisturbed(store, small_plan())


@pytest.mark.long
def test_studies_with_common_cells_do_them_once(store: Store) -> None:
    do(small_plan(name="one"), store, "log_count")
    do(small_plan(4, name="two"), store, "log_count")
    assert len(log(store)) == len(set(log(store))) == 16
    merged = table(store, "two").merge(table(store, "one"), on=["key", "step"])
    assert (merged.value_x == merged.value_y).all()


def test_after_the_first_interruption_nothing_is_begun_and_the_second_stops_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deferred_interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.requested
        begun: list[bool] = []
        with pytest.raises(KeyboardInterrupt), interrupt.at_once():
            begun.append(True)
        assert not begun
        with pytest.raises(KeyboardInterrupt):
            interrupt.raise_if_requested()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process that is asked to end")
@pytest.mark.parametrize("at_once", [False, True])
def test_being_asked_to_end_is_noted_however_often_it_is_asked(at_once: bool) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with deferred_interrupt() as interrupt:
        if at_once:
            with pytest.raises(KeyboardInterrupt), interrupt.at_once():
                os.kill(os.getpid(), signal.SIGTERM)
            assert not interrupt.ends_at_once
        else:
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)  # batch systems send it to the job and to its steps
        assert interrupt.requested
    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    found: list[Interrupt] = []

    def enter() -> None:
        with deferred_interrupt() as interrupt:
            found.append(interrupt)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    found[0].raise_if_requested()


def test_an_interruption_in_line_lets_the_store_end_what_it_writes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, stored = store.finish, []

    def finish_in_spite(*args: Any, **options: Any) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        stored.append(finish(*args, **options))
        return stored[-1]

    monkeypatch.setattr(store, "finish", finish_in_spite)
    with pytest.raises(KeyboardInterrupt, match="stopped with 1 of 12 runs"):
        do(small_plan(), store)
    assert stored == [True]
    assert store.counts("small") == StudyCounts(planned=11, done=1)


def test_an_interruption_that_python_drops_is_noted_all_the_same() -> None:
    class Finalised:
        def __del__(self) -> None:  # whatever is raised here is only written to sys.unraisablehook
            os.kill(os.getpid(), signal.SIGINT)

    dropped: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda raised: dropped.append(raised.exc_type)
    try:
        with deferred_interrupt() as interrupt:
            with interrupt.at_once():
                finalised = Finalised()
                del finalised
            with pytest.raises(KeyboardInterrupt):
                interrupt.raise_if_requested()
    finally:
        sys.unraisablehook = hook
    assert dropped == [KeyboardInterrupt]
