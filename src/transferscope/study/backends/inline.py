"""Cells in this very process, one after the other: for tests, debugging and tiny studies."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from transferscope.store import PlannedCell
from transferscope.study.backends.attempt import attempt, find_work
from transferscope.study.backends.backend import Message
from transferscope.study.context import WorkContext


class InlineBackend:
    """Room for one cell, which is done while its messages are waited for.

    Args:
        work: Dotted name of the work.
        context: Where cells are done.

    Raises:
        SettingsError: Nothing answers to the name.
    """

    def __init__(self, work: str, context: WorkContext) -> None:
        self._work = find_work(work)
        self._context = context
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
            yield attempt(self._work, cell, self._context)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cell = None
