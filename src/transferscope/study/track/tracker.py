"""The interface of trackers, and their input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Tracked:
    """A cell for trackers.

    Attributes:
        id: Its key, with "-failed" for a failure, so that a retry is another run.
        name: Name, as in "fine-tune from glyphs, 50 labels, seed 0".
        settings: Settings: role, method, source, numbers of examples, seed, digits of its key.
        numbers: (name, step, value) of every finite number; step None is the end.
        failure: Reason of the failure; None if done.
    """

    id: str
    name: str
    study: str
    settings: Mapping[str, str | int | float]
    numbers: Sequence[tuple[str, int | None, float]]
    failure: str | None = None


@runtime_checkable
class Tracker(Protocol):
    """An experiment tracker. Its first exception is reported once and disables it."""

    def has(self, run_id: str) -> bool:
        """Return whether a run was added before, also by an earlier process."""
        ...

    def add(self, run: Tracked) -> None:
        """Add a run, atomically."""
        ...
