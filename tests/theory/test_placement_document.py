import json
import math

import pytest

from transferscope.errors import StoreError
from transferscope.estimate import Estimate, Interval
from transferscope.records import FinishedRuns
from transferscope.theory.placement import Placement
from transferscope.theory.placement_document import (
    KeptPlacement,
    KeptPlacements,
    from_document,
    to_document,
)

FINITE = Estimate(0.1 + 0.2, 1e-300, 7, "ok", Interval(-0.5, 1.5, 0.9))
BEYOND = Estimate(-math.inf, None, 7, "unbounded", Interval(-math.inf, 0.25))
ALONE = Estimate(0.5, None, 1, "too_few")
NOTHING = Estimate(math.nan, None, 0, "undefined")


def kept(input_dimension: float | None = None) -> KeptPlacements:
    placement = Placement(
        source="ünicode <b>",
        n_source=None,
        n_target=50,
        method="linear-probe",
        n_examples=1797,
        kind="regression",
        outside_share=FINITE,
        noise_level=FINITE,
        input_dimension=FINITE,
        feature_dimension=FINITE,
        examples_per_dimension=FINITE,
        critical_share=BEYOND,
        modelled=BEYOND,
        chance_negative=1 / 3,
        scratch_modelled=FINITE,
        scratch_measured=ALONE,
        scratch_gap=ALONE,
        measured=ALONE,
        gap=NOTHING,
    )
    return KeptPlacements(
        (KeptPlacement("name", placement, "−0.1"),), "The limits.", input_dimension, FinishedRuns.of("ab")
    )


@pytest.mark.parametrize("input_dimension", [None, 256.0])
def test_placements_come_back_from_json_that_any_reader_takes(input_dimension: float | None) -> None:
    document = to_document(kept(input_dimension))
    text = json.dumps(document, allow_nan=False)  # refuses the tokens that are not JSON
    assert repr(from_document(json.loads(text))) == repr(kept(input_dimension))  # NaN equals nothing, so by its text


def test_finished_runs_are_equal_for_the_same_keys_in_any_order() -> None:
    assert FinishedRuns.of(["a", "b"]) == FinishedRuns.of(["b", "a"])
    assert FinishedRuns.of(["a", "b"]).count == 2
    others: list[list[str]] = [[], ["a"], ["a", "c"], ["a", "b", "c"], ["ab"]]
    assert all(FinishedRuns.of(["a", "b"]) != FinishedRuns.of(other) for other in others)


def test_placements_of_another_version_are_refused() -> None:
    for other in (1, 2, 4):  # 2 held the expectation of learners without a ridge
        with pytest.raises(StoreError) as error:
            from_document({**to_document(kept()), "format": other})
        assert str(error.value) == (
            f"the placements of the study are kept in format {other}, and this version of transferscope reads format "
            "3; run `transferscope theory place` again"
        )
