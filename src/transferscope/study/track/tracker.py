"""What trackers are given, and what they do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Tracked:
    """A cell for trackers.

    Attributes:
        id: Its key, with "-failed" where it has failed, so that another try is another run.
        name: In words, as in "fine-tune from glyphs, 50 labels, seed 0".
        settings: What is the same for all of it: role, method, source, numbers of examples, seed, digits of its key.
        numbers: (name, step, value) of every finite number; step None is the end.
        failure: Why it failed; None when it is done.
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
