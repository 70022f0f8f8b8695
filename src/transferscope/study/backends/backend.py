"""What runs cells: start one, receive its messages, stop all."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from transferscope.records import Failure
from transferscope.store import Outcome, PlannedCell


@dataclass(frozen=True, slots=True)
class Advanced:
    """A cell has got further.

    Attributes:
        key: The cell.
        share: How much of it is done, in [0, 1].
    """

    key: str
    share: float


@dataclass(frozen=True, slots=True)
class Finished:
    """A cell is done.

    Attributes:
        key: The cell.
        outcome: What came of it.
    """

    key: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Failed:
    """A cell has failed.

    Attributes:
        key: The cell.
        failure: Why.
    """

    key: str
    failure: Failure


Message = Advanced | Finished | Failed


def too_slow(seconds: float) -> str:
    """What is said of a cell that took longer than it may."""
    return (
        f"the cell was stopped after {seconds / 60:g} minutes; raise cell_minutes in [engine] and run again with "
        "--retry-failed, which goes on from its last checkpoint"
    )


@runtime_checkable
class Backend(AbstractContextManager["Backend"], Protocol):
    """Does a limited number of cells at a time; leaving it stops what is running."""

    @property
    def free(self) -> int:
        """How many more cells could be started now."""
        ...

    def start(self, cell: PlannedCell) -> None:
        """Begin a cell; `free` must be at least 1."""
        ...

    def messages(self, timeout: float) -> Iterator[Message]:
        """What has happened, waiting at most `timeout` seconds for something to happen; may be nothing."""
        ...
