import math

from papers.place.placed import point, ranged
from transferscope_papers.place.placement import placement_rows

UP = ranged(0.2, 0.1, 0.3)
NO_FINITE = ranged(-math.inf, -math.inf, -0.1)


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
    assert math.isnan(by_name["scratch_measured"]["value"])
    assert len(rows) == 10
