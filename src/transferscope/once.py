"""Cache of a command: what it reads, opens or tests is kept for all of its steps.

A name of data or of a network is used by study files, plans, runs and pages, and is resolved once.
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
    """Cache results of functions marked `made_once` inside the block; nested blocks share the cache."""
    given = _KEPT.get()
    token = _KEPT.set({} if given is None else given)
    try:
        yield
    finally:
        _KEPT.reset(token)


def keep_from_now() -> None:
    """Cache results for the rest of a process that executes the cells of one study."""
    if _KEPT.get() is None:
        _KEPT.set({})


def made_once(key: Callable[P, Hashable], *, passing: bool = False) -> Callable[[Callable[P, Made]], Callable[P, Made]]:
    """Mark a function whose result is cached within `once`.

    Args:
        key: Cache key of its arguments.
        passing: Whether `let_go` removes it from the cache, as for raw data.
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
    """Remove results that later steps do not need from the cache."""
    kept = _KEPT.get() or {}
    for name in [name for name in kept if name[0]]:
        del kept[name]
