"""The state of a race and its skipped arms, as stored with its study."""

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
"""Reasons for the end of a race."""


@dataclass(frozen=True, slots=True)
class NotBegun:
    """An arm that a race has not started, and the expected time of a run.

    Attributes:
        source: Name in the study; "" for a baseline.
        seconds: Expected time of a run including its pretraining; None if unknown.
    """

    method: str
    source: str
    n_target: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RaceState:
    """The state of a race; arms `not_begun` would not fit the time, or are too slow.

    Attributes:
        minute: For a race at its time limit, the expected rise of the best mean per further minute, in points
            (`decision.Next`); None if unknown.
        next_run: For a race at its time limit, the run that would have come next.
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
