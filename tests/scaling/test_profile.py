"""Profile sets against a dense scan."""

import numpy as np
import pytest
from scipy import optimize, stats

from scaling.examples import EXACT, SIZES
from transferscope.scaling import fit_law


def test_the_profile_set_of_alpha_is_that_of_a_dense_scan() -> None:
    y = EXACT * np.exp(2e-4 * np.array([1.0, -1.0, 0.5, -0.5, 1.0, -1.0, 0.3]))
    fit = fit_law(SIZES, y, loss="linear")
    alphas = np.linspace(0.2, 0.8, 601)
    costs = []
    for alpha in alphas:
        design = np.stack([SIZES**-alpha, np.ones(7)], axis=1)
        costs.append(optimize.nnls(design, y)[1] ** 2)
    allowed = min(costs) * (1 + stats.t.ppf(0.975, 4) ** 2 / 4)
    inside = alphas[np.array(costs) <= allowed]
    assert fit.profiles["alpha"].low == pytest.approx(inside[0], abs=0.004)
    assert fit.profiles["alpha"].high == pytest.approx(inside[-1], abs=0.004)
    assert fit.profiles["alpha"].closed
