"""Where a race stands, kept with its study: why it has ended, and the arms whose runs would take too long."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from transferscope.store import Store

DOCUMENT = "race"

End = Literal["", "settled", "seeds", "runs", "time", "long runs"]
"""Why a race has ended: the question is settled, the arms have all their seeds, the most runs or the time that it may
take are used up, or what is left are long runs; "" while it goes on."""


@dataclass(frozen=True, slots=True)
class NotBegun:
    """An arm of which a race has made no run.

    Attributes:
        method: The method's table in the study file.
        source: Name in the study; "" for an arm without a source.
        n_target: Number of target labels.
        seconds: What a run of it is expected to take with the pre-training that it needs; None where nothing tells.
    """

    method: str
    source: str
    n_target: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RaceState:
    """Where a race stands.

    Attributes:
        end: See `End`.
        not_begun: Arms without a run that would not fit the time, or are too long.
    """

    end: End = ""
    not_begun: tuple[NotBegun, ...] = ()


def keep_state(store: Store, study: str, state: RaceState) -> None:
    """Keep where a race stands, with its study."""
    if race_state(store.study_documents(study)) != state:
        store.put_study_document(study, DOCUMENT, asdict(state))


def race_state(documents: Mapping[str, Mapping[str, Any]]) -> RaceState | None:
    """Where a race stands, from the documents of its study; None where it is none, or has made no run."""
    found = documents.get(DOCUMENT)
    if found is None or "end" not in found:
        return None
    arms: Sequence[Mapping[str, Any]] = found.get("not_begun", ())
    return RaceState(found["end"], tuple(NotBegun(**arm) for arm in arms))
