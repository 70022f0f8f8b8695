import numpy as np
import pytest

from scaling.examples import GRID, OBJDET, SIZES, product_surface
from transferscope.errors import DataError, SettingsError
from transferscope.scaling import observe
from transferscope.scaling.advice.advise import advise, variant_gain
from transferscope.scaling.advice.budget import best_split, cheapest_split, next_surface_run
from transferscope.scaling.advice.costs import Costs
from transferscope.scaling.laws import law_named
from transferscope.scaling.posterior import power_posterior

STEEP = 3.0 * SIZES**-0.4 + 0.05
"""Falls from 0.24 to 0.086; reaches 0.06 at n = 1,600,000."""


@pytest.mark.parametrize(
    ("errors", "target", "limit", "scenario"),
    [
        (STEEP, 0.2, None, "reached"),
        (STEEP, 0.07, None, "b"),
        (STEEP, 0.01, None, "c"),
        (STEEP, 0.07, 80_000.0, "d"),
        (OBJDET, 0.93, None, "a"),
    ],
)
def test_scenarios(errors: np.ndarray, target: float, limit: float | None, scenario: str) -> None:
    advice = advise(SIZES, errors, target_error=target, largest_size=limit)
    assert advice.decision.scenario == scenario


def test_the_size_needed_is_bracketed() -> None:
    decision = advise(SIZES, STEEP, target_error=0.07).decision
    needed = (0.02 / 3.0) ** (-1 / 0.4)
    assert decision.size_needed.low < needed < decision.size_needed.high


def test_the_better_variant_has_the_smaller_gap() -> None:
    first = power_posterior(observe(SIZES, STEEP + 0.1))
    second = power_posterior(observe(SIZES, STEEP))
    gain = variant_gain(first, second)
    assert gain.lower_gap > 0.95
    assert gain.gap.low < -0.1 < gain.gap.high


@pytest.mark.long
def test_a_budget_goes_where_it_helps() -> None:
    y = law_named("product").value(GRID, np.array([[0.05, 0.4, 5.0]]))[0]
    surface = product_surface(y)
    costs = Costs(per_pretrain=1.0, per_label=1.0)
    plan = best_split(surface, costs, 200_000.0)
    assert plan.sizes[1] > 2 * plan.n
    assert plan.cost == pytest.approx(200_000.0)
    with pytest.raises(SettingsError, match="budget = 10 is out of range; expected at least"):
        best_split(surface, costs, 10.0)


@pytest.mark.parametrize("target", [0.06, 0.02, 0.0123456])
def test_the_cheapest_way_to_a_target_is_that_of_the_law(target: float) -> None:
    """Of D n^-a s^-b at costs c and k: a / (c n) = b / (k s) on the curve where the error is the target."""
    a, b, coefficient, c, k, run = 0.2, 0.3, 9.0, 0.01, 0.5, 7.0
    surface = product_surface(law_named("product").value(GRID, np.array([[a, b, coefficient]]))[0])
    n = (coefficient / target * (a * k / (b * c)) ** b) ** (1 / (a + b))
    s = b * c * n / (a * k)
    found = cheapest_split(surface, Costs(c, k, run), target)
    assert found.cost == pytest.approx(c * n + k * s + run, rel=1e-9)
    assert found.sizes == pytest.approx((n, s), rel=1e-4)
    assert found.error == pytest.approx(target, rel=1e-9)
    assert found.error <= target
    best = best_split(surface, Costs(c, k, run), float(found.cost or 0))
    assert (best.error, best.sizes[1]) == pytest.approx((target, s), rel=1e-4)
    if target < surface.least_error:
        searched = next_surface_run(surface, target_error=target, costs=Costs(c, k, run))
        assert searched.reached == pytest.approx(1)  # every draw is the law itself


def test_plans_keep_to_the_largest_feasible_size() -> None:
    surface = product_surface(law_named("product").value(GRID, np.array([[0.2, 0.3, 9.0]]))[0])
    costs, most = Costs(0.01, 0.5), 100_000.0
    found = cheapest_split(surface, costs, 0.02, largest_size=most)
    assert found.n == pytest.approx(most)
    assert found.sizes[1] == pytest.approx((9.0 / 0.02 * most**-0.2) ** (1 / 0.3), rel=1e-9)
    best = best_split(surface, costs, float(found.cost or 0), largest_size=most)
    assert best.error == pytest.approx(0.02)
    searched = next_surface_run(surface, target_error=0.02, costs=costs, largest_size=most)
    assert searched.plan[0] <= most * (1 + 1e-9)


def test_the_next_run_is_feasible() -> None:
    limit = 1.5 * SIZES[-1]
    run = advise(SIZES, STEEP, target_error=0.08, largest_size=limit).next_run
    assert run.sizes[0] == limit


def test_an_error_of_zero_reaches_any_target() -> None:
    advice = advise(SIZES[:4], [0.3, 0.2, 0.0, 0.0], target_error=0.1)
    assert advice.decision.scenario == "reached"
    assert advice.forecast.sizes[0] == 2 * SIZES[3]
    with pytest.raises(DataError, match="every error from n = 1,000 on is 0; there is nothing left to predict"):
        advise(SIZES[:3], [0.0, 0.0, 0.0], target_error=0.1)
