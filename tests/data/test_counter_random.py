import numpy as np
import pytest
from scipy import stats

from transferscope.data.counter_random import uniform_rows


@pytest.mark.parametrize("width", [1, 4, 7])
def test_rows_do_not_depend_on_how_they_are_drawn(width: int) -> None:
    whole = uniform_rows(20, width, seed=3, purpose="test")
    parts = [uniform_rows(n, width, seed=3, purpose="test", start=start) for start, n in ((0, 1), (1, 12), (13, 7))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_far_rows_can_be_reached() -> None:
    far = uniform_rows(3, 5, seed=0, purpose="test", start=2**40)
    np.testing.assert_array_equal(far[1:], uniform_rows(2, 5, seed=0, purpose="test", start=2**40 + 1))


def test_seeds_and_purposes_give_other_rows() -> None:
    tables = [uniform_rows(50, 2, seed=seed, purpose=purpose) for seed in (0, 1) for purpose in ("a", "b")]
    assert len({table.tobytes() for table in tables}) == 4


def test_numbers_are_uniform() -> None:
    numbers = uniform_rows(5000, 3, seed=0, purpose="test").ravel()
    assert stats.kstest(numbers, "uniform").pvalue > 1e-3
