"""Parameters of pairs whose parameters are known: two linear teachers."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from transferscope.data.problems import teachers_at_angle
from transferscope.errors import DataError
from transferscope.records import Estimate
from transferscope.study.pair_estimates import (
    N_DRAWS,
    PairEstimate,
    Unexplained,
    estimate_pair,
    ranged,
    unexplainable,
    unexplained,
)
from transferscope.theory.effective_dimension import effective_dimension
from transferscope.theory.parameters import Numbers
from transferscope.theory.placement import Pair, critical_share, expected_transferability

D, THETA, SIGMA, N_LABELS = 12, math.pi / 4, 0.5, 6
TRUE = Pair(math.sin(THETA) ** 2 / (1 + SIGMA**2), SIGMA**2 / (1 + SIGMA**2), float(D), 1.0)


def estimated(seed: int, n: int = 500) -> PairEstimate:
    generator = np.random.default_rng(seed)
    pair = teachers_at_angle(D, theta=THETA, sigma=SIGMA, generator=generator)
    sample = pair.sample(n, generator)
    features, codes = sample.inputs @ pair.source.weights[:, None], sample.targets[:, None]
    missed = [unexplained(features, codes)]
    dimensions = [effective_dimension(features)]
    noise = unexplainable(sample.inputs, codes)
    return estimate_pair(missed, noise, dimensions, effective_dimension(sample.inputs), n_examples=n)


def test_intervals_cover_what_is_true_of_linear_teachers() -> None:
    quantities: dict[str, Callable[[Pair], Numbers]] = {
        "share": lambda pair: pair.outside_share,
        "noise": lambda pair: pair.noise_level,
        "dimension": lambda pair: pair.input_dimension,
        "critical": lambda pair: critical_share(pair, N_LABELS),
        "expected": lambda pair: expected_transferability(pair, N_LABELS),
    }
    covered = dict.fromkeys(quantities, 0)
    for seed in range(20):
        found = estimated(seed)
        for name, of in quantities.items():
            one = ranged(float(of(found.best)), np.asarray(of(found.draws), dtype=np.float64), n=500)
            assert one.interval is not None
            covered[name] += not one.interval.excludes(float(of(TRUE)))
    assert min(covered.values()) >= 16, covered  # 20 draws at 95 %: fewer has a probability below 0.3 %


def test_what_is_expected_is_what_least_squares_gains() -> None:
    generator = np.random.default_rng(1)
    pair = teachers_at_angle(D, theta=THETA, sigma=SIGMA, generator=generator)
    gains = []
    for _ in range(4000):
        sample = pair.sample(N_LABELS, generator)
        scratch = np.linalg.lstsq(sample.inputs, sample.targets)[0]
        head = np.linalg.lstsq(sample.inputs @ pair.source.weights[:, None], sample.targets)[0]
        gains.append(pair.target.risk(scratch) - pair.target.risk(head[0] * pair.source.weights))
    measured = np.array(gains) / (1 + SIGMA**2)
    expected = float(expected_transferability(TRUE, N_LABELS))
    assert abs(measured.mean() - expected) < 4 * measured.std() / math.sqrt(len(measured))
    found = estimated(0)
    draws = expected_transferability(found.draws, N_LABELS)
    one = ranged(float(expected_transferability(found.best, N_LABELS)), draws, n=500)
    assert one.interval is not None
    assert not one.interval.excludes(float(measured.mean()))


def test_a_share_that_still_falls_widens_its_interval_downwards_only() -> None:
    found = Unexplained(Estimate(0.3, 0.0, 100), 0.1)
    assert abs(found.limit - 0.2) < 1e-12
    draws = found.draws(np.random.default_rng(0))
    assert 0.3 - 0.1 * (1 + math.sqrt(2)) <= draws.min() < draws.max() <= 0.3


def test_networks_that_differ_widen_the_interval() -> None:
    alike = [Unexplained(Estimate(0.4, 0.01, 100), 0.0)] * 3
    apart = [Unexplained(Estimate(value, 0.01, 100), 0.0) for value in (0.3, 0.4, 0.5)]
    noise, size = Unexplained(Estimate(0.1, 0.01, 100), 0.0), Estimate(3.0, 0.1, 100)
    one, other = (
        estimate_pair(missed, noise, [size] * 3, Estimate(10.0, 0.1, 100), n_examples=100) for missed in (alike, apart)
    )
    assert abs(float(one.best.outside) - float(other.best.outside)) < 1e-12
    assert np.std(other.draws.outside) > 3 * np.std(one.draws.outside)


def test_features_that_explain_most_leave_nothing_outside() -> None:
    missed, noise = Unexplained(Estimate(0.1, 0.01, 100), 0.0), Unexplained(Estimate(0.3, 0.01, 100), 0.0)
    found = estimate_pair([missed], noise, [Estimate(2.0, 0.0, 9)], Estimate(5.0, 0.0, 9), n_examples=100)
    assert (found.best.outside, found.best.noise) == (0.0, 0.1)


def test_infinite_and_missing_values_have_a_status() -> None:
    infinite = ranged(math.inf, np.full(N_DRAWS, math.inf), n=5)
    assert (infinite.estimate.status, infinite.estimate.stderr) == ("unbounded", None)
    assert ranged(math.nan, np.zeros(N_DRAWS), n=5).estimate.status == "undefined"


def test_too_few_examples_are_refused() -> None:
    with pytest.raises(DataError) as refused:
        unexplained(np.ones((6, 2)), np.arange(6.0)[:, None], what="the features pretrained on a")
    assert str(refused.value) == (
        "how much the features pretrained on a explain cannot be said from 6 target examples; expected at least 8 with "
        "labels that vary and features that are finite"
    )
