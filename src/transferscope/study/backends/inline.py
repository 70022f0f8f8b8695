"""Cells in this very process, one after the other: for tests, debugging and tiny studies."""

import time
from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Self

from transferscope.store import PlannedCell
from transferscope.study.backends.attempt import attempt, find_work
from transferscope.study.backends.backend import Message, too_slow
from transferscope.study.context import CellTimeout, WorkContext


class InlineBackend:
    """Does one cell at a time, while its messages are waited for.

    Args:
        work: Dotted name of the work.
        context: Where cells are done.
        seconds: How long a cell may take; one that tells no progress cannot be stopped here. None for no limit.

    Raises:
        SettingsError: Nothing answers to the name.
    """

    def __init__(self, work: str, context: WorkContext, *, seconds: float | None = None) -> None:
        self._work = find_work(work)
        self._context = context
        self._seconds = seconds
        self._cell: PlannedCell | None = None

    @property
    def free(self) -> int:
        """See `Backend`."""
        return 1 if self._cell is None else 0

    def start(self, cell: PlannedCell) -> None:
        """See `Backend`."""
        self._cell = cell

    def messages(self, timeout: float) -> Iterator[Message]:
        """See `Backend`; a cell is done to its end, however long that takes."""
        cell, self._cell = self._cell, None
        if cell is not None:
            begun = time.monotonic()

            def watch(done: int, total: int) -> None:
                if self._seconds is not None and time.monotonic() - begun > self._seconds:
                    raise CellTimeout(too_slow(self._seconds))

            yield attempt(self._work, cell, replace(self._context, progress=watch))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cell = None
