"""A separate program that starts a command and ends it, with all its children, when the worker has ended.

A killed process cleans up nothing, so its children would continue to run next to those of its successor. This one holds
the reading end of a pipe that the system closes when the worker ends for any reason. It imports no package, to start
quickly: `python -I -S guard.py ALIVE REPORT COMMAND...`. It uses only modules of the standard library that import
quickly, so not `typing` or `contextlib`.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
_SECONDS_TO_KILL = 10.0
_NOT_STARTED = 127


def guard(alive: int, report: int, words: list[str]) -> "NoReturn":
    """Run a command until it ends, or until the other end of a pipe is closed.

    Args:
        alive: Reading end of a pipe; when it is closed, the command and all its descendants are killed.
        report: Descriptor to which the process id is written at the start, and at the end the exit status as in
            `os.waitstatus_to_exitcode` and the peak memory of any process of the command in bytes.
        words: The program, searched on the PATH, and its arguments.
    """
    for descriptor in (alive, report):
        os.set_inheritable(descriptor, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what loses its parent becomes a child of this process
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    asked_to_end = False

    def note(number: int, _frame: FrameType | None) -> None:
        nonlocal asked_to_end
        asked_to_end = asked_to_end or number != signal.SIGCHLD

    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, note)
    parent, child = os.getpid(), os.fork()
    if child == 0:
        _become(words, parent)
    _say(report, f"{child}")
    status = None
    while status is None and not asked_to_end:
        ready, _, _ = select.select([alive, woken], [], [])
        if alive in ready:
            break
        os.read(woken, 4096)
        status = _reaped().get(child)
    _kill_all(child)
    if status is not None:
        unit = 1 if sys.platform == "darwin" else 1024
        peak = unit * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        _say(report, f"{status} {peak}")
    os._exit(0)


def _say(report: int, line: str) -> None:
    try:  # noqa: SIM105
        os.write(report, f"{line}\n".encode())
    except OSError:  # nobody is there any more, which `alive` says too
        pass


def _become(words: list[str], parent: int) -> "NoReturn":
    """Replace this process by the command, in its own session."""
    try:
        os.setsid()
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            os.execvp(words[0], words)
    except OSError as error:
        os.write(2, f"{words[0]} cannot be started: {error.strerror}\n".encode())
    os._exit(_NOT_STARTED)


def _kill_all(child: int) -> None:
    until = time.monotonic() + _SECONDS_TO_KILL
    while (left := _descendants(os.getpid(), child)) and time.monotonic() < until:
        for process in left:
            try:  # noqa: SIM105
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        _reaped()
        time.sleep(0.005)


def _reaped() -> dict[int, int]:
    """Return the exit codes of the children that have ended since the last call."""
    statuses: dict[int, int] = {}
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses
        if process == 0:
            return statuses
        statuses[process] = os.waitstatus_to_exitcode(status)


def _descendants(of: int, child: int) -> list[int]:
    """Return the descendants of a process, except zombies.

    Without /proc, the process group of the child, as a negative number.
    """
    try:
        names = os.listdir("/proc")  # noqa: PTH208  # pathlib takes longer to import than all else
    except OSError:
        return [] if child in _killed_groups else [_killed_groups.setdefault(child, -child)]
    parents = {}
    for name in names:
        if not name.isdigit():
            continue
        try:
            descriptor = os.open(f"/proc/{name}/stat", os.O_RDONLY)
            try:
                state, parent = os.read(descriptor, 4096).rpartition(b")")[2].split()[:2]
            finally:
                os.close(descriptor)
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        if state not in (b"Z", b"X"):
            parents[int(name)] = int(parent)
    below_it, waiting = [], [of]
    while waiting:
        above = waiting.pop()
        below = [process for process, parent in parents.items() if parent == above]
        below_it += below
        waiting += below
    return below_it


_killed_groups: dict[int, int] = {}


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux" and (prctl := getattr(ctypes.CDLL(None), "prctl", None)) is not None:
        prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    guard(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
