import json
import math

import pytest

from papers.place.placed import NOT_MEASURED, point, ranged
from transferscope.errors import StoreError
from transferscope.estimate import Estimate, Interval
from transferscope.records import FinishedRuns
from transferscope_papers.place.placement import KEPT, Placement, Placements

FINITE = Estimate(0.1 + 0.2, 1e-300, 7, "ok", Interval(-0.5, 1.5, 0.9))
BEYOND = Estimate(-math.inf, None, 7, "unbounded", Interval(-math.inf, 0.25))
ALONE = Estimate(0.5, None, 1, "too_few")
NOTHING = Estimate(math.nan, None, 0, "undefined")


def kept(input_dimension: float | None = None) -> Placements:
    placement = Placement(
        name="name",
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
    return Placements((placement,), input_dimension, FinishedRuns.of("ab"))


@pytest.mark.parametrize("input_dimension", [None, 256.0])
def test_placements_come_back_from_json_that_any_reader_takes(input_dimension: float | None) -> None:
    document = KEPT.to_document(kept(input_dimension))
    text = json.dumps(document, allow_nan=False)  # refuses the tokens that are not JSON
    assert repr(KEPT.from_document(json.loads(text))) == repr(
        kept(input_dimension)
    )  # NaN equals nothing, so by its text


def test_placements_of_another_version_or_damaged_are_refused() -> None:
    document = KEPT.to_document(kept())
    for other in (0, 2):
        with pytest.raises(StoreError) as error:
            KEPT.from_document({**document, "format": other})
        assert str(error.value) == (
            f"the placements of the study are kept in format {other}, and this version of transferscope reads format "
            "1; run `transferscope theory place` again"
        )
    for damaged in ({"format": 1}, {**document, "points": [{}]}, {**document, "runs": None}):
        with pytest.raises(
            StoreError, match=r"^the placements of the study are damaged in the store; run `transferscope th"
        ):
            KEPT.from_document(damaged)


UP, DOWN, ACROSS = ranged(0.2, 0.1, 0.3), ranged(-0.2, -0.3, -0.1), ranged(0.1, -0.1, 0.3)
ONE_SEED = Estimate(0.2, None, 1, "too_few")
NO_FINITE = ranged(-math.inf, -math.inf, -0.1)


@pytest.mark.parametrize(
    ("modelled", "measured", "signs"),
    [
        (UP, UP, "same"),
        (DOWN, DOWN, "same"),
        (UP, DOWN, "opposite"),
        (NO_FINITE, UP, "opposite"),
        (ACROSS, UP, "open"),
        (UP, ACROSS, "open"),
        (UP, ONE_SEED, "open"),
        (UP, NOT_MEASURED, "open"),
    ],
)
def test_signs_are_compared_where_both_are_known(modelled: Estimate, measured: Estimate, signs: str) -> None:
    assert point(modelled=modelled, measured=measured).signs == signs
