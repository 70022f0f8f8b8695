import math

import numpy as np
import pytest

from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope_papers.simulate.outcomes import Outcomes, mean_estimate, mean_of_all


def outcomes(risk: list[float], status: list[str]) -> Outcomes:
    return Outcomes(np.array(risk), np.array(status), np.zeros(len(risk), dtype=np.int64))


def test_means_are_taken_over_consecutive_seeds() -> None:
    first, second = outcomes([1.0, 3.0, 5.0, 9.0], ["converged"] * 4).means(2)
    assert first == Estimate(2.0, 1.0, 2, "converged")
    assert second == Estimate(7.0, 2.0, 2, "converged")


def test_a_run_that_failed_taints_the_mean_of_its_group() -> None:
    result = outcomes([1.0, 7.0, 3.0], ["converged", "non_finite", "converged"])
    assert math.isnan(result.risk[1])
    estimate = result.means(3)[0]
    assert (estimate.value, estimate.n, estimate.status) == (2.0, 2, "non_finite")
    assert not estimate.usable


def test_a_run_that_has_not_converged_keeps_its_number_and_says_so() -> None:
    result = outcomes([1.0, 7.0], ["converged", "max_steps"])
    assert result.risk[1] == 7.0
    assert result.means(2)[0].status == "max_steps"


def test_one_seed_has_no_standard_error() -> None:
    assert mean_estimate(np.array([2.0]), np.array(["ok"])).stderr is None


def test_without_any_usable_run_there_is_no_mean() -> None:
    estimate = mean_estimate(np.array([2.0]), np.array(["max_steps"]))
    assert math.isnan(estimate.value)
    assert estimate.n == 0


def test_groups_must_come_out_even() -> None:
    with pytest.raises(DataError, match=r"^3 outcomes were to be grouped by 2 seeds; give a divisor of their number$"):
        outcomes([1.0, 2.0, 3.0], ["ok"] * 3).means(2)


def test_runs_that_were_cut_off_count_where_cutting_off_is_the_rule() -> None:
    status = np.array(["converged", "max_steps", "max_steps"])
    assert mean_of_all(np.array([1.0, 2.0, 3.0]), status) == Estimate(2.0, 1 / math.sqrt(3), 3, "max_steps")
    lost = mean_of_all(np.array([1.0, np.nan, 3.0]), np.array(["converged", "non_finite", "converged"]))
    assert (lost.value, lost.n, lost.status) == (2.0, 2, "non_finite")
    assert mean_of_all(np.array([1.0, 3.0]), np.array(["converged"] * 2)).status == "converged"
