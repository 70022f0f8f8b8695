"""The cells of a study that is complete enough to be looked at as a whole."""

from transferscope.errors import StoreError, unknown_name
from transferscope.store import Store, StoredCell

_LABELS = ("source", "method", "n_target", "n_source", "seed")


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
    done = [stored for stored in store.cells(study) if stored.state == "done"]
    for stored in done:
        lacking = [label for label in _LABELS if label not in stored.cell.labels and stored.cell.role != "theory"]
        if lacking:
            raise StoreError(
                f"a cell of {study} in {store.place} does not say its {lacking[0]}, so the store is damaged; "
                "restore it from a copy, or run the study again in a new one"
            )
    return done
