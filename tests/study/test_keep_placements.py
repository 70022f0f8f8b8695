"""Placements stay with their study: what comes out of the store is what was computed."""

from dataclasses import replace
from pathlib import Path

import pytest

from study.test_place import classification
from transferscope.errors import UnknownNameError
from transferscope.store import Store
from transferscope.study.keep_placements import keep_placements
from transferscope.study.place import place_study
from transferscope.study.placed_source import PlacedSource
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope.theory.placement_document import KeptPlacements, from_document
from transferscope.theory.placement_words import in_words, limits


def kept(store: Store) -> KeptPlacements:
    document = store.study_document("small", "placements")
    assert document is not None
    return from_document(document)


def test_what_was_placed_is_kept_and_stays_until_it_is_placed_again(tmp_path: Path) -> None:
    spec = parse_spec(classification(tmp_path))
    with Store.open(tmp_path / "store.sqlite") as store:
        run_study(spec, store)
        unkept = place_study(store, "small", keep=False)
        assert store.study_document("small", "placements") is None
        placed = place_study(store, "small")
        run_study(spec, store)  # plans again and finds everything done
        found = kept(store)
        assert [(point.name, repr(point.placement), point.words) for point in found.points] == [
            (source.name, repr(one), in_words(one)) for source in placed for one in source.placements
        ]
        assert (found.limits, found.input_dimension) == (limits({"classification"}), None)
        assert found.runs.count == 2 + 2 * 2 * 2  # scratch; two methods from two sizes of the source; two seeds each
        assert repr(unkept) == repr(placed)

        more = replace(spec, seeds=(0, 1, 2))
        run_study(more, store)
        assert kept(store) == found
        place_study(store, "small", input_dimension=100.0)
        again = kept(store)
    assert (again.input_dimension, again.runs.count) == (100.0, 15)
    assert again.points[0].placement.examples_per_dimension.value == 0.12


def test_an_unknown_study_is_refused(tmp_path: Path) -> None:
    nothing: tuple[PlacedSource, ...] = ()
    with Store.open(tmp_path / "store.sqlite") as store, pytest.raises(UnknownNameError):
        keep_placements(store, "small", nothing)
