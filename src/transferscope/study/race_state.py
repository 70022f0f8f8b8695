"""Where a race stands and what it has left out, as its study keeps it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from transferscope.store import Store
from transferscope.study.tables import settings_of

RACE = "race"

End = Literal["", "decided", "not worth it", "seeds", "runs", "time", "long runs"]

RACE_ENDS: Mapping[End, str] = {
    "": "not finished",
    "decided": "stopped because both questions are decided",
    "not worth it": "stopped because no further run is worth its time",
    "seeds": "stopped because the arms that matter have all their seeds",
    "runs": "stopped at the limit of runs",
    "time": "stopped at the time limit",
    "long runs": "stopped before long runs",
}
"""Why a race has ended, in words."""


@dataclass(frozen=True, slots=True)
class NotBegun:
    """An arm in a race, and what its next run takes.

    Attributes:
        source: Name in the study; "" for an arm without a source.
        seconds: What a run of it is expected to take with the pretraining that it needs; None where nothing tells.
    """

    method: str
    source: str
    n_target: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RaceState:
    """The state of a race; arms `not_begun` would not fit the time, or are too slow.

    Attributes:
        minute: Of a race whose time is used: by how much one more minute is expected to raise the best mean, in points
            (`decision.Next`); None where nothing tells.
        next_run: Of a race whose time is used, what would have come next.
    """

    end: End = ""
    not_begun: tuple[NotBegun, ...] = ()
    minute: float | None = None
    next_run: NotBegun | None = None


def keep_state(store: Store, study: str, state: RaceState) -> None:
    """Store the state of a race with its study."""
    if race_state(store.study_documents(study)) != state:
        store.put_study_document(study, RACE, asdict(state))


def race_state(documents: Mapping[str, Mapping[str, Any]]) -> RaceState | None:
    """Return the state of a race from the documents of its study; None without a race or runs."""
    document = documents.get(RACE)
    if document is None:
        return None
    return settings_of(RaceState, document)
