import numpy as np
import pytest
from scipy import optimize

from scaling.examples import OBJDET, SIZES
from transferscope.scaling import bootstrap, fit_law
from transferscope.scaling.laws import FREE_LAWS


def test_draws_agree_with_single_fits_by_scipy() -> None:
    drawn = bootstrap(fit_law(SIZES, OBJDET, loss="linear"), draws=30, seed=1)

    def law(x: np.ndarray, D: float, alpha: float, C: float) -> np.ndarray:
        return D * x**-alpha + C

    bounds = ([0.0, 0.02, 0.0], [np.inf, 4.0, np.inf])
    for row in range(5):
        theirs, _ = optimize.curve_fit(law, SIZES, drawn.errors[row], p0=(0.5, 0.5, 0.9), bounds=bounds)
        ours = drawn.predict(SIZES)[row]
        assert ((ours - drawn.errors[row]) ** 2).sum() <= (
            (law(SIZES, *theirs) - drawn.errors[row]) ** 2
        ).sum() * 1.0001


def test_the_spread_is_the_standard_error() -> None:
    fit = fit_law(SIZES, OBJDET, loss="linear", fixed={"D": 0.48})
    alpha = bootstrap(fit, draws=2000, seed=0).theta[:, 0]
    stderr = fit.estimates["alpha"].stderr
    assert alpha.std() == pytest.approx(stderr, rel=0.25)


def test_draws_of_a_steep_law_are_numbers() -> None:
    """Refits to noise may have a rate by which a coefficient of 0 is multiplied with more than 1e308."""
    n, tokens = np.meshgrid([2.5e7, 1e8, 4e8, 1.6e9], [1e7, 3e7, 9e7, 2.7e8])
    errors = [2.713, 2.066, 3.159, 2.837, 1.517, 2.945, 2.222, 0.851, 1.294, 2.172, 2.250, 1.572, 1.321, 2.041, 0.848]
    sizes = np.stack([n.ravel(), tokens.ravel()], axis=1)
    drawn = bootstrap(fit_law(sizes, [*errors, 2.059], law=FREE_LAWS["coupled"]), draws=100)
    assert np.isfinite(drawn.predict(sizes)).all()
    level = FREE_LAWS["coupled"].in_unit(np.array([[4.0, 1.0, 1.0, 10.0, 0.0, 2.0]]), np.array([1e-8, 1e-8]))
    assert level[0, 4:].tolist() == [0, 2]
