import numpy as np
import pytest

from scaling.examples import EXACT, OBJDET, SIZES
from transferscope.errors import DataError
from transferscope.scaling import Observations, fit_hierarchical, fit_law, observe
from transferscope.scaling.posterior import PowerPosterior
from transferscope_papers.mikami2021.common_d import PAPER_LAW, common_d


def study(D: float = 0.48, noise: float = 0.0) -> dict[str, Observations]:
    generator = np.random.default_rng(0)
    curves = {}
    for place, alpha in enumerate((0.3, 0.4, 0.5, 0.6)):
        y = D * SIZES**-alpha + 0.8 + 0.03 * place
        curves[f"task {place}"] = observe(SIZES, y * np.exp(noise * generator.standard_normal(7)))
    return curves


@pytest.mark.long
def test_a_pass_of_the_common_D_procedure_has_the_medians_of_fits_one_by_one() -> None:
    whole = [observe(SIZES, EXACT), observe(SIZES, OBJDET), observe(SIZES[:6], OBJDET[:6])]
    history, _ = common_d([*whole, observe([1000], [0.5])], start=0.5, max_passes=1)

    def alone(**held: float) -> np.ndarray:
        fits = [fit_law(one.sizes, one.errors, law=PAPER_LAW, loss="linear", fixed=held) for one in whole]
        return np.asarray(np.median([fit.theta for fit in fits], axis=0))

    medians = [alone(alpha=0.5)[1], alone(D=0.5)[0]]
    np.testing.assert_allclose(history[0], medians, rtol=1e-3)


def test_the_true_D_is_a_fixed_point_of_the_common_D_procedure() -> None:
    history, status = common_d([observe(SIZES, 0.5 * SIZES**-0.5 + 0.9)], start=0.5)
    assert status == "converged"
    assert history[-1] == pytest.approx([0.5, 0.5], rel=1e-5)


def test_the_common_D_depends_on_its_start() -> None:
    low, high = (common_d(study(noise=0.001).values(), start=start, max_passes=4)[0][-1, 0] for start in (0.3, 0.7))
    assert high > 1.3 * low


def test_curves_of_a_study_sharpen_each_other() -> None:
    groups = study(noise=0.0015)
    together = fit_hierarchical(groups)
    alone = [fit_hierarchical({name: data}).posteriors[0] for name, data in groups.items()]

    def width(posterior: PowerPosterior) -> float:
        return posterior.quantile(posterior.C, 0.95) - posterior.quantile(posterior.C, 0.05)

    assert np.mean([width(one) for one in together.posteriors]) < np.mean([width(one) for one in alone])
    for place, posterior in enumerate(together.posteriors):
        assert posterior.quantile(posterior.C, 0.5) == pytest.approx(0.8 + 0.03 * place, abs=0.02)


def test_two_groups_stand_alone_and_short_ones_are_left_out() -> None:
    found = fit_hierarchical({"a": observe(SIZES, EXACT), "b": observe(SIZES, OBJDET), "c": observe([1000], [0.5])})
    (alone,) = fit_hierarchical({"a": observe(SIZES, EXACT)}).posteriors
    np.testing.assert_array_equal(found.posteriors[0].weights, alone.weights)
    assert found.left_out == ("c",)
    with pytest.raises(DataError, match="no group has two different sizes above 0"):
        fit_hierarchical({"c": observe([1000], [0.5])})


def test_a_curve_that_rises_takes_no_part_in_what_the_others_share() -> None:
    falling = {"a": observe(SIZES, EXACT), "b": observe(SIZES, OBJDET), "d": observe(SIZES, 0.9 * EXACT)}
    rising = observe(SIZES, np.linspace(0.2, 0.9, len(SIZES)))
    alone, beside = fit_hierarchical(falling), fit_hierarchical({"rises": rising, **falling})
    assert beside.names == alone.names
    assert beside.left_out == ("rises",)
    for one, other in zip(beside.posteriors, alone.posteriors, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
    with pytest.raises(DataError, match="falls with size in no group"):
        fit_hierarchical({"rises": rising})
