"""Parameters of pairs whose parameters are known: two linear teachers."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from papers.truths import FAMILIES, Truth, drawn_truth
from transferscope.estimate import Estimate
from transferscope_papers.parameters import Numbers
from transferscope_papers.problems import teachers_at_angle
from transferscope_papers.tahir2024.pair_parameters import (
    N_DRAWS,
    PairEstimate,
    Unexplained,
    estimate_pair,
    ranged,
    unexplainable,
    unexplained,
)
from transferscope_papers.theory.effective_dimension import DimensionBand, dimension_band
from transferscope_papers.theory.placement import Pair, modelled_transferability, risk_draws

D, THETA, SIGMA, N_LABELS = 12, math.pi / 4, 0.5, 6
TRUE = Pair(math.sin(THETA) ** 2 / (1 + SIGMA**2), SIGMA**2 / (1 + SIGMA**2), float(D), 1.0)


def estimated(seed: int, n: int = 500) -> PairEstimate:
    generator = np.random.default_rng(seed)
    pair = teachers_at_angle(D, theta=THETA, sigma=SIGMA, generator=generator)
    sample = pair.sample(n, generator)
    features, codes = sample.inputs @ pair.source.weights[:, None], sample.targets[:, None]
    missed = [unexplained(features, codes)]
    dimensions = [dimension_band(features)]
    noise = unexplainable(sample.inputs, codes)
    return estimate_pair(missed, noise, dimensions, dimension_band(sample.inputs), n_examples=n)


@pytest.mark.long
def test_intervals_cover_what_is_true_of_linear_teachers() -> None:
    quantities: dict[str, Callable[[Pair], Numbers]] = {
        "share": lambda pair: pair.outside_share,
        "noise": lambda pair: pair.noise_level,
        "dimension": lambda pair: pair.input_dimension,
        "modelled": lambda pair: modelled_transferability(pair, N_LABELS),
    }
    covered = dict.fromkeys(quantities, 0)
    for seed in range(20):
        found = estimated(seed)
        for name, of in quantities.items():
            one = ranged(float(of(found.best)), np.asarray(of(found.draws), dtype=np.float64), n=500)
            assert one.interval is not None
            covered[name] += not one.interval.excludes(float(of(TRUE)))
    assert min(covered.values()) >= 16, covered  # 20 draws at 95 %: fewer has a probability below 0.3 %


def covered_of(truths: Sequence[Truth], level: float) -> int:
    """How often the interval of the model's transferability holds the true one."""
    held = 0
    for truth in truths:
        draws = risk_draws(truth.estimate.draws, truth.n).transferability
        value = float(modelled_transferability(truth.estimate.best, truth.n))
        interval = ranged(value, draws, n=300, level=level).interval
        assert interval is not None
        held += not interval.excludes(truth.gain)
    return held


@pytest.mark.slow
def test_intervals_of_90_percent_hold_85_to_97_percent_of_300_known_gains() -> None:
    truths = [drawn_truth(seed) for seed in range(300)]
    assert {truth.family for truth in truths} == set(FAMILIES)
    assert 0.85 <= covered_of(truths, 0.9) / 300 <= 0.97
    sure = [truth for truth in truths if surely_signed(truth)]
    assert len(sure) >= 30
    assert np.mean([signed(truth) == (truth.gain > 0) for truth in sure]) >= 0.9


def surely_signed(truth: Truth) -> bool:
    """Whether the 95 % interval of the model leaves 0 out."""
    draws = risk_draws(truth.estimate.draws, truth.n).transferability
    return ranged(float(modelled_transferability(truth.estimate.best, truth.n)), draws, n=300).sign != 0


def signed(truth: Truth) -> bool:
    """Whether the model says positive transfer."""
    return bool(modelled_transferability(truth.estimate.best, truth.n) > 0)


def test_a_pair_with_as_many_labels_as_directions_is_not_judged_by_a_peak() -> None:
    """One feature, 15 inputs, 15 labels, where least squares without a ridge has an infinite risk from scratch."""
    generator = np.random.default_rng(1)
    pair = teachers_at_angle(15, theta=0.6, sigma=0.3, generator=generator)
    gains = []
    for _ in range(400):
        sample = pair.sample(15, generator)
        features = sample.inputs @ pair.source.weights[:, None]
        scratch = np.linalg.solve(
            sample.inputs.T @ sample.inputs + 15 * 0.09 * np.eye(15), sample.inputs.T @ sample.targets
        )
        head = float(features[:, 0] @ sample.targets / (features[:, 0] @ features[:, 0]))
        gains.append(pair.target.risk(scratch) - pair.target.risk(head * pair.source.weights))
    measured = np.mean(gains) / 1.09
    true = Pair(math.sin(0.6) ** 2 / 1.09, 0.09 / 1.09, 15.0, 1.0)
    assert abs(float(modelled_transferability(true, 15)) - measured) < 0.05


def test_a_share_that_still_falls_widens_its_interval_downwards_only() -> None:
    found = Unexplained(Estimate(0.3, 0.0, 100), 0.1)
    assert abs(found.limit - 0.2) < 1e-12
    draws = found.draws(np.random.default_rng(0))
    assert 0.3 - 0.1 * (1 + math.sqrt(2)) <= draws.min() < draws.max() <= 0.3


def dimension(known: float) -> DimensionBand:
    return DimensionBand(Estimate(known, 0.0, 0), known)


def test_networks_that_differ_widen_the_interval() -> None:
    alike = [Unexplained(Estimate(0.4, 0.01, 100), 0.0)] * 3
    apart = [Unexplained(Estimate(value, 0.01, 100), 0.0) for value in (0.3, 0.4, 0.5)]
    noise, size = Unexplained(Estimate(0.1, 0.01, 100), 0.0), DimensionBand(Estimate(3.0, 0.1, 100), 4.0)
    one, other = (
        estimate_pair(missed, noise, [size] * 3, dimension(10.0), n_examples=100) for missed in (alike, apart)
    )
    assert abs(float(one.best.outside) - float(other.best.outside)) < 1e-12
    assert np.std(other.draws.outside) > 3 * np.std(one.draws.outside)


def test_features_that_explain_most_leave_nothing_outside() -> None:
    missed, noise = Unexplained(Estimate(0.1, 0.01, 100), 0.0), Unexplained(Estimate(0.3, 0.01, 100), 0.0)
    found = estimate_pair([missed], noise, [dimension(2.0)], dimension(5.0), n_examples=100)
    assert (found.best.outside, found.best.noise) == (0.0, 0.1)


def test_infinite_and_missing_values_have_a_status() -> None:
    infinite = ranged(math.inf, np.full(N_DRAWS, math.inf), n=5)
    assert (infinite.status, infinite.stderr) == ("unbounded", None)
    assert ranged(math.nan, np.zeros(N_DRAWS), n=5).status == "undefined"
