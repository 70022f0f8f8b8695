"""The closed form against ridge regressions that are fitted without each example."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from transferscope.numerics.leave_one_out import RIDGE_GRID, ridge_risks


@pytest.mark.parametrize(("n", "width"), [(30, 8), (20, 50), (12, 12), (2, 3)])
def test_errors_are_those_of_fits_without_each_example(n: int, width: int) -> None:
    """Features of sizes from 1 to 1000, two of them equal and one constant."""
    draw = np.random.default_rng(n)
    design = draw.normal(size=(n, width)) * np.logspace(0, 3, width)
    design[:, 1], design[:, 2] = design[:, 0], 7.0
    targets = draw.normal(size=(n, 2)) + design[:, :1]
    unit = np.square(design - design.mean(axis=0)).sum(axis=1).mean()

    def missed(penalty: float, i: int) -> float:
        rest = Ridge(penalty).fit(np.delete(design, i, 0), np.delete(targets, i, 0))
        return float(np.square(targets[i] - rest.predict(design[i : i + 1])[0]).sum())

    expected = [np.mean([missed(penalty, i) for i in range(n)]) for penalty in RIDGE_GRID * unit]
    assert ridge_risks(design, targets) == pytest.approx(np.array(expected), rel=1e-6)
