"""Every fact once: what a command reads, opens or tries is kept while it lasts, for all of its steps.

A name of data or of a network goes through study files, plans, runs and pages, and what it means goes with it here.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Made = TypeVar("Made")

_KEPT: ContextVar[dict[tuple[bool, object, Hashable], object] | None] = ContextVar("kept", default=None)


@contextmanager
def once() -> Iterator[None]:
    """Keep what functions marked `made_once` return, until the end; a block within another shares what that has."""
    given = _KEPT.get()
    token = _KEPT.set({} if given is None else given)
    try:
        yield
    finally:
        _KEPT.reset(token)


def keep_from_now() -> None:
    """Keep it for the rest of a process that does the cells of one study."""
    if _KEPT.get() is None:
        _KEPT.set({})


def made_once(key: Callable[P, Hashable], *, passing: bool = False) -> Callable[[Callable[P, Made]], Callable[P, Made]]:
    """Mark a function whose result is made once within `once`, and outside of it each time.

    Args:
        key: What its result depends on, of its arguments.
        passing: Whether `let_go` lets go of it, as of what data are made of.
    """

    def marked(function: Callable[P, Made]) -> Callable[P, Made]:
        @wraps(function)
        def make(*given: P.args, **named: P.kwargs) -> Made:
            kept = _KEPT.get()
            if kept is None:
                return function(*given, **named)
            name = (passing, function, key(*given, **named))
            if name not in kept:
                kept[name] = function(*given, **named)
            return kept[name]  # type: ignore[return-value]

        return make

    return marked


def let_go() -> None:
    """Let go of what later steps do not ask for, once data or results are read."""
    kept = _KEPT.get() or {}
    for name in [name for name in kept if name[0]]:
        del kept[name]
