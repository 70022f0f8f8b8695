"""The execution of one cell, its messages, and the backend of this process."""

import errno
import math
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Self

from threadpoolctl import threadpool_limits

from transferscope.consent import held
from transferscope.errors import (
    MissingDataError,
    MissingExtraError,
    SettingsError,
    StoreError,
    TransferscopeError,
    UntrustedCodeError,
)
from transferscope.records import Failure, FailureKind
from transferscope.store import Outcome, PlannedCell, check_outcome
from transferscope.study.context import CellStopped, CellTimeout, RunFailed, Work, WorkContext


@dataclass(frozen=True, slots=True)
class Advanced:
    """Progress of a cell: `share`, in [0, 1], is done."""

    key: str
    share: float


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished cell."""

    key: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed cell."""

    key: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class Stopped:
    """A cell that was stopped at its deadline."""

    key: str


Message = Advanced | Finished | Failed | Stopped


def too_slow(seconds: float) -> str:
    """Return the message for a cell that exceeded its timeout."""
    return (
        f"the run was stopped after {seconds / 60:g} minutes; raise timeout in the study file and run again with "
        "--retry-failed, which resumes at its last checkpoint and starts a command again"
    )


_MEMORY_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory")
_DISK_SIGNS = ("no space left on device", "disk quota exceeded", "file write failed")  # the last one is torch's


def find_work(name: str) -> Work:
    """Return the function with a dotted name, as in "package.module:function"; raises SettingsError if missing."""
    module, _, function = name.partition(":")
    try:
        work: Work = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"{name!r} cannot be imported ({error}); expected package.module:function") from error
    return work


def attempt(work: Work, cell: PlannedCell, context: WorkContext) -> Finished | Failed:
    """Execute a cell; every exception except an interruption becomes its failure, and so does an unstorable outcome.

    A cell planned for a number of threads or a device is executed with these on every runner.
    """
    planned = cell.payload.get("device", context.device)  # "cuda"; which one, the worker knows
    own = context.device.partition(":")[0] == planned
    context = replace(
        context,
        threads=cell.payload.get("threads", context.threads),
        device=context.device if own else planned,
    )
    try:
        with thread_limit(context.threads), held(context.consent):
            returned: object = work(cell, context)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # code of another package may raise anything
        return Failed(cell.key, failure_of(error))
    try:
        outcome = check_outcome(returned)
    except StoreError as error:
        return Failed(cell.key, Failure("exception", str(error)))
    if outcome.notes.get("status") == "non_finite":
        message = (
            "the loss stopped being a finite number during training; try a smaller learning rate, or where the method "
            "adds a penalty to the loss a smaller weight of it (beta of delta, l2-sp and distill)"
        )
        return Failed(cell.key, Failure("non_finite", message))
    return Finished(cell.key, outcome)


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Limit torch and the libraries below NumPy and SciPy to a number of threads, at least 1, inside the block.

    Floating-point sums depend on the number of threads.
    """
    torch = sys.modules.get("torch")  # only if the work uses it
    before = None if torch is None else torch.get_num_threads()
    with threadpool_limits(limits=threads):
        if torch is not None:
            torch.set_num_threads(threads)
        try:
            yield
        finally:
            if torch is not None and before is not None:
                torch.set_num_threads(before)


def failure_of(error: BaseException) -> Failure:
    """Return the stored failure of an exception."""
    details = "".join(traceback.format_exception(error))
    try:
        message = " ".join(str(error).split()) or type(error).__name__
    except Exception:  # an exception whose text cannot be made
        message = type(error).__name__
    if isinstance(error, RunFailed):
        return Failure(error.kind or _kind(error, message.lower()), message, error.output)
    match _kind(error, message.lower()):
        case "out_of_memory":
            return Failure(
                "out_of_memory", f"the memory ran out ({message}); use fewer workers or smaller batches", details
            )
        case "disk_full":
            return Failure("disk_full", f"the disk is full ({message}); free some space and run again", details)
        case "exception":
            return Failure("exception", f"{type(error).__name__}: {message}", details)
        case kind:
            return Failure(kind, message, details)


def _kind(error: BaseException, message: str) -> FailureKind:
    if isinstance(error, CellTimeout):
        return "timeout"
    if isinstance(error, MissingDataError | MissingExtraError):
        return "missing"
    if isinstance(error, TransferscopeError):
        return "untrusted" if isinstance(error, UntrustedCodeError) else "bad_input"
    if isinstance(error, FloatingPointError):
        return "non_finite"
    if isinstance(error, MemoryError) or any(sign in message for sign in _MEMORY_SIGNS):
        return "out_of_memory"
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "disk_full" if full or any(sign in message for sign in _DISK_SIGNS) else "exception"


class InlineBackend:
    """Executes one cell at a time while its messages are read.

    Args:
        seconds: Timeout of a cell, effective only if it reports progress. None for no limit.

    Raises:
        SettingsError: The named work does not exist.
    """

    def __init__(self, work: str, context: WorkContext, *, seconds: float | None = None) -> None:
        self._work = find_work(work)
        self._context = context
        self._seconds = seconds
        self._cell: PlannedCell | None = None
        self._until = math.inf

    @property
    def size(self) -> int:
        """The number of cells executed at a time."""
        return 1

    @property
    def free(self) -> int:
        """The number of cells that could be started now."""
        return 1 if self._cell is None else 0

    def start(self, cell: PlannedCell, *, until: float = math.inf) -> None:
        """Start a cell, which is stopped at a time of `time.monotonic`; `free` must be 1."""
        self._cell, self._until = cell, until

    def messages(self, timeout: float) -> Iterator[Message]:
        """Execute the started cell to its end, or until it reports progress after its deadline."""
        cell, self._cell = self._cell, None
        if cell is not None:
            begun = time.monotonic()

            def watch(done: int, total: int) -> None:
                if time.monotonic() > self._until:
                    raise CellStopped
                if self._seconds is not None and time.monotonic() - begun > self._seconds:
                    raise CellTimeout(too_slow(self._seconds))

            try:
                message: Message = attempt(self._work, cell, replace(self._context, progress=watch))
            except CellStopped:
                message = Stopped(cell.key)
            yield message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._cell = None
