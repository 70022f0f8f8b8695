"""Where a study stands."""

from dataclasses import dataclass

from transferscope.store import Store, StoredCell, StudyCounts


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


def study_status(store: Store, name: str) -> StudyStatus:
    """Where the study `name` stands.

    Raises:
        UnknownNameError: The store has no such study.
    """
    counts = store.counts(name)
    failed = tuple(store.failed_cells(name)) if counts.failed else ()
    return StudyStatus(name, store.place, counts, failed)
