"""Doing one cell, and turning whatever goes wrong into a stored failure."""

import errno
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

from threadpoolctl import threadpool_limits

from transferscope.errors import SettingsError, StoreError, TransferscopeError
from transferscope.records import Failure, FailureKind
from transferscope.store import PlannedCell, check_outcome
from transferscope.study.backends.backend import Failed, Finished
from transferscope.study.context import CellTimeout, Work, WorkContext

_MEMORY_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory")
_DISK_SIGNS = ("no space left on device", "disk quota exceeded", "file write failed")  # the last one is torch's


def find_work(name: str) -> Work:
    """The function with a dotted name, as in "package.module:function".

    Raises:
        SettingsError: There is none.
    """
    module, _, function = name.partition(":")
    try:
        work: Work = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"{name!r} names no work; expected package.module:function ({error})") from error
    return work


def attempt(work: Work, cell: PlannedCell, context: WorkContext) -> Finished | Failed:
    """Do a cell; every exception but an interruption becomes its failure, and so does what cannot be stored.

    A cell that was planned for a number of threads or a device is done with those, whoever does it.
    """
    context = replace(
        context,
        threads=cell.payload.get("threads", context.threads),
        device=cell.payload.get("device", context.device),
    )
    try:
        with thread_limit(context.threads):
            found: object = work(cell, context)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # code of another package may raise anything
        return Failed(cell.key, failure_of(error))
    try:
        outcome = check_outcome(found)
    except StoreError as error:
        return Failed(cell.key, Failure("exception", str(error)))
    if outcome.notes.get("status") == "non_finite":
        message = "the loss stopped being a finite number during training; try a smaller learning rate"
        return Failed(cell.key, Failure("non_finite", message))
    return Finished(cell.key, outcome)


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Compute with so many threads, in torch and in the libraries below NumPy and SciPy; the same as before afterwards.

    Sums of floating-point numbers depend on how they are divided among threads.

    Args:
        threads: At least 1.
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
    """What the store keeps of an exception."""
    details = "".join(traceback.format_exception(error))
    try:
        message = " ".join(str(error).split()) or type(error).__name__
    except Exception:  # an exception whose text cannot be made
        message = type(error).__name__
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
    if isinstance(error, TransferscopeError):
        return "bad_input"
    if isinstance(error, FloatingPointError):
        return "non_finite"
    if isinstance(error, MemoryError) or any(sign in message for sign in _MEMORY_SIGNS):
        return "out_of_memory"
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "disk_full" if full or any(sign in message for sign in _DISK_SIGNS) else "exception"
