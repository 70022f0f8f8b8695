"""Where a study stands."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transferscope.store import Store, StoredCell, StudyCounts

if TYPE_CHECKING:
    from transferscope.study.spec import StudySpec

_NO_PART_OF_PLAN = ("engine", "store")


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """Where a study stands.

    Attributes:
        name: Name of the study.
        store: Path or URL of its store, without a password.
        counts: How many cells stand where.
        failed: The failed cells, with their failures.
    """

    name: str
    store: str
    counts: StudyCounts
    failed: tuple[StoredCell, ...]


@dataclass(frozen=True, slots=True)
class EditedPlan:
    """What a study file asks for now, where that is not what was run last.

    Attributes:
        counts: How many of the cells that it asks for stand where.
        added: Cells that the last run did not ask for.
        dropped: Cells that the last run asked for and the file does not; they stay stored.
    """

    counts: StudyCounts
    added: int
    dropped: int


def study_status(store: Store, name: str) -> StudyStatus:
    """Where the study `name` stands.

    Raises:
        UnknownNameError: The store has no such study.
    """
    counts = store.counts(name)
    failed = tuple(store.failed_cells(name)) if counts.failed else ()
    return StudyStatus(name, store.place, counts, failed)


def edited_plan(spec: "StudySpec", store: Store | None) -> EditedPlan | None:
    """What a study file asks for now.

    Args:
        spec: The study of the file.
        store: Its store; None where there is none yet.

    Returns:
        Its plan beside that of the last run; None when the file has not changed since.

    Raises:
        DataError: Data of a changed file are missing, or the study cannot be done with them.
        NetworkError: The network cannot read the data.
        SettingsError: Two methods or sources are one and the same.
    """
    row = None if store is None else next((row for row in store.studies() if row.name == spec.name), None)
    if row is not None and _of_plan(row.spec) == _of_plan(json.loads(json.dumps(spec.as_json()))):
        return None
    from transferscope.study.facts import load_data  # these need torch, and where a study stands does not
    from transferscope.study.plan import plan_cells

    cells = plan_cells(spec, load_data(spec).facts)
    before = {} if store is None or row is None else {one.key: one.state for one in store.standings(spec.name)}
    done = set() if store is None else store.done(cell.key for cell in cells)
    failed = {cell.key for cell in cells if before.get(cell.key) == "failed"}
    blocked = {cell.key for cell in cells if cell.key not in done | failed and failed & set(cell.needs)}
    running = {cell.key for cell in cells if before.get(cell.key) == "running"}
    planned = len(cells) - len(done | failed | blocked | running)
    counts = StudyCounts(planned, len(running), len(done), len(failed), len(blocked))
    keys = {cell.key for cell in cells}
    return EditedPlan(counts, added=len(keys - before.keys()), dropped=len(before.keys() - keys))


def _of_plan(spec: object) -> object:
    return (
        {key: value for key, value in spec.items() if key not in _NO_PART_OF_PLAN} if isinstance(spec, dict) else spec
    )
