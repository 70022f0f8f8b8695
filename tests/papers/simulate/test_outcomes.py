import math
from typing import Final

import numpy as np
import pytest

from transferscope.estimate import Estimate
from transferscope_papers.simulate.outcomes import Outcomes, mean_of_all


def test_runs_that_were_cut_off_count_where_cutting_off_is_the_rule() -> None:
    status = np.array(["converged", "max_steps", "max_steps"])
    assert mean_of_all(np.array([1.0, 2.0, 3.0]), status) == Estimate(2.0, 1 / math.sqrt(3), 3, "max_steps")
    lost = mean_of_all(np.array([1.0, np.nan, 3.0]), np.array(["converged", "non_finite", "converged"]))
    assert (lost.value, lost.n, lost.status) == (2.0, 2, "non_finite")
    assert mean_of_all(np.array([1.0, 3.0]), np.array(["converged"] * 2)).status == "converged"


FINE: Final = "converged"


@pytest.mark.parametrize(
    ("risk", "status", "expected"),
    [
        ([5.0, 9.0], [FINE, FINE], Estimate(7.0, 2.0, 2, FINE)),
        ([2.0], [FINE], Estimate(2.0, None, 1, FINE)),
        ([1.0, 7.0, 3.0], [FINE, "non_finite", FINE], Estimate(2.0, 1.0, 2, "non_finite")),
        ([1.0, 7.0, 3.0], [FINE, "max_steps", FINE], Estimate(2.0, 1.0, 2, "max_steps")),
        ([2.0], ["max_steps"], Estimate(math.nan, None, 0, "max_steps")),
    ],
)
def test_means_are_those_of_the_runs_that_ended_and_say_when_one_did_not(
    risk: list[float], status: list[str], expected: Estimate
) -> None:
    first, *_ = Outcomes(np.array([*risk, *risk]), np.array([*status, *status])).means(len(risk))
    assert (first.n, first.status) == (expected.n, expected.status)
    assert [first.value, first.stderr] == pytest.approx([expected.value, expected.stderr], nan_ok=True)
