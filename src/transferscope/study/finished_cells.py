"""The cells of a study that is complete enough to be looked at as a whole."""

from transferscope.errors import StoreError, unknown_name
from transferscope.store import Store, StoredCell


def finished_cells(store: Store, study: str, *, before: str) -> list[StoredCell]:
    """The cells that are done, once none is left to do.

    Args:
        store: The store of the study.
        study: Its name.
        before: What is about to happen, for the message, as in "it is placed".

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The store holds no study, or this one is not finished.
    """
    names = [row.name for row in store.studies()]
    if study not in names:
        if not names:
            raise StoreError(f"{store.place} holds no study yet; run {study} with `transferscope run` first")
        raise unknown_name(f"study in {store.place}", study, names)
    counts = store.counts(study)
    if counts.planned or counts.running or not counts.done:
        raise StoreError(
            f"{counts.done} of the {counts.total} cells of {study} are done; finish it with `transferscope run` before "
            f"{before}"
        )
    return [stored for stored in store.cells(study) if stored.state == "done"]
