"""With which settings the results of a race were looked at: risk, margin and arms that change once runs are there.

A risk holds where it is chosen before anything is seen. So the settings of a race are kept in the store with the number
of its runs that were there when they were first used, and whoever reads the race can say what was changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from transferscope.errors import SettingsError, StoreError, UnknownNameError
from transferscope.store import PlannedCell, Store, StudyRow
from transferscope.study.judged import metric_of
from transferscope.study.race import Race, RaceSettings, arm_of
from transferscope.wording import counted, measure_words

DOCUMENT = "race"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Look:
    """Settings of a race that its results were read with.

    Attributes:
        labels: Labelled target examples of every run; None when unknown.
        risk: As in `RaceSettings`.
        margin: As in `RaceSettings`.
        ways: Arms that transfer, as "METHOD from SOURCE", in alphabetical order.
        runs: Runs of the race that were done when these settings were first used.
    """

    labels: int | None
    risk: float
    margin: float
    ways: tuple[str, ...]
    runs: int


_LOOKS = TypeAdapter(tuple[Look, ...])


def note_look(store: Store, race: Race, study: StudyRow) -> None:
    """Keep the settings of a race that is about to be planned, where they differ from those before.

    Args:
        store: Where the race is; nothing of it need be there.
        race: The race as it will go on.
        study: The study as it will be planned.

    Raises:
        SettingsError: Runs of the race were judged by another measure before.
        StoreError: What is kept is damaged, or the store cannot be written.
    """
    now = _look(race)
    try:
        before, cells = store.study(race.study), [cell.cell for cell in store.cells(race.study)]
    except UnknownNameError:
        store.plan(study, ())  # a document is kept with a study
        before, cells = None, []
    done = store.done({key for keys in race.keys for key in keys if key is not None})
    if before is not None and done and metric_of(before.spec) != metric_of(study.spec):
        measures = [measure_words(metric_of(spec) or "accuracy") for spec in (before.spec, study.spec)]
        raise SettingsError(
            f"the race {race.study} was begun by {measures[0]} and has {counted(len(done), 'run')}; its risk does not "
            f"hold for {measures[1]} that is chosen now: leave metric as it was, or race in another folder or under "
            "another name"
        )
    kept = looks(store, race.study)
    own = [look for look in kept if look.labels == now.labels] if done else []
    table = None if before is None else before.spec.get("race")
    if not own and isinstance(table, Mapping) and done & {cell.key for cell in cells}:
        own = [_earlier(table, cells, race, now)]  # the race was begun before looks were kept
    if not own or _differs(own[-1], now):
        own.append(replace(now, runs=len(done)))
    found = (*(look for look in kept if look.labels != now.labels), *own)
    if found != kept:
        store.put_study_document(
            race.study, DOCUMENT, {"format": _FORMAT, "looks": _LOOKS.dump_python(found, mode="json")}
        )


def looks(store: Store, study: str) -> tuple[Look, ...]:
    """The settings that the results of a race were read with, the first ones first; empty where none are kept.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: What is kept is damaged, or a later version of transferscope wrote it.
    """
    document = store.study_document(study, DOCUMENT)
    if document is None:
        return ()
    try:
        if document["format"] != _FORMAT:
            raise StoreError(
                f"the settings of the race {study} are kept in format {document['format']}, and this version of "
                f"transferscope reads format {_FORMAT}; use the version that wrote them"
            )
        return _LOOKS.validate_python(document["looks"])
    except (ValidationError, KeyError) as error:
        raise StoreError(
            f"the settings of the race {study} are damaged in the store; restore it from a copy, or race elsewhere"
        ) from error


def looks_at(store: Store, race: Race) -> tuple[Look, ...]:
    """Those looks that were at the same number of labels as this race."""
    labels = _look(race).labels
    return tuple(look for look in looks(store, race.study) if look.labels == labels)


def _look(race: Race) -> Look:
    labels = race.n_target if isinstance(race.n_target, int) else None
    ways = sorted(str(arm) for row, arm in enumerate(race.arms) if row and row not in race.controls)
    return Look(labels, race.settings.risk, race.settings.margin, tuple(ways), 0)


def _differs(one: Look, other: Look) -> bool:
    return replace(one, runs=0) != replace(other, runs=0)


def _earlier(table: Mapping[str, Any], cells: list[PlannedCell], race: Race, now: Look) -> Look:
    """The look of a race that was begun before looks were kept; ways that it may not have reached count as its own."""
    settings = RaceSettings(**{**table, "first": tuple(table.get("first", ()))})
    without = {str(race.arms[row]) for row in (0, *race.controls)}
    ways = {str(arm_of(cell)) for cell in cells if cell.role == "method" and cell.labels["source"] is not None}
    return replace(now, risk=settings.risk, margin=settings.margin, ways=tuple(sorted({*now.ways, *(ways - without)})))
