"""Averages over examples against the theorem on drawn examples, and against what is known in closed form."""

import math

import numpy as np
import pytest

from transferscope.data.problems import teachers_at_angle
from transferscope.errors import SettingsError
from transferscope.theory.fine_tuning import fine_tuned_weights, fine_tuning, fine_tuning_finite
from transferscope.theory.fine_tuning_average import fine_tuning_average


@pytest.mark.parametrize(
    ("d", "n", "theta", "sigma", "s", "tau", "depth"),
    [(20, 4, 1.0, 0.5, 0.5, 1.0, 3), (30, 10, 0.1, 0.0, 1.0, 3.5, 7), (12, 1, 2.0, 0.3, 1.0, 1.0, 2)],
)
def test_the_average_is_that_of_the_theorem_on_drawn_examples(
    d: int, n: int, theta: float, sigma: float, s: float, tau: float, depth: float
) -> None:
    generator = np.random.default_rng(5)
    pair = teachers_at_angle(d, theta=theta, sigma=sigma, source_norm=s, target_norm=tau)
    risks, gains, kappas = [], [], []
    for _ in range(1500):
        sample = pair.sample(n, generator)
        tuned = fine_tuned_weights(sample.inputs, sample.targets, pair.source.weights, depth=depth)
        scratch = np.linalg.lstsq(sample.inputs, sample.targets, rcond=None)[0]
        risks.append(float(pair.target.risk(tuned.weights)))
        gains.append(float(pair.target.risk(scratch)) - risks[-1])
        kappas.append(tuned.kappa)
    average = fine_tuning_average(theta, n, d, sigma=sigma, source_norm=s, target_norm=tau, depth=depth)
    for drawn, found in ((risks, average.risk), (gains, average.transferability), (kappas, average.kappa)):
        assert found.stderr is not None
        error = math.hypot(float(np.std(drawn)) / math.sqrt(len(drawn)), found.stderr)
        assert abs(float(np.mean(drawn)) - found.value) < 4 * error


def test_one_layer_is_the_exact_formula() -> None:
    average = fine_tuning_average(0.8, 7, 25, sigma=0.4, source_norm=2.0, depth=1)
    exact = fine_tuning_finite(0.8, 7, 25, sigma=0.4, source_norm=2.0, depth=1)
    assert average.risk.stderr is not None
    assert average.transferability.stderr is not None
    assert average.kappa.value == 1.0
    assert abs(average.risk.value - float(exact.risk)) < 4 * average.risk.stderr
    assert abs(average.transferability.value - float(exact.transferability)) < 4 * average.transferability.stderr


@pytest.mark.parametrize("depth", [2, 3, math.inf])
def test_large_problems_reach_the_limit(depth: float) -> None:
    average = fine_tuning_average(math.pi / 4, 20_000, 40_000, sigma=0.5, depth=depth, draws=4000)
    limit = fine_tuning(math.pi / 4, 0.5, sigma=0.5, depth=depth)
    assert abs(average.kappa.value - float(limit.kappa)) < 1e-3
    assert abs(average.risk.value - float(limit.risk)) < 2e-3


def test_nothing_of_the_source_is_left_with_enough_examples() -> None:
    average = fine_tuning_average(1.0, 30, 20, sigma=0.5, depth=3)
    assert average.transferability.value == 0.0
    assert average.risk.value == pytest.approx(0.25 * 20 / 9)
    assert fine_tuning_average(1.0, 20, 20, sigma=0.5).risk.status == "unbounded"
    assert fine_tuning_average(1.0, 19, 20, sigma=0.5).risk.status == "unbounded"
    assert fine_tuning_average(1.0, 19, 20, sigma=0.0).risk.status == "ok"


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(SettingsError) as wrong:
        fine_tuning_average(1.0, 0, 20, sigma=0.5)
    assert str(wrong.value) == "n = 0 is out of range; n must be at least 1"
