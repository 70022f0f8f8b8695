"""The loop of a worker process: cells and messages pass through a pipe, and nothing is shared."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

import numpy as np

from transferscope.machine import keep_freed_memory
from transferscope.once import keep_from_now
from transferscope.study.backends.backend import Advanced, Failed, Message, Stopped, attempt, failure_of, find_work
from transferscope.study.context import CellStopped, WorkContext

_SECONDS_BETWEEN_REPORTS = 0.2
_PR_SET_PDEATHSIG = 1  # of prctl(2)


def serve(
    pipe: Connection, output: Connection, work: str, context: WorkContext, environment: Mapping[str, str]
) -> None:
    """Execute cells until the pipe closes. Loaded data stay loaded from cell to cell.

    Args:
        output: Destination of printed output of this process and its children.
        environment: Current environment of the runner; this process may be forked from one with an older one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides what an interruption means
    _print_to(output)
    os.environ.clear()
    os.environ.update(environment)
    np.random.seed()  # noqa: NPY002  # or code of others draws the same in all processes of one origin
    _let_the_server_end()
    _die_with_parent()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_freed_memory()
    function = find_work(work)
    keep_from_now()
    while True:
        try:
            cell, until = pipe.recv()
        except (EOFError, ConnectionError):  # the runner is gone
            return
        try:
            result: Message = attempt(function, cell, replace(context, progress=_Reporter(pipe, cell.key, until)))
        except CellStopped:
            result = Stopped(cell.key)
        try:
            pipe.send(result)
        except (ConnectionError, BrokenPipeError):  # the runner is gone
            return
        except Exception as error:  # the outcome holds an object that cannot be pickled
            pipe.send(Failed(cell.key, failure_of(error)))


def _print_to(output: Connection) -> None:
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    output.close()
    # new ones: those that are there may take the pipe for the file that they were opened on
    sys.stdout, sys.stderr = (
        os.fdopen(number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        for number in (1, 2)
    )


class _Reporter:
    """Reports the progress of a cell to the runner, a few times a second, and stops it at its deadline."""

    def __init__(self, pipe: Connection, key: str, until: float) -> None:
        self._pipe = pipe
        self._key = key
        self._until = until
        self._due = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() > self._until:
            raise CellStopped
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _SECONDS_BETWEEN_REPORTS
            self._pipe.send(Advanced(self._key, done / max(total, 1)))


def _end_with_parent() -> None:
    """End this process with the runner, whose successor may execute the same cell."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _let_the_server_end() -> None:
    """Close the inherited pipe that would keep the parent process alive after its runner is killed.

    Python passes this pipe to each process for its children, which workers may not have.
    """
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    held = getattr(server, "_forkserver_alive_fd", None)
    if server is not None and held is not None:
        os.close(held)
        server._forkserver_alive_fd = None


def _die_with_parent() -> None:
    """Have Linux kill this process with its parent, which ends with the runner, even if this process is stopped."""
    if sys.platform == "linux":
        prctl = getattr(ctypes.CDLL(None), "prctl", None)
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
