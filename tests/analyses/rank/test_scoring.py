"""Uncertainty of a score whose truth is known: the mean of independent numbers."""

import math

import numpy as np
import pytest
from scipy import stats

from transferscope.analyses.rank.ranking import RANDOM, RatedCandidate
from transferscope.analyses.rank.scoring import ScoreValues, rate


def means(samples: np.ndarray, *, status: tuple[str, ...] = ()) -> ScoreValues:
    """The mean as a score, on samples of shape (S, C, n), with every example a group of its own."""
    n = samples.shape[-1]
    without = (samples.sum(axis=-1, keepdims=True) - samples) / (n - 1)
    return ScoreValues(samples.mean(axis=-1), without, ("ok",) * samples.shape[1], n)


def rated(samples: np.ndarray, names: tuple[str, ...] = ("a", "b"), **options: object) -> tuple[RatedCandidate, ...]:
    return rate(names, means(samples), **{"overlap": 1.0, "networks_vary": False, **options})  # type: ignore[arg-type]


def test_one_subset_has_the_standard_errors_of_means_and_of_paired_differences() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = x - 0.1 + 0.2 * rng.normal(size=30)  # paired: far less spread in the difference than in either
    a, b = rated(np.stack([x, y])[None])
    assert a.place == 1
    assert b.place == 2
    assert a.behind is None
    assert a.score.stderr == pytest.approx(x.std(ddof=1) / math.sqrt(30), rel=1e-9)
    error = (x - y).std(ddof=1) / math.sqrt(30)
    assert b.behind.value == pytest.approx((x - y).mean())
    assert b.behind.stderr == pytest.approx(error, rel=1e-9)
    expected = stats.t.interval(0.95, 29, loc=(x - y).mean(), scale=error)
    assert (b.behind.interval.low, b.behind.interval.high) == pytest.approx(expected, abs=0.1 * error)
    assert a.probability_best == pytest.approx(stats.t.cdf((x - y).mean() / error, 29), abs=0.02)
    assert b.probability_best == pytest.approx(1.0 - (a.probability_best or 0.0))


def test_subsets_that_are_all_the_examples_say_no_more_than_one() -> None:
    sample = np.random.default_rng(1).normal(size=(1, 2, 25))
    once, thrice = rated(sample)[0], rated(np.repeat(sample, 3, axis=0))[0]
    assert once.score.stderr == pytest.approx(thrice.score.stderr)
    apart = rated(np.repeat(sample, 3, axis=0), overlap=1e-9)[0]
    assert apart.score.stderr == pytest.approx((once.score.stderr or 0) / math.sqrt(3), rel=1e-6)


def test_half_overlapping_subsets_have_the_spread_of_their_mean() -> None:
    rng = np.random.default_rng(2)
    n, pool, n_seeds, n_repeats = 20, 40, 3, 3000
    found = []
    for _ in range(n_repeats):
        x = rng.normal(size=pool)
        found.append(np.mean([x[rng.permutation(pool)[:n]].mean() for _ in range(n_seeds)]))
    samples = rng.normal(size=(n_seeds, 1, n))
    samples = (samples - samples.mean(axis=-1, keepdims=True)) / samples.std(axis=-1, ddof=1, keepdims=True)
    (one,) = rated(samples, ("a",), overlap=n / pool)
    spread = float(np.std(found))
    assert one.score.stderr == pytest.approx(spread, abs=4 * spread / math.sqrt(2 * n_repeats))


def test_networks_of_their_own_add_their_spread() -> None:
    values = np.array([0.3, 0.5, 1.0, 0.7])
    samples = np.repeat(values[:, None, None], 12, axis=2)  # no spread over examples
    (fixed,) = rated(samples, ("a",), overlap=0.01)
    (own,) = rated(samples, ("a",), overlap=0.01, networks_vary=True)
    assert fixed.score.stderr == pytest.approx(0.0, abs=1e-12)
    error = values.std(ddof=1) / 2
    assert own.score.stderr == pytest.approx(error)
    expected = stats.t.interval(0.95, 3, loc=values.mean(), scale=error)
    assert (own.score.interval.low, own.score.interval.high) == pytest.approx(expected, abs=0.2 * error)


def test_random_features_are_of_their_own_in_every_seed() -> None:
    values = np.array([[1.0, 0.3], [1.0, 0.5], [1.0, 0.7]])
    samples = np.repeat(values[:, :, None], 12, axis=2)
    fixed, random = rated(samples, ("a", RANDOM), overlap=0.01)
    assert fixed.score.stderr == pytest.approx(0.0, abs=1e-12)
    assert fixed.above_random.stderr == pytest.approx(0.2 / math.sqrt(3))
    assert random.behind.value == pytest.approx(0.5)


def test_equal_networks_share_the_first_place_and_its_chance() -> None:
    x = np.random.default_rng(3).normal(size=20)
    a, b = rated(np.stack([x, x])[None])
    assert (a.place, b.place) == (1, 1)
    assert (b.behind.value, b.behind.sign) == (0.0, 0)
    assert a.probability_best == pytest.approx(0.5)


def test_what_has_no_value_has_no_place_and_harms_no_other() -> None:
    rng = np.random.default_rng(4)
    scored = means(rng.normal(size=(1, 3, 15)) + np.array([1.0, 0.0, 0.0])[:, None])
    scored.values[0, 1] = math.nan
    scored = ScoreValues(scored.values, scored.without, ("ok", "too_few", "ok"), 15)
    a, b, random = rate(("a", "b", RANDOM), scored, overlap=0.5, networks_vary=False)
    assert (b.place, b.behind, b.above_random, b.probability_best) == (None, None, None, None)
    assert (b.score.status, b.score.interval) == ("too_few", None)
    assert (a.place, random.place) == (1, 2)
    assert a.above_random.value == pytest.approx(random.behind.value)
    assert random.above_random is None


def test_without_a_value_for_some_group_there_is_no_spread() -> None:
    scored = means(np.random.default_rng(5).normal(size=(1, 2, 15)))
    scored.without[0, 1, 3] = math.nan
    a, b = rate(("a", "b"), scored, overlap=0.5, networks_vary=False)
    worse = a if a.place == 2 else b
    assert (worse.behind.interval, worse.behind.stderr, a.probability_best) == (None, None, None)
    assert a.score.interval is not None
    assert b.score.interval is None
