"""Run a study: plan it, then claim, execute and store cells until none remain."""

import logging
import math
import platform
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import TypeVar, get_args

from transferscope.errors import MissingDataError, SettingsError, StoreError, UnreachableError, UntrustedCodeError
from transferscope.models.weights import is_whole
from transferscope.once import once
from transferscope.records import Failure, FailureKind
from transferscope.settings.engine import EngineSettings
from transferscope.store import Claim, Owner, PlannedCell, Store
from transferscope.study.backends import (
    Advanced,
    Backend,
    Failed,
    Finished,
    Message,
    Stopped,
    backend_of,
    default_workers,
)
from transferscope.study.by_role import WORK
from transferscope.study.context import KEEP, WorkContext
from transferscope.study.fitting import with_chosen
from transferscope.study.frames import are_predictions
from transferscope.study.kept import keys_to_keep, tidy
from transferscope.study.places import check_place
from transferscope.study.plan import StudyPlan
from transferscope.study.planners import AnySpec, plan_of
from transferscope.study.race import Race
from transferscope.study.status import Forecast, StudyStatus, study_status
from transferscope.study.track import followed
from transferscope.training import choose_device
from transferscope.wording import cell_words

_WAIT_SECONDS = 0.2
_CLAIM_SECONDS = 1.0
_CLAIM_REST = 20.0
"""Wait after an empty answer, in multiples of the time it took: searching very many cells is slow."""
_STUCK_SECONDS = 5.0
_HEARTBEAT_SECONDS = 10.0
_RECOUNT_SECONDS = 30.0
_SECONDS_WITHOUT_DATABASE = 600.0
"""Time for which a runner retries an unreachable database server before it gives up."""
_SECONDS_BETWEEN_QUESTIONS = 2.0
_SLOW, _SLOW_SECONDS = 10.0, 30.0
"""A cell is reported as slow at this multiple of the time of others of its kind, and at least this many seconds."""


_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")


def _kind(cell: PlannedCell) -> tuple[str, object]:
    return cell.role, tuple(cell.labels.get(name) for name in ("method", "source", "n_target"))


def _words(cell: PlannedCell) -> str:
    return cell_words(cell.role, cell.labels)


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """The progress of a study.

    Attributes:
        running: Cells that this runner is executing.
        seconds_left: Range of the remaining seconds, as in `Forecast.seconds_left`; None if unknown.
        is_race: Whether `total` counts only the runs that a race has started so far; it may end at any time.
    """

    done: int
    failed: int
    running: int
    total: int
    seconds_left: tuple[float, float] | None
    is_race: bool = False


@dataclass(frozen=True, slots=True)
class CellFailed:
    """A failed cell; the study continues."""

    cell: PlannedCell
    failure: Failure


@dataclass(frozen=True, slots=True)
class CellsStopped:
    """Cells stopped at the time limit of their race.

    With more time they resume at their last checkpoint; commands, which have none, start again.
    """

    cells: tuple[PlannedCell, ...]


@dataclass(frozen=True, slots=True)
class CellSlow:
    """A cell that runs much longer than others of its method; it continues."""

    cell: PlannedCell
    seconds: float
    times: float


Event = StudyProgress | CellFailed | CellsStopped | CellSlow


def ignore(event: Event) -> None:
    """Do nothing with an event."""


def run_study(
    spec: AnySpec,
    store: Store,
    *,
    work: str = WORK,
    retry_failed: bool = False,
    on_event: Callable[[Event], None] = ignore,
    on_plan: Callable[[StudyPlan], None] | None = None,
    stamp: str = "",
    since: float | None = None,
) -> StudyStatus:
    """Execute the missing runs of a study.

    Stored runs are reused: after an interruption or a crash, or with added seeds, sizes, sources or methods, only the
    missing ones are executed. Results do not depend on the number of workers, the order of the cells, or interruptions;
    another number of threads, or a GPU, has its own cells. Several runners, on one machine or many, can share the cells
    of a study.

    Args:
        spec: The study; `spec.engine` gives the number of processes and threads, the device, and the timeout of a cell.
        work: Dotted name of the function that executes a cell.
        retry_failed: Whether to retry failed cells. Cells whose process died are always retried.
        on_event: Called in this thread with progress, a few times a second, and with every failure.
        on_plan: Called once with the plan, after reading the data and before the first run.
        stamp: Stamp of the study file (`status.stamp_of`), by which `status` recognises it without reading it; "" if
            the study does not come from one file alone.
        since: Start of the time limit of a race, by `time.monotonic`; None for now, before the data are read.

    Raises:
        DataError: The data are missing, or the study cannot use them; no run was started.
        NetworkError: The network cannot read the data; no run was started.
        SettingsError: The study contradicts itself; no run was started.
        StoreError: The store cannot be written; earlier results are safe.
        MissingExtraError: The package of a tracker is not installed; no run was started.
        KeyboardInterrupt: Ctrl-C was pressed; the message gives the progress.
    """
    check_place(store)
    since = time.monotonic() if since is None else since
    with once(), followed(spec.track, store, spec.name):
        plan = plan_of(spec, store)
        if stamp:
            plan = replace(plan, study=replace(plan.study, facts={**plan.study.facts, "stamp": stamp}))
        _LOG.info("%s: %d runs and pretrainings planned, results in %s", spec.name, len(plan.cells), store.place)
        if on_plan is not None:
            on_plan(plan)
        race = None
        if spec.race is not None:
            if len(spec.seeds) < 2:
                raise SettingsError(
                    f"the study {spec.name} has one seed; a race needs at least 2, for the variance between runs"
                )
            engine = spec.engine
            at_once = max(1, default_workers(engine.device) if engine.workers is None else engine.workers)
            race = Race(plan, seeds=spec.seeds, settings=spec.race, at_once=at_once, since=since)
            plan = race.begin(store)
        return run_plan(
            plan, store, engine=spec.engine, work=work, retry_failed=retry_failed, on_event=on_event, race=race
        )


def run_plan(
    plan: StudyPlan,
    store: Store,
    *,
    engine: EngineSettings,
    work: str = WORK,
    retry_failed: bool = False,
    on_event: Callable[[Event], None] = ignore,
    race: Race | None = None,
) -> StudyStatus:
    """Execute the missing runs of a planned study; arguments and errors as in `run_study`.

    Args:
        race: Choice of the next cells, asked whenever a worker is free; None if the plan has all cells.
    """
    name = plan.study.name
    plan_into(plan, store, retry_failed=retry_failed)
    counts = store.counts(name)
    if race is not None or counts.planned or counts.running:
        runner = _run_cells(plan, store, engine, work, on_event, race=race)
        if runner.stopped:
            return study_status(store, name)
    tidy(store, name)
    return study_status(store, name)


def plan_into(plan: StudyPlan, store: Store, *, retry_failed: bool = False) -> None:
    """Write a plan to a store, and plan lost and damaged work again.

    Args:
        retry_failed: Whether to retry all failed cells; otherwise only those whose process died or whose disk was full.
    """
    check_place(store)
    name = plan.study.name
    if not store.studies():  # a new store makes its runs itself, whatever one before it has left in its folder
        keys = {cell.key for cell in plan.cells}
        for kept in store.files.glob("*.run"):
            if kept.stem in keys:
                shutil.rmtree(kept, ignore_errors=True)
    store.plan(plan.study, plan.cells)
    for key, array in plan.arrays.items():
        store.put_study_array(name, key, array)
    fits = partial(are_predictions, plan.study.facts, plan.arrays.get("target_test_labels"))
    store.redo_damaged(name, fits={"predictions": fits})
    store.retry_failed(name, kinds=get_args(FailureKind) if retry_failed else ("lost", "disk_full"))
    _redo_lost_networks(plan, store)


@dataclass(frozen=True, slots=True)
class Share:
    """The work of one runner."""

    done: int
    failed: int
    status: StudyStatus


def work_on(
    name: str,
    store: Store,
    *,
    engine: EngineSettings,
    work: str = WORK,
    most_cells: float = math.inf,
    seconds: float = math.inf,
    on_event: Callable[[Event], None] = ignore,
) -> Share:
    """Execute cells of a planned study, together with other runners, until none is left or a limit is reached.

    Nothing is planned, and only the data of the cells are read, by the paths of the planning machine. A machine that
    lacks data or a package of a cell returns the cell and ends, whereas `run_study`, which has read all data, counts a
    failure. Arguments and Ctrl-C as in `run_study`.

    Args:
        most_cells: Maximum number of cells to start; started cells are finished.
        seconds: Time after which no further cell is started.

    Raises:
        MissingDataError: This machine lacks data or a package; its cells are returned.
        StoreError: The store cannot be written; earlier results are safe.
        UnknownNameError: The study does not exist.
    """
    check_place(store)
    row = store.study(name)
    if row.spec.get("race") is not None:
        raise SettingsError(
            f"{name} is a race, whose runs are chosen on the machine that has its data; use `transferscope run` there "
            "instead"
        )
    counts = store.counts(name)
    if not counts.planned and not counts.running:
        return Share(0, 0, study_status(store, name))
    plan = StudyPlan(row, tuple(stored.cell for stored in store.cells(name)), {})
    with once():
        runner = _run_cells(plan, store, engine, work, on_event, most_cells=most_cells, seconds=seconds, is_guest=True)
    tidy(store, name)
    return Share(runner.done, runner.failed, study_status(store, name))


def _run_cells(
    plan: StudyPlan,
    store: Store,
    engine: EngineSettings,
    work: str,
    on_event: Callable[[Event], None],
    *,
    race: Race | None = None,
    most_cells: float = math.inf,
    seconds: float = math.inf,
    is_guest: bool = False,
) -> "_Runner":
    """Execute the cells of a plan and return the runner. A guest has not loaded the data before."""
    if engine.device != "auto":
        choose_device(engine.device)  # once, here, and not as the failure of every cell
    store.files.mkdir(parents=True, exist_ok=True)
    context = WorkContext(store.files, engine.device, engine.threads, seconds=60.0 * engine.timeout)
    with (
        deferred_interrupt() as interrupt,
        backend_of(engine, work, context, n_cells=len(plan.cells) if race is None else race.n_cells) as backend,
    ):
        runner = _Runner(plan, store, backend, interrupt, on_event, race, engine=engine, is_guest=is_guest)
        runner.left, runner.begins_until = most_cells, time.monotonic() + seconds
        runner.run()
    return runner


def _redo_lost_networks(plan: StudyPlan, store: Store) -> None:
    """Plan pretraining again whose file is missing or damaged and needed by an unfinished cell."""
    if not store.counts(plan.study.name).planned:
        return
    states = {standing.key: standing.state for standing in store.standings(plan.study.name)}
    context = WorkContext(store.files)
    pretrained = {cell.key for cell in plan.cells if cell.role == "pretrain" and states.get(cell.key) == "done"}
    waiting = (cell for cell in plan.cells if pretrained and states.get(cell.key) != "done")
    read = {(key, cell.labels.get("pretrain_step")) for cell in waiting for key in cell.needs if key in pretrained}
    files = {
        (key, step): context.snapshot(key, step) if isinstance(step, int) else context.network(key)
        for key, step in read
    }
    lost = {key for (key, _), file in files.items() if not is_whole(file)}
    store.redo(cell.key for cell in plan.cells if cell.key in lost)


@dataclass
class Interrupt:
    """Whether Ctrl-C was pressed, or the process was asked to end."""

    requested: bool = False
    ends_at_once: bool = False
    """Whether the first one ends what is being done, where the program stands: see `at_once`."""

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let an interruption end the block at once.

        It is also recorded, because Python drops exceptions raised in finalisers and callbacks: the current work may
        continue, but nothing after it. Not for transactions: interrupting a COMMIT leaves a database in an unknown
        state.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed, now or before.
        """
        self.ends_at_once = True
        try:
            self.raise_if_requested()
            yield
        finally:
            self.ends_at_once = False

    def raise_if_requested(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.requested:
            raise KeyboardInterrupt


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Record the first Ctrl-C inside the block without stopping (except within `Interrupt.at_once`); stop at once on
    the second.

    SIGTERM, which batch systems, containers and services send before they kill, counts as one Ctrl-C, however often it
    is sent. Outside the main thread, where signals cannot be handled, this does nothing.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(number: int, _frame: FrameType | None) -> None:
        is_first, interrupt.requested = not interrupt.requested, True
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if interrupt.ends_at_once and (is_first or number == signal.SIGINT):
            raise KeyboardInterrupt

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Runner:
    """One runner of one study, the only writer of its backend's results."""

    def __init__(
        self,
        plan: StudyPlan,
        store: Store,
        backend: Backend,
        interrupt: Interrupt,
        on_event: Callable[[Event], None],
        race: Race | None,
        *,
        engine: EngineSettings,
        is_guest: bool,
    ) -> None:
        self.done = self.failed = 0
        self.stopped: list[PlannedCell] = []
        self.left = self.begins_until = math.inf  # cells that it begins, and the time until which it does
        self._store, self._backend, self._interrupt = store, backend, interrupt
        self._on_event, self._race = on_event, race
        self._engine, self._is_guest = engine, is_guest
        self._asked_after = -1
        self._is_short = True
        self._name = plan.study.name
        self._owner = Owner.current()
        self._over = threading.Event()
        self._is_unheard = False
        self._adopt(plan)
        self._running: dict[str, Claim] = {}
        self._shares: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._slow: dict[str, float] = {}
        self._took: dict[tuple[str, object], list[float]] = {}
        self._claim_due = self._report_due = 0.0
        self._stuck_since: float | None = None
        self._recount_due = time.monotonic() + _RECOUNT_SECONDS

    def _adopt(self, plan: StudyPlan) -> None:
        self._planned = {cell.key: cell for cell in plan.cells}
        self._needed = {need for cell in plan.cells for need in cell.needs}
        self._kept = keys_to_keep(plan.cells, self._engine.keep)
        self._forecast = self._count()

    def run(self) -> None:
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            while self._turn():
                self._interrupt.raise_if_requested()
        except KeyboardInterrupt:
            with suppress(UnreachableError):  # asked once: who has pressed Ctrl-C does not wait for a server
                self._forecast = Forecast(self._planned.values(), self._store.standings(self._name))
            raise KeyboardInterrupt(
                f"stopped with {self._forecast.done} of {self._forecast.total} runs done and stored; the same command "
                "resumes there"
            ) from None
        finally:
            self._over.set()
            beating.join()
            with suppress(StoreError):  # claims of a process that has ended are free in any case
                self._store.release(self._owner)

    def _turn(self) -> bool:
        self._recount()
        self._fill()
        if self._is_short and self._ask_race():
            return True
        if not self._running and (self._is_at_limit() or self._is_over()):
            self._report_due = self._recount_due = 0.0
            self._recount()
            self._report()
            if self.stopped:
                self._on_event(CellsStopped(tuple(self.stopped)))
            return False
        if self._running:
            for message in self._messages():
                self._take(message)
        else:
            self._over.wait(_WAIT_SECONDS)  # for the cells of other runners
        self._report()
        return True

    def _messages(self) -> Iterator[Message]:
        """Yield the backend's messages; an interruption ends work in this process."""
        messages = iter(self._backend.messages(_WAIT_SECONDS))
        while True:
            with self._interrupt.at_once() if self._engine.workers == 0 else nullcontext():
                message = next(messages, None)
            if message is None:
                return
            yield message

    def _ask_race(self) -> bool:
        """Ask the race for the next cells after each finished one, of any runner; return whether any are left."""
        if self._race is None or self._is_at_limit():
            return False
        counts = self._ask(partial(self._store.counts, self._name))
        ended = counts.total - counts.planned - counts.running
        if self._asked_after == ended:
            return False
        self._asked_after = ended
        plan = self._ask(partial(self._race.more, self._store))
        if plan is not None:
            self._extend(plan)
        return plan is not None

    def _extend(self, plan: StudyPlan) -> None:
        self._store.plan(plan.study, plan.cells)
        _redo_lost_networks(plan, self._store)
        self._adopt(plan)
        self._claim_due = 0.0

    def _fill(self) -> None:
        if time.monotonic() < self._claim_due:
            return
        while free := min(self._backend.free, 0 if self._is_at_limit() else self.left):
            began = time.monotonic()
            claims = self._ask(partial(self._claim, int(free)))
            self.left -= len(claims)
            self._running.update({claim.key: claim for claim in claims})  # before anything can go wrong: see `run`
            for claim in claims:
                cell = self._planned.get(claim.key, claim.cell)  # paths to data may differ where another planned it
                choose_device(cell.payload.get("device", "cpu"))
                cell = self._ask(partial(with_chosen, cell, self._store))
                if cell.key in self._kept:
                    cell = replace(cell, payload={**cell.payload, KEEP: self._name})
                self._begun[claim.key] = time.monotonic()
                self._backend.start(cell, until=math.inf if self._race is None else self._race.stops_at)
                _LOG.info("begun: %s, key %s, attempt %d", _words(cell), cell.key[:12], claim.attempt)
            self._is_short = len(claims) < free
            if self._is_short:
                now = time.monotonic()
                self._claim_due = now + max(_CLAIM_SECONDS, _CLAIM_REST * (now - began))
                return
        self._is_short = False

    def _is_at_limit(self) -> bool:
        return self.left <= 0 or time.monotonic() > self.begins_until

    def _is_over(self) -> bool:
        """Return whether all cells are done, failed or blocked, including those of other runners."""
        counts = self._ask(partial(self._store.counts, self._name))
        now = time.monotonic()
        if counts.running or not counts.planned:
            self._stuck_since = None
        elif self._stuck_since is None:
            self._stuck_since = now
        elif now - self._stuck_since > _STUCK_SECONDS and self._claim_due > now:  # and no cell could be claimed
            raise StoreError(
                f"{counts.planned} runs of {self._name} need runs that cannot be made, so the store "
                f"{self._store.place} is damaged; restore it from a copy, or run again with another path"
            )
        return counts.planned + counts.running == 0

    def _take(self, message: Message) -> None:
        if isinstance(message, Advanced):
            self._shares[message.key] = message.share
            return
        claim, began = self._running.pop(message.key), self._begun.pop(message.key, None)
        if isinstance(message, Finished) and began is not None:
            self._took.setdefault(_kind(claim.cell), []).append(time.monotonic() - began)
        self._shares.pop(message.key, None)
        if isinstance(message, Stopped):
            assert self._race is not None
            self.stopped.append(claim.cell)
            self._ask(lambda: self._store.release(self._owner, but=self._running))
            self._extend(self._race.begin(self._store))  # without what is planned, which nobody begins any more
            self._asked_after = -1
            _LOG.info("stopped at the time limit: %s", _words(claim.cell))
            return
        if isinstance(message, Failed) and self._is_guest and message.failure.kind in ("missing", "untrusted"):
            refused = message.failure.kind == "untrusted"
            reason, others = ("does not trust it", "trust it") if refused else ("lacks it", "have it")
            raise (UntrustedCodeError if refused else MissingDataError)(
                f"{message.failure.message} (the runner on {platform.node()} {reason}, and the run is released for "
                f"machines that {others})"
            )
        if isinstance(message, Failed):
            if self._ask(partial(self._store.fail, message.key, message.failure, claim=claim)):
                self.failed += 1
                self._forecast.count_failed(message.key)
                self._on_event(CellFailed(claim.cell, message.failure))
                _LOG.info("failed: %s: %s", _words(claim.cell), message.failure.message)
            return
        is_needed = message.key in self._needed
        finish = partial(self._store.finish, message.key, message.outcome, claim=claim, is_needed=is_needed)
        if not self._ask(finish):
            _LOG.info("dropped, as another runner has taken it over: %s", _words(claim.cell))
            return
        self.done += 1
        self._forecast.count_done(message.key, message.outcome.cost.seconds)
        if is_needed:  # nothing else makes cells ready
            self._claim_due = 0.0
        _LOG.info("done: %s in %.2f s", _words(claim.cell), message.outcome.cost.seconds)

    def _beat(self) -> None:
        """Renew the lease of this runner's claims in a separate thread, since a cell may take minutes."""
        while not self._over.wait(_HEARTBEAT_SECONDS):
            with suppress(StoreError):  # what is wrong with the store is said where it matters
                self._store.heartbeat(self._owner)

    def _count(self) -> Forecast:
        return Forecast(self._planned.values(), self._ask(partial(self._store.standings, self._name)))

    def _claim(self, at_most: int) -> list[Claim]:
        """Claim cells, after releasing claims that a lost connection may have left."""
        if self._is_unheard:
            self._store.release(self._owner, but=self._running)
        self._is_unheard = True
        claims = self._store.claim(self._name, self._owner, at_most=at_most)
        self._is_unheard = False
        return claims

    def _ask(self, question: Callable[[], _T]) -> _T:
        """Query the store, with retries for a limited time while its server cannot be reached."""
        until: float | None = None
        while True:
            try:
                return question()
            except UnreachableError as error:
                if until is None:
                    until = time.monotonic() + _SECONDS_WITHOUT_DATABASE
                    _LOG.warning("%s; this runner asks again for %.0f min", error, _SECONDS_WITHOUT_DATABASE / 60)
                if time.monotonic() > until:
                    raise
            self._interrupt.raise_if_requested()
            self._over.wait(_SECONDS_BETWEEN_QUESTIONS)

    def _recount(self) -> None:
        """Count cells again now and then, since other runners may work on the same study."""
        if time.monotonic() >= self._recount_due:
            self._forecast = self._count()
            self._recount_due = time.monotonic() + _RECOUNT_SECONDS

    def _tell_slow(self) -> None:
        """Report cells that run `_SLOW` times as long as others of their kind, and again at each doubling."""
        for key, claim in self._running.items():
            others = self._took.get(_kind(claim.cell), [])
            seconds = time.monotonic() - self._begun.get(key, math.inf)
            if len(others) < 2 or seconds < _SLOW_SECONDS:
                continue
            times = seconds * len(others) / max(sum(others), 1e-3)
            if times >= self._slow.get(key, _SLOW):
                self._slow[key] = 2 * times
                self._on_event(CellSlow(claim.cell, seconds, times))

    def _report(self) -> None:
        if time.monotonic() < self._report_due:
            return
        self._report_due = time.monotonic() + _WAIT_SECONDS
        self._tell_slow()
        forecast = self._forecast
        progress = (forecast.done, forecast.failed, len(self._running), forecast.total)
        if self._race is not None:
            most = self._race.seconds_left
            self._on_event(StudyProgress(*progress, None if most is None else (0.0, most), is_race=True))
            return
        left = forecast.seconds_left(self._shares, workers=self._backend.size)
        self._on_event(StudyProgress(*progress, left))
