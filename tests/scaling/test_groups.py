import numpy as np
import pytest

from scaling.examples import EXACT, OBJDET, SIZES
from transferscope.errors import DataError
from transferscope.scaling import Observations, fit_hierarchical, fit_law, observe
from transferscope.scaling.laws import law_named
from transferscope.scaling.posterior import PowerPosterior
from transferscope_papers.mikami2021.common_d import common_d, fit_together


def study(D: float = 0.48, noise: float = 0.0) -> dict[str, Observations]:
    generator = np.random.default_rng(0)
    curves = {}
    for place, alpha in enumerate((0.3, 0.4, 0.5, 0.6)):
        y = D * SIZES**-alpha + 0.8 + 0.03 * place
        curves[f"task {place}"] = observe(SIZES, y * np.exp(noise * generator.standard_normal(7)))
    return curves


@pytest.mark.long
def test_groups_are_fitted_as_if_alone() -> None:
    groups = {"first": observe(SIZES, EXACT), "second": observe(SIZES[:6], OBJDET[:6]), "short": observe([1000], [0.5])}
    found = fit_together(groups, law=law_named("power+floor"))
    np.testing.assert_allclose(found.theta[0], [0.45, 0.48, 0.93], rtol=1e-5)
    np.testing.assert_allclose(found.theta[1], fit_law(SIZES[:6], OBJDET[:6]).theta, rtol=1e-3)
    assert np.isnan(found.theta[2]).all()


def test_the_true_D_is_a_fixed_point_of_the_common_D_procedure() -> None:
    result = common_d({"one": observe(SIZES, 0.5 * SIZES**-0.5 + 0.9)}, start=0.5)
    assert result.status == "converged"
    assert pytest.approx(0.5, rel=1e-5) == result.D
    assert result.alpha == pytest.approx(0.5, rel=1e-5)


def test_the_common_D_depends_on_its_start() -> None:
    low, high = (common_d(study(noise=0.001), start=start, max_passes=4) for start in (0.3, 0.7))
    assert high.D > 1.3 * low.D


def test_curves_of_a_study_sharpen_each_other() -> None:
    groups = study(noise=0.0015)
    together = fit_hierarchical(groups)
    alone = [fit_hierarchical({name: data}).posteriors[0] for name, data in groups.items()]
    assert together.pooled

    def width(posterior: PowerPosterior) -> float:
        return posterior.quantile(posterior.C, 0.95) - posterior.quantile(posterior.C, 0.05)

    assert np.mean([width(one) for one in together.posteriors]) < np.mean([width(one) for one in alone])
    for place, posterior in enumerate(together.posteriors):
        assert posterior.quantile(posterior.C, 0.5) == pytest.approx(0.8 + 0.03 * place, abs=0.02)


def test_two_groups_are_not_pooled_and_short_ones_are_left_out() -> None:
    found = fit_hierarchical({"a": observe(SIZES, EXACT), "b": observe(SIZES, OBJDET), "c": observe([1000], [0.5])})
    assert not found.pooled
    assert found.left_out == ("c",)
    with pytest.raises(DataError, match="no group has two different sizes above 0"):
        fit_hierarchical({"c": observe([1000], [0.5])})


def test_a_curve_that_rises_takes_no_part_in_what_the_others_share() -> None:
    falling = {"a": observe(SIZES, EXACT), "b": observe(SIZES, OBJDET), "d": observe(SIZES, 0.9 * EXACT)}
    rising = observe(SIZES, np.linspace(0.2, 0.9, len(SIZES)))
    alone, beside = fit_hierarchical(falling), fit_hierarchical({"rises": rising, **falling})
    assert beside.names == alone.names
    assert beside.left_out == ("rises",)
    np.testing.assert_array_equal(beside.mean, alone.mean)
    with pytest.raises(DataError, match="falls in no group"):
        fit_hierarchical({"rises": rising})
