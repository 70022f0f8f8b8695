import numpy as np
import pytest

from scaling.examples import GRID, OBJDET, SIZES, product_surface
from transferscope.errors import DataError, SettingsError
from transferscope.scaling import observe
from transferscope.scaling.advice import Costs, advise, best_split, variant_gain
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
    assert advice.decision is not None
    assert advice.decision.scenario == scenario


def test_the_size_needed_is_bracketed() -> None:
    decision = advise(SIZES, STEEP, target_error=0.07).decision
    assert decision is not None
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
    assert plan.finetune_size > 2 * plan.pretrain_size
    assert plan.cost == pytest.approx(200_000.0)
    with pytest.raises(SettingsError) as poor:
        best_split(surface, costs, 10.0)
    assert str(poor.value) == (
        "the budget 10 does not pay for the smallest measured run, which costs 3000; give a larger one"
    )


def test_the_next_run_is_feasible() -> None:
    limit = 1.5 * SIZES[-1]
    run = advise(SIZES, STEEP, target_error=0.08, largest_size=limit).next_run
    assert run is not None
    assert run.pretrain_size == limit


def test_an_error_of_zero_reaches_any_target() -> None:
    advice = advise(SIZES[:4], [0.3, 0.2, 0.0, 0.0], target_error=0.1)
    assert advice.decision is not None
    assert advice.decision.scenario == "reached"
    assert advice.forecast.sizes[0] == 2 * SIZES[3]
    with pytest.raises(DataError) as nothing:
        advise(SIZES[:3], [0.0, 0.0, 0.0], target_error=0.1)
    assert str(nothing.value) == "every measured error is 0, so there is nothing left to predict"


def test_wrong_questions_are_sentences() -> None:
    with pytest.raises(DataError) as few:
        advise([1000], [0.5])
    assert str(few.value) == (
        "advice was asked with 1 different pre-training size(s) above 0; measure at least 2, better 5, such as 1000, "
        "2000, 4000, 8000 and 16000"
    )
    with pytest.raises(SettingsError) as target:
        advise(SIZES, OBJDET, target_error=-1.0)
    assert str(target.value) == "target_error = -1.0 is out of range; expected a number above 0, such as 0.1"
    with pytest.raises(SettingsError) as costs:
        Costs(-1.0)
    assert str(costs.value) == "the costs are (-1.0, 0.0, 0.0); expected numbers of at least 0, not all 0"
