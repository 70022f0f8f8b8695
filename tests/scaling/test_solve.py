"""The solver against SciPy and against exact data."""

import numpy as np
import pytest
from scipy import optimize

from scaling.examples import EXACT, GRID, OBJDET, SIZES
from transferscope.scaling.laws import LAWS, law_named
from transferscope.scaling.solve import QUICK, Problem, nnls, solve


def problem(name: str, x: np.ndarray, y: np.ndarray, loss: str = "log") -> Problem:
    return Problem(law_named(name), x if x.ndim == 2 else x[:, None], y[None], np.ones((1, len(y))), loss)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_nnls_agrees_with_scipy(k: int) -> None:
    generator = np.random.default_rng(k)
    designs, targets = generator.random((40, 8, k)), generator.standard_normal((40, 8))
    ours = nnls(np.einsum("bmi,bmj->bij", designs, designs), np.einsum("bmi,bm->bi", designs, targets))
    theirs = np.array([optimize.nnls(design, target)[0] for design, target in zip(designs, targets, strict=True)])
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


TRUTH = {
    "power": [0.3, 2.0],
    "power+floor": [0.5, 3.0, 0.1],
    "shifted-power": [0.6, 4000.0, 30.0, 0.1],
    "saturating-power": [0.5, 20000.0, 9.0],
    "broken-power": [0.1, 0.6, 9000.0, 0.5, 0.9, 0.05],
    "full": [0.5, 0.3, 4.0, 40.0],
    "additive": [0.5, 0.4, 3.0, 5.0, 0.05],
    "product": [0.1, 0.3, 5.0],
    "effective-data": [0.4, 0.5, 40.0, 9.0, 0.05],
}


@pytest.mark.parametrize("name", TRUTH)
def test_exact_data_are_fitted_exactly(name: str) -> None:
    law = law_named(name)
    x = 500.0 * 1.6 ** np.arange(14)[:, None] if law.n_sizes == 1 else GRID
    y = law.value(x, np.array([TRUTH[name]]))[0]
    found = solve(problem(name, x, y))
    assert np.sqrt(found.cost[0] / len(y)) < 1e-5
    np.testing.assert_allclose(law.value(x, found.theta)[0], y, rtol=1e-4)


def test_it_is_never_worse_than_scipy_from_the_same_place() -> None:
    def residual(theta: np.ndarray) -> np.ndarray:
        alpha, log_D, C = theta
        result: np.ndarray = np.log(OBJDET) - np.log(np.exp(log_D) * SIZES**-alpha + C)
        return result

    theirs = optimize.least_squares(residual, (0.4, -1.0, 0.9), bounds=([0.02, -30, 0], [4, 30, np.inf]), xtol=1e-15)
    ours = solve(problem("power+floor", SIZES, OBJDET))
    assert ours.cost[0] <= 2 * theirs.cost * (1 + 1e-9)


def test_rows_of_a_batch_do_not_touch_each_other() -> None:
    law = law_named("power+floor")
    y = EXACT * np.exp(0.001 * np.random.default_rng(0).standard_normal((5, 7)))
    together = solve(Problem(law, SIZES[:, None], y, np.ones_like(y)), QUICK)
    for row in range(5):
        alone = solve(Problem(law, SIZES[:, None], y[row : row + 1], np.ones((1, 7))), QUICK)
        np.testing.assert_allclose(together.theta[row], alone.theta[0], rtol=1e-9)


def test_a_weight_of_zero_leaves_a_point_out() -> None:
    spoilt = np.append(EXACT, 5.0)
    weights = np.append(np.ones(7), 0.0)
    law = law_named("power+floor")
    found = solve(Problem(law, np.append(SIZES, 1e6)[:, None], spoilt[None], weights[None]))
    np.testing.assert_allclose(found.theta[0], [0.45, 0.48, 0.93], rtol=1e-6)


def test_huber_is_less_moved_by_an_outlier() -> None:
    y = EXACT.copy()
    y[2] *= 1.02
    errors = {}
    for loss in ("log", "huber"):
        theta = solve(problem("power+floor", SIZES, y, loss)).theta
        errors[loss] = abs(
            law_named("power+floor").value(np.array([[256000.0]]), theta)[0, 0] - (0.48 * 256000**-0.45 + 0.93)
        )
    assert errors["huber"] < errors["log"] / 5


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.n_sizes == 1])
def test_flat_and_rising_curves_have_finite_fits(name: str) -> None:
    for y in (np.full(7, 0.3), np.linspace(0.2, 0.6, 7)):
        found = solve(problem(name, SIZES, y))
        assert np.isfinite(found.theta).all()
        assert np.isfinite(found.cost).all()
