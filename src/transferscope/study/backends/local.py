"""Execution of cells in processes on this machine, each with its own pipe.

The processes share no lock and no queue, so one of them can be killed at any moment (out of memory, by a user) without
affecting the others. Their output, including that of user code, is logged line by line; the command line shows it
without terminal control characters.

On Linux they are forked from a process that has imported torch and the package once, without threads or GPU use. It
ends with the runner, and so do its children.
"""

import logging
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Event, Thread
from types import ModuleType
from typing import Self, cast

import psutil

from transferscope.machine import memory_free
from transferscope.records import Failure
from transferscope.store import PlannedCell
from transferscope.study.backends.backend import (
    Advanced,
    Failed,
    Finished,
    Message,
    Stopped,
    failure_of,
    find_work,
    too_slow,
)
from transferscope.study.backends.devices import WORKERS_PER_GPU, Spread, visible_gpus
from transferscope.study.backends.worker import serve
from transferscope.study.by_role import WORK
from transferscope.study.context import WorkContext

_LOG = logging.getLogger(__name__)

_SECONDS_TO_END = 5.0
_LONGEST_LINE = 1 << 16
_SECONDS_BETWEEN_CHECKS = 0.25
_SECONDS_TO_SAY = 10.0
"""Grace period in which the worker stops a command that takes too long and reports its output."""
_SECONDS_TO_KEEP = 2.0
"""Grace period in which the worker stops a cell whose time is over and keeps its state."""
_SECONDS_STOPPED = 5.0
"""Longest suspension of a worker before it is abandoned; time in which Ctrl-Z also suspends the runner is excluded."""

if sys.platform == "linux":
    _context = multiprocessing.get_context("forkserver")
else:
    _context = multiprocessing.get_context("spawn")


@dataclass
class _Worker:
    """A process, its pipe, and its current cell."""

    process: BaseProcess
    pipe: Connection
    cell: PlannedCell | None = None
    losses: int = 0
    begun: float = 0.0
    until: float = math.inf
    device: str = ""
    stopped_since: float | None = None
    late: str | None = None  # key of the cell that took too long
    stopped: str | None = None  # key of the cell whose time is over


class LocalBackend:
    """Worker processes that execute one cell each at a time and stay alive between cells.

    A cell whose process dies is retried once in a new process; if that dies too, the cell fails as "lost". A process
    stopped by a signal for a while counts as dead.

    Args:
        workers: Number of processes, at least 1, each started when first needed.
        seconds: Timeout of a cell over all attempts; None for no limit.
        spread: Distribution of processes over GPUs, which then determines their number; None for none.

    Raises:
        SettingsError: The named work does not exist.
    """

    def __init__(
        self,
        work: str,
        context: WorkContext,
        *,
        workers: int,
        seconds: float | None = None,
        spread: Spread | None = None,
    ) -> None:
        find_work(work)
        self._spread = spread
        self._work = work
        self._context = context
        self._size = workers
        self._seconds = seconds
        self._over = Event()
        self._printed, self._output = _context.Pipe(duplex=False)
        self._workers: list[_Worker] = []

    @property
    def size(self) -> int:
        """The number of cells executed at a time."""
        return self._size if self._spread is None else self._spread.size

    @property
    def free(self) -> int:
        """The number of cells that could be started now."""
        return max(0, self.size - sum(worker.cell is not None for worker in self._workers))

    def start(self, cell: PlannedCell, *, until: float = math.inf) -> None:
        """Start a cell, which is stopped at a time of `time.monotonic`; `free` must be at least 1."""
        idle = next((worker for worker in self._workers if worker.cell is None), None)
        begun = time.monotonic()
        if idle is None or not _give(idle, cell, begun=begun, until=until):
            self._start_anew(idle, cell, losses=0, begun=begun, until=until)

    def messages(self, timeout: float) -> Iterator[Message]:
        """Yield the messages since the last call, waiting at most `timeout` seconds for one; possibly none."""
        busy = {worker.pipe: worker for worker in self._workers if worker.cell is not None}
        for pipe in wait(list(busy), timeout):
            message = self._receive(busy[cast(Connection, pipe)])
            if message is not None:
                yield message

    def __enter__(self) -> Self:
        Thread(target=self._watch, daemon=True).start()
        self._reader = Thread(target=_log_lines, args=(self._printed,), daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._over.set()
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()  # an idle worker would end by itself, but a busy machine makes it slow
        for worker in self._workers:
            _end(worker.process)
        self._workers.clear()
        self._output.close()
        self._reader.join(_SECONDS_TO_END)  # a process that a worker began may outlive it, and hold the pipe

    def _receive(self, worker: _Worker) -> Message | None:
        cell = worker.cell
        assert cell is not None
        try:
            message: Message = worker.pipe.recv()
        except (EOFError, OSError):
            return self._ended(worker, cell)
        except Exception as error:  # what was sent cannot be unpickled here
            message = Failed(cell.key, failure_of(error))
        if not isinstance(message, Advanced):
            worker.cell, worker.losses = None, 0
        if isinstance(message, Finished) and self._spread is not None:
            self._spread.measured(message.outcome.cost.peak_memory)
        return message

    def _watch(self) -> None:
        """Kill the workers whose cell exceeds its timeout, and those that a signal has stopped.

        Runs in its own thread, because a worker can be stopped in the middle of a message.
        """
        while not self._over.wait(_SECONDS_BETWEEN_CHECKS):
            now = time.monotonic()
            for worker in tuple(self._workers):
                cell = worker.cell
                if cell is None:
                    continue
                grace = _SECONDS_TO_SAY if cell.role == "command" else 0.0
                if self._seconds is not None and now - worker.begun > self._seconds + grace:
                    worker.late = cell.key
                    worker.process.kill()  # its pipe ends, which is heard next
                elif now > worker.until + _SECONDS_TO_KEEP:
                    worker.stopped = cell.key
                    worker.process.kill()
                elif not _is_stopped(worker.process):
                    worker.stopped_since = None
                elif worker.stopped_since is None:
                    worker.stopped_since = now
                elif now - worker.stopped_since > _SECONDS_STOPPED:
                    worker.process.kill()

    def _ended(self, worker: _Worker, cell: PlannedCell) -> Failed | Stopped | None:
        """Handle a cell whose process has died: retry it once, fail it the second time or after its timeout."""
        late = worker.late == cell.key
        stopped = worker.stopped == cell.key
        if worker.losses == 0 and not late and not stopped:
            self._start_anew(worker, cell, losses=1, begun=worker.begun, until=worker.until)
            return None
        worker.pipe.close()
        _end(worker.process)
        self._workers.remove(worker)
        if stopped:
            return Stopped(cell.key)
        if late and self._seconds is not None:
            return Failed(cell.key, Failure("timeout", too_slow(self._seconds)))
        return Failed(cell.key, _lost(worker.process.exitcode))

    def _start_anew(self, dead: _Worker | None, cell: PlannedCell, *, losses: int, begun: float, until: float) -> None:
        if dead is not None:
            dead.pipe.close()
            _end(dead.process)
            self._workers.remove(dead)
        here, there = _context.Pipe()
        context = self._context
        if self._spread is not None:
            context = replace(context, device=self._spread.next(worker.device for worker in self._workers))
        if self._work == WORK and cell.role != "command":
            _context.set_forkserver_preload(["transferscope.study.backends.preload"])
        resource_tracker.ensure_running()  # which lets interrupts through when it starts
        with _without_main(), _without_interrupts(), _environment(context.thread_variables):
            process = _context.Process(
                target=serve, args=(there, self._output, self._work, context, dict(os.environ)), daemon=True
            )
            process.start()
        there.close()  # so that the end of the process is the end of the pipe
        worker = _Worker(process, here, losses=losses, device=context.device)
        self._workers.append(worker)
        _give(worker, cell, begun=begun, until=until)
        worker.cell = cell  # should it be dead already, that is heard at once


def _log_lines(printed: Connection) -> None:
    """Log worker output until no process can write any more."""
    with os.fdopen(os.dup(printed.fileno()), encoding="utf-8", errors="replace") as lines:
        printed.close()
        while line := lines.readline(_LONGEST_LINE):
            _LOG.warning("%s", line.rstrip("\n"))


def _is_stopped(process: BaseProcess) -> bool:
    try:
        return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def _give(worker: _Worker, cell: PlannedCell, *, begun: float, until: float) -> bool:
    """Send a cell with its start time to a worker; return whether it was alive."""
    worker.begun, worker.until, worker.stopped_since = begun, until, None
    try:
        worker.pipe.send((cell, until))
    except OSError:
        return False
    worker.cell = cell
    return True


def _end(process: BaseProcess) -> None:
    process.join(_SECONDS_TO_END)
    if process.is_alive():
        process.kill()
        process.join()


def _lost(exit_code: int | None) -> Failure:
    how = f"signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"exit code {exit_code}"
    if exit_code == -signal.SIGKILL:
        how += ", as the system does when memory runs out"
    message = f"the process of this run ended twice before its time ({how}); use fewer workers, and run again"
    return Failure("lost", message)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _without_main() -> Iterator[None]:
    """Prevent processes started inside the block from running the caller's script again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C in processes started inside the block from their first moment on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


BYTES_PER_WORKER = 1_500_000_000
"""Memory reserved per worker: torch, a data set and its network."""


def default_workers(device: str) -> int:
    """Return one process per physical core as memory allows, at least 1, or a few per GPU."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(psutil.cpu_count(logical=False) or usable, usable)
    room = memory_free() // BYTES_PER_WORKER
    limit = WORKERS_PER_GPU * max(1, len(visible_gpus(device))) if device != "cpu" and _has_accelerator() else cores
    return max(1, min(cores, room, limit))


def _has_accelerator() -> bool:
    import torch

    return torch.cuda.is_available() or torch.backends.mps.is_available()
