"""Keeping placements with their study, where the report finds them."""

from collections.abc import Sequence

from transferscope.records import FinishedRuns
from transferscope.store import Store
from transferscope.study.placed_source import PlacedSource
from transferscope.theory.placement_document import (
    DOCUMENT,
    KeptPlacement,
    KeptPlacements,
    to_document,
)
from transferscope.theory.placement_words import in_words, limits


def keep_placements(
    store: Store, study: str, placed: Sequence[PlacedSource], *, input_dimension: float | None = None
) -> None:
    """Keep the placements of a study in its store; they replace those of an earlier time.

    Args:
        store: The store of the study.
        study: Name of the study.
        placed: From `place_study`.
        input_dimension: d, if it was given by hand.

    Raises:
        StoreError: The store cannot be written.
        UnknownNameError: There is no such study.
    """
    store.put_study_document(study, DOCUMENT, to_document(as_kept(store, study, placed, input_dimension)))


def as_kept(store: Store, study: str, placed: Sequence[PlacedSource], input_dimension: float | None) -> KeptPlacements:
    """The placements of a study as they are kept: all points with their sentences, and what the study held then."""
    points = tuple(
        KeptPlacement(source.name, placement, in_words(placement))
        for source in placed
        for placement in source.placements
    )
    said = limits({point.placement.kind for point in points})
    return KeptPlacements(points, said, input_dimension, _finished_runs(store, study))


def _finished_runs(store: Store, study: str) -> FinishedRuns:
    cells = store.cells(study)
    return FinishedRuns.of(one.cell.key for one in cells if one.state == "done" and one.cell.role == "method")
