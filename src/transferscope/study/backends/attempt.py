"""Doing one cell, and turning whatever goes wrong into a stored failure."""

import traceback
from importlib import import_module

from transferscope.errors import SettingsError, TransferscopeError
from transferscope.records import Failure, FailureKind
from transferscope.store import PlannedCell
from transferscope.study.backends.backend import Failed, Finished
from transferscope.study.context import Work, WorkContext

_MEMORY_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory")


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
    """Do a cell; every exception but an interruption becomes its failure."""
    try:
        outcome = work(cell, context)
    except Exception as error:
        return Failed(cell.key, failure_of(error))
    if outcome.notes.get("status") == "non_finite":
        message = "the loss stopped being a finite number during training; try a smaller learning rate"
        return Failed(cell.key, Failure("non_finite", message))
    return Finished(cell.key, outcome)


def failure_of(error: Exception) -> Failure:
    """What the store keeps of an exception."""
    details = "".join(traceback.format_exception(error))
    message = " ".join(str(error).split()) or type(error).__name__
    match _kind(error):
        case "out_of_memory":
            return Failure(
                "out_of_memory", f"the memory ran out ({message}); use fewer workers or smaller batches", details
            )
        case "exception":
            return Failure("exception", f"{type(error).__name__}: {message}", details)
        case kind:
            return Failure(kind, message, details)


def _kind(error: Exception) -> FailureKind:
    if isinstance(error, TransferscopeError):
        return "bad_input"
    if isinstance(error, FloatingPointError):
        return "non_finite"
    if isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _MEMORY_SIGNS):
        return "out_of_memory"
    return "exception"
