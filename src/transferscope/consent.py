"""Which code a person has allowed to be imported and run.

A reference, "package.module:name" or "path/to/file.py:name", is executable code. It is run only if the user wrote it:
on the command line, in a study file named on the command line, or in a Python program. Other code named by a file,
folder or store is refused without `--trust-code`, or `trust_code=True` in Python.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import unquote

from transferscope.errors import UntrustedCodeError

P = ParamSpec("P")
T = TypeVar("T")

REFERENCE = re.compile(r"([A-Za-z_]\w*(\.[A-Za-z_]\w*)*|[^:]*\.py):[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

_BETWEEN_NAMES = re.compile("[=?&,]")
"""Signs between the names in one text, as in "half-images:mine.py:photos?parts=A" or "NAME=mine.py:net"."""


@dataclass
class Consent:
    """The code that a person has allowed; it is pickled into the worker processes of a run.

    Attributes:
        given: References written by the user, with absolute paths.
        is_needed: Whether others are refused, since names are being read from files.
        to_all: Whether the user trusts all code named by files.
    """

    given: set[str] = field(default_factory=set)
    is_needed: bool = False
    to_all: bool = False


_program = Consent()
"""Consent of the process, for all threads; code of a Python program itself needs none."""

_READING: ContextVar[Consent] = ContextVar("consent while files are read")


def current() -> Consent:
    """Return the current consent."""
    return _READING.get(_program)


def require(kind: str, name: str) -> None:
    """Refuse a reference that was not allowed; kind as in "network".

    Raises:
        UntrustedCodeError: It is named by a file or store, and the user neither wrote it nor trusts it.
    """
    consent, reference = current(), _absolute(name)
    if consent.is_needed and not consent.to_all and reference not in consent.given:
        raise UntrustedCodeError(
            f"a file or store names the {kind} {name!r}, which is code, so it is not run; if you trust its author, "
            "give its study file by name, or --trust-code (trust_code=True in Python)"
        )
    consent.given.add(reference)


def allow(name: str) -> None:
    """Allow one reference, or one command, in a file that a person has named."""
    current().given.add(_absolute(name))


def give(value: object, folder: Path | None = None) -> None:
    """Allow the references that a person wrote: a text, or texts in lists, mappings and dataclasses.

    Args:
        folder: Base of relative paths; None for the working directory.
    """
    given, waiting = current().given, [value]  # a study file may be nested deeper than functions may call themselves
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            for part in {part for text in (one, unquote(one)) for part in _BETWEEN_NAMES.split(text)}:
                name = ":".join(part.rsplit(":", 2)[-2:])  # what stands before is a kind of data
                if REFERENCE.fullmatch(name):
                    given.add(_absolute(name, folder))
        elif isinstance(one, Mapping):
            waiting += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif is_dataclass(one) and not isinstance(one, type):
            waiting += [getattr(one, item.name) for item in fields(one)]


@contextmanager
def typed(arguments: Iterable[str], *, trust_code: bool) -> Iterator[None]:
    """Run a command: only its arguments are allowed, in every thread, unless `trust_code`."""
    global _program
    before, _program = _program, Consent(set(), is_needed=True, to_all=trust_code)
    token = _READING.set(_program)
    try:
        give(list(arguments))
        yield
    finally:
        _READING.reset(token)
        _program = before


@contextmanager
def reading(*, trust_code: bool = False) -> Iterator[None]:
    """Read names from a file or store: only what the person wrote is allowed, unless `trust_code`."""
    outer = current()
    with held(Consent(outer.given, is_needed=True, to_all=outer.to_all or trust_code)):
        yield


@contextmanager
def held(consent: Consent) -> Iterator[None]:
    """Make this the current consent, as in a worker process."""
    token = _READING.set(consent)
    try:
        yield
    finally:
        _READING.reset(token)


def reads_code(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function that reads names from files: its arguments are allowed, and `trust_code` is one of them."""

    @wraps(verb)
    def reader(*args: P.args, **kwargs: P.kwargs) -> T:
        if not current().is_needed:  # a command has said already what was typed
            give([*args, *kwargs.values()])
        with reading(trust_code=kwargs.get("trust_code") is True):
            return verb(*args, **kwargs)

    return reader


def _absolute(name: str, folder: Path | None = None) -> str:
    where, _, path = name.rpartition(":")
    if not where.endswith(".py"):
        return name
    try:
        return f"{((folder or Path()) / Path(where).expanduser()).resolve()}:{path}"
    except (OSError, ValueError, RuntimeError):  # no path that there could be; what opens it says so
        return name
