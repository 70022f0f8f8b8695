import numpy as np
import pytest
from scipy import optimize

from scaling.examples import EXACT, OBJDET, SIZES
from transferscope.errors import SettingsError
from transferscope.scaling import bootstrap, fit_law


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
    assert stderr is not None
    assert alpha.std() == pytest.approx(stderr, rel=0.25)


@pytest.mark.long
def test_same_seed_same_draws() -> None:
    fit = fit_law(SIZES, OBJDET)
    first, second = bootstrap(fit, draws=5, seed=3), bootstrap(fit, draws=5, seed=3)
    np.testing.assert_array_equal(first.theta, second.theta)


def test_without_a_fit_there_is_nothing_to_resample() -> None:
    with pytest.raises(SettingsError) as caught:
        bootstrap(fit_law(SIZES[:3], EXACT[:3]), draws=10)
    assert str(caught.value) == (
        "a bootstrap of 10 draws was asked of a fit with status too_few; it takes at least one draw and more "
        "sizes than free parameters"
    )
