"""The posterior over several laws: closed forms of its draws, and coverage of truths of every law."""

import numpy as np
import pytest
from scipy import optimize

from scaling.examples import OBJDET, SIZES
from transferscope.scaling import advise, observe
from transferscope.scaling.averaging import PRIORS, AveragedPosterior, averaged_posterior
from transferscope.scaling.laws import law_named
from transferscope.scaling.posterior import power_posterior

THETA = {
    "power": [0.4, 3.0],
    "power+floor": [0.4, 3.0, 0.05],
    "shifted-power": [0.5, 9000.0, 12.0, 0.04],
    "saturating-power": [0.5, 1e6, 6.0],
    "sigmoid": [0.6, 5000.0, 1.5, 0.4, 0.06],
    "broken-power": [0.2, 0.4, 12000.0, 0.3, 1.5, 0.03],
}


@pytest.mark.parametrize("name", PRIORS)
def test_limits_and_sizes_are_those_of_the_formula(name: str) -> None:
    law, theta = law_named(name), np.array([THETA[name]])
    one = AveragedPosterior({name: theta}, np.ones(1), 0.01, (1000.0, 64000.0))

    def value(x: float) -> float:
        return float(law.value(np.array([[x]]), theta)[0, 0])

    assert one.C[0] == pytest.approx(value(1e120), abs=1e-9)
    for size in (500.0, 70_000.0, 3e6, 1e12):
        assert one.size_for(value(size))[0] == pytest.approx(size, rel=0.05)
    assert np.isinf(one.size_for(0.999 * one.C[0])[0] if one.C[0] > 0 else one.size_for(1e-30)[0])


@pytest.mark.parametrize("name", PRIORS)
def test_a_curve_of_any_law_is_predicted_by_the_average(name: str) -> None:
    """With 1 % of noise, the error at 16 times the largest size is within the interval."""
    law, theta = law_named(name), np.array([THETA[name]])
    y = law.value(SIZES[:, None], theta)[0] * np.exp(0.01 * np.random.default_rng(3).standard_normal(7))
    data = observe(SIZES, y)
    averaged = averaged_posterior(data, power_floor=power_posterior(data))
    assert averaged.weights.sum() == pytest.approx(1)
    assert sum(averaged.shares.values()) == pytest.approx(1)
    ahead = 16 * SIZES[-1:]
    drawn = averaged.predict(ahead)[:, 0]
    truth = law.value(ahead[:, None], theta)[0, 0]
    assert averaged.quantile(drawn, 0.02) <= truth <= averaged.quantile(drawn, 0.98)


@pytest.mark.long
@pytest.mark.parametrize(("name", "least"), [("shifted-power", 0.8), ("broken-power", 0.75)])
def test_size_needed_is_covered_where_the_power_law_is_wrong(name: str, least: float) -> None:
    """Under the power law with a floor alone about half of these were."""
    law, covered = law_named(name), []
    for seed in range(16):
        generator = np.random.default_rng(seed)
        theta = np.array([THETA[name]])
        theta[0, 0] *= np.exp(generator.uniform(-0.4, 0.4))
        y = law.value(SIZES[:, None], theta)[0] * np.exp(0.005 * generator.standard_normal(7))
        size = 64_000 * generator.uniform(2, 20)
        target = float(law.value(np.array([[size]]), theta)[0, 0])
        data = observe(SIZES, y)
        averaged = averaged_posterior(data, power_floor=power_posterior(data))
        needed = averaged.size_for(target)
        covered.append(averaged.quantile(needed, 0.05) <= size <= averaged.quantile(needed, 0.95))
    assert np.mean(covered) >= least


def test_the_evidence_knows_the_law_that_made_a_clear_curve() -> None:
    x = 1000.0 * 2.0 ** np.arange(9)
    y = 12 * (x + 30_000) ** -0.5 + 0.02
    data = observe(x, y)
    shares = averaged_posterior(data, power_floor=power_posterior(data), temper=1.0).shares
    assert shares["shifted-power"] > 10 * shares["power+floor"]
    best = optimize.minimize_scalar(lambda a: np.ptp(y / x**-a), bounds=(0.01, 2), method="bounded").x
    assert best < 0.5  # no pure power law has its rate


def test_a_known_error_of_guessing_is_where_some_curves_start() -> None:
    """The added draws begin at chance, and none does where chance is not above what was measured."""
    x = 5.0 * 2.0 ** np.arange(5)
    data = observe(x, 0.1 + 0.8 / (1 + x / 4) ** 1.2)
    alone = power_posterior(data)
    plain, low = (averaged_posterior(data, power_floor=alone, chance=chance) for chance in (None, 0.2))
    found = averaged_posterior(data, power_floor=alone, chance=0.9)
    added = found.theta["shifted-power"][len(plain.theta["shifted-power"]) :]
    start = law_named("shifted-power").value(np.array([[0.0]]), added)
    np.testing.assert_allclose(start, 0.9, rtol=1e-9)
    assert len(added) > 0
    assert len(low.theta["shifted-power"]) == len(plain.theta["shifted-power"])
    truth = 0.1 + 0.8 / (1 + 320 / 4) ** 1.2
    widths = [
        np.ptp([one.quantile(one.predict(np.array([320.0]))[:, 0], q) for q in (0.05, 0.95)]) for one in (plain, found)
    ]
    assert widths[1] < 1.2 * widths[0]
    predicted = found.predict(np.array([320.0]))[:, 0]
    assert found.quantile(predicted, 0.05) < truth < found.quantile(predicted, 0.95)


def test_the_decision_is_that_of_the_average() -> None:
    advice = advise(SIZES, OBJDET, target_error=0.93)
    size = advice.averaged.size_for(0.93)
    assert advice.decision.size_needed.low == advice.averaged.quantile(size, 0.05)
    assert advice.decision.feasible == advice.averaged.probability(size <= advice.decision.largest_size)


def test_without_costs_the_next_run_is_chosen_by_time() -> None:
    errors = 3.0 * SIZES**-0.4 + 0.05
    advice = advise(SIZES, errors, target_error=0.06)
    assert advice.next_run.sizes[0] < 16 * SIZES[-1]
    assert advice.next_run.cost is None
