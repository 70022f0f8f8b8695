"""The exceptions of transferscope.

    TransferscopeError
    ├── DataError            (ValueError)         the data cannot be used as they are
    │   ├── MissingDataError (FileNotFoundError)  a file or data set does not exist
    │   └── CorruptDataError                      a file is corrupt or has the wrong format
    ├── SettingsError        (ValueError)         a setting is wrong: unknown key, wrong type, out of range
    │   └── UnknownNameError                      an unknown name, with the nearest existing ones
    ├── UntrustedCodeError   (RuntimeError)       a file or store names code that the person has not allowed to run
    ├── NetworkError         (ValueError)         a network lacks what is required, or a checkpoint does not match it
    ├── StoreError           (RuntimeError)       the results cannot be read or written
    │   └── UnreachableError                      the database server does not answer, or the connection to it was lost
    └── MissingExtraError    (ImportError)        an optional package is needed; the message says how to install it

Every message is one or two sentences: what is wrong, what was expected, what to do next. The command line prints it and
exits with status 2. Any other exception is a bug: its traceback goes to a file.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T")


class TransferscopeError(Exception):
    """The base of all intended errors of transferscope."""


class DataError(TransferscopeError, ValueError):
    """The data cannot be used."""


class MissingDataError(DataError, FileNotFoundError):
    """A file or data set does not exist."""


class CorruptDataError(DataError):
    """A file exists but is corrupt or has the wrong format."""


class SettingsError(TransferscopeError, ValueError):
    """A setting is invalid: an unknown key, a wrong type, a value out of range."""


class UnknownNameError(SettingsError):
    """A name is unknown."""


class UntrustedCodeError(TransferscopeError, RuntimeError):
    """A file, folder or store names code that the person has not allowed."""


class NetworkError(TransferscopeError, ValueError):
    """A network does not support what is required, or a checkpoint does not fit it."""


class StoreError(TransferscopeError, RuntimeError):
    """The results cannot be read or written."""


class DamagedRunError(StoreError):
    """The stored outcome of a run was changed."""


class UnreachableError(StoreError):
    """The database server does not answer, or the connection was lost; it may recover within a minute."""


class MissingExtraError(TransferscopeError, ImportError):
    """An optional package is missing."""


def unknown_name(kind: str, seen: str, valid: Iterable[str]) -> UnknownNameError:
    """Return the error for an unknown name, with near matches; kind as in "key in [training]"."""
    names = sorted(valid)
    near = get_close_matches(seen, names, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(repr(name) for name in near)}? " if near else ""
    known = f"known are {', '.join(names)}" if names else "there is none yet"
    return UnknownNameError(f"unknown {kind} {seen!r}: {hint}{known}")


def missing_file(kind: str, path: object, advice: str) -> MissingDataError:
    """Return the error for a file or folder that does not exist; kind as in "study file"."""
    return MissingDataError(f"there is no {kind} {path}; {advice}")


def out_of_range(
    name: str, value: object, expected: str, kind: type[TransferscopeError] = SettingsError
) -> TransferscopeError:
    """Return the error for a value beyond its range; expected as in "a number above 0"."""
    return kind(f"{name} = {value} is out of range; expected {expected}")


def wrong_shape(what: str, array: Any, expected: str) -> DataError:
    """Return the error for an array or tensor of another shape or type; what is a plural, as in "class labels"."""
    return DataError(f"{what} have shape {tuple(array.shape)} and type {array.dtype}; expected {expected}")


def unsupported(what: str, needs: str, seen: str) -> DataError:
    """Return the error for a method, score or diagnostic that does not suit the data."""
    return DataError(f"{what} needs {needs}, but {seen}; leave it out")


def each_once(pairs: Iterable[tuple[str, T]], kind: str) -> dict[str, T]:
    """Return values by their unique names, of a kind as in "role of --columns".

    Raises:
        SettingsError: A name is given twice.
    """
    once: dict[str, T] = {}
    for name, value in pairs:
        if name in once:
            raise SettingsError(f"the {kind} {name!r} is given twice; give each once")
        once[name] = value
    return once


def refuse_unused(given: Mapping[str, bool], why: str) -> None:
    """Refuse arguments that would not be used.

    Args:
        given: Whether each option or argument was given, by name.
        why: Reason, as in "a finished study says which networks are rated".
    """
    for name, is_given in given.items():
        if is_given:
            raise SettingsError(f"{why}, and {name} was given too; leave it out")


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """Return the error for a missing package of an extra; purpose as in "reading parquet"."""
    return MissingExtraError(f"{purpose} needs the package {package}: pip install 'transferscope[{extra}]'")


def first_line(error: Exception) -> str:
    """Return the first line of another package's exception."""
    return next(iter(str(error).strip().splitlines()), "") or f"it raised {type(error).__name__}"
