import numpy as np
import pytest
from scipy import optimize

from transferscope.report.figures.scaling_landscape import ALPHAS, DS, landscape
from transferscope.scaling.observations import observe


@pytest.mark.parametrize(("i", "j"), [(0, 0), (20, 10), (40, 60), (79, 79)])
def test_the_landscape_is_that_of_constrained_least_squares(i: int, j: int) -> None:
    n = 1000 * 2.0 ** np.arange(7)
    y = np.array([0.30, 0.25, 0.22, 0.18, 0.17, 0.15, 0.14])
    _, distance = optimize.nnls(np.ones((7, 1)), y - DS[j] * n ** -ALPHAS[i])
    assert landscape(observe(n, y))[i, j] == pytest.approx(distance / np.sqrt(7))
