import math

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from transferscope.errors import DataError
from transferscope.numerics.multiplicity import holm


def test_holm_on_the_numbers_of_a_worked_example() -> None:
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 and made monotone
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_holm_is_the_one_of_statsmodels(n: int) -> None:
    p = np.random.default_rng(n).random(n) ** 4
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12)


def test_a_test_that_could_not_be_made_counts_as_none() -> None:
    adjusted = holm(np.array([0.01, math.nan, 0.02]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.02])
    assert math.isnan(adjusted[1])


def test_nothing_to_adjust_stays_nothing() -> None:
    assert holm(np.array([])).shape == (0,)
    assert np.isnan(holm(np.array([math.nan]))).all()


def test_the_chance_of_any_false_finding_stays_below_the_level() -> None:
    repeats, alpha = 2000, 0.05
    p = np.random.default_rng(1).random((repeats, 8))
    alarms = sum((holm(row) < alpha).any() for row in p)
    assert alarms < alpha * repeats + 4 * math.sqrt(repeats * alpha * (1 - alpha))


def test_a_value_that_is_no_probability_is_refused() -> None:
    with pytest.raises(DataError) as error:
        holm(np.array([0.5, 1.5]))
    assert str(error.value) == "p-values lie between 0 and 1; some given are outside"
