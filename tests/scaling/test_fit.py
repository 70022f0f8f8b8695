"""Fits: published golden values, statuses, sentences."""

import numpy as np
import pytest

from scaling.examples import EXACT, OBJDET, SIZES
from transferscope.scaling import fit_law


def test_exact_data_give_the_parameters_back() -> None:
    fit = fit_law(SIZES, EXACT)
    assert fit.status == "converged"
    assert [fit.estimates[name].value for name in ("alpha", "D", "C")] == pytest.approx([0.45, 0.48, 0.93], rel=1e-6)


@pytest.mark.parametrize(("loss", "alpha", "C"), [("linear", 0.43871492, 0.93525540), ("log", 0.43853488, 0.93523922)])
def test_golden_values_with_the_published_D(loss: str, alpha: float, C: float) -> None:
    fit = fit_law(SIZES, OBJDET, loss=loss, fixed={"D": 0.48})  # type: ignore[arg-type]
    assert fit.estimates["alpha"].value == pytest.approx(alpha, abs=1e-6)
    assert fit.estimates["C"].value == pytest.approx(C, abs=1e-6)


def test_the_power_law_has_the_values_and_standard_errors_of_a_straight_line() -> None:
    fit = fit_law(SIZES, OBJDET, law="power")
    slope, offset = np.polyfit(np.log(SIZES), np.log(OBJDET), 1)
    assert fit.estimates["alpha"].value == pytest.approx(-slope, rel=1e-7)
    assert fit.estimates["D"].value == pytest.approx(np.exp(offset), rel=1e-7)
    design = np.stack([-np.log(SIZES), np.ones(7)], axis=1)
    variance = (fit.residuals**2).sum() / 5
    expected = np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0])
    assert fit.estimates["alpha"].stderr == pytest.approx(expected, rel=1e-6)


def test_what_the_data_do_not_determine_has_no_number() -> None:
    fit = fit_law(SIZES, OBJDET)
    assert fit.estimates["alpha"].status == "not_identified"
    assert np.isnan(fit.estimates["alpha"].value)
    assert fit.profiles["alpha"].open_below
    assert fit.profiles["alpha"].high == pytest.approx(0.555, abs=0.01)
    assert fit.profiles["C"].high == pytest.approx(0.9375, abs=0.001)


def test_a_floor_of_zero_is_a_bound() -> None:
    fit = fit_law(SIZES, 3 * SIZES**-0.4 * np.exp(0.01 * np.sin(np.arange(7) ** 2)))
    assert fit.estimates["C"].status == "at_bound"
    assert fit.estimates["C"].value == 0


def test_three_points_are_too_few_for_three_parameters() -> None:
    fit = fit_law(SIZES[:3], EXACT[:3])
    assert fit.status == "too_few"
    assert fit.notes == ("power+floor needs 4 different sizes and there are 3",)
    assert all(estimate.status == "too_few" for estimate in fit.estimates.values())
    assert np.isnan(fit.predict([1e5])).all()
    assert fit_law([1000.0] * 6, [0.5, 0.4, 0.45, 0.41, 0.42, 0.5]).status == "too_few"  # of one size


def test_no_pretraining_is_an_observation_where_the_law_allows_it() -> None:
    n, y = np.append(0.0, SIZES), np.append(0.99, EXACT)
    shifted, plain = fit_law(n, y, law="shifted-power"), fit_law(n, y)
    assert len(shifted.observations) == 8
    assert len(plain.observations) == 7
    assert plain.notes == ("left out 1 observation at size 0, where power+floor has no value",)


def test_rows_that_cannot_be_used_are_named() -> None:
    fit = fit_law([1000, 2000, np.nan, 4000, 8000, 16000, 32000], [0.5, 0.4, 0.3, -1.0, 0.0, 0.3, 0.28])
    assert fit.notes == (
        "left out 1 row with a size or error that is missing or not finite",
        "left out 1 row with a negative size or error",
        "left out 1 observation with error 0, which has no logarithm",
    )


def test_standard_errors_weigh() -> None:
    y = EXACT.copy()
    y[3] += 0.05
    stderr = np.full(7, 1e-4)
    stderr[3] = 10.0
    fit = fit_law(SIZES, y, stderr=stderr)
    assert fit.theta == pytest.approx([0.45, 0.48, 0.93], rel=1e-3)
