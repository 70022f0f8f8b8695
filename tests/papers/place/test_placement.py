import math

import pytest

from papers.place.placed import NOT_MEASURED, point, ranged
from transferscope.estimate import Estimate
from transferscope_papers.place.placement import placement_rows

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


def test_rows_hold_every_number_with_its_interval() -> None:
    rows = placement_rows([point("fashion", 50, modelled=NO_FINITE, measured=UP)])
    assert list(rows.columns) == [
        *("source", "method", "n_target", "name", "value", "low", "high", "stderr", "n", "status")
    ]
    by_name = {str(row["name"]): row for row in rows.to_dict("records")}
    measured, modelled = by_name["measured"], by_name["modelled"]
    assert [measured[name] for name in ("source", "method", "n_target", "value", "low", "high")] == [
        *("fashion", "linear-probe", 50, 0.2, 0.1, 0.3)
    ]
    assert [modelled[name] for name in ("value", "low", "high", "status")] == [-math.inf, -math.inf, -0.1, "unbounded"]
    assert math.isnan(by_name["gap"]["value"])
    assert len(rows) == 12
