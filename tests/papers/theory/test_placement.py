"""The model of a pair: against the published theorems, and against ridge regression on drawn data."""

import math

import numpy as np
import pytest

from transferscope_papers.theory.effective_dimension import dimension_band, effective_dimension
from transferscope_papers.theory.linear_scratch import scratch_risk_ridged
from transferscope_papers.theory.placement import (
    MODEL_ERROR,
    Pair,
    linear_head_risk,
    modelled_transferability,
    risk_draws,
    scratch_risk,
)


def test_without_noise_the_risk_from_scratch_is_the_published_one() -> None:
    n = np.array([20, 100, 180, 260])
    pair = Pair(0.3, 0.0, 200.0, 1.0)
    np.testing.assert_allclose(scratch_risk(pair, n), np.maximum(1 - n / 200, 0), atol=1e-12)  # tahir2024 Theorem 3.6
    few = linear_head_risk(Pair(0.3, 0.1, 200.0, 1.0), np.array([50, 500, 5000]))
    np.testing.assert_allclose(few, 0.3 + 0.4 / np.array([50, 500, 5000]), atol=2e-3)  # tahir2024 Theorem 3.7


@pytest.mark.parametrize(("n", "d"), [(10, 40), (40, 40), (39, 40), (120, 40)])
@pytest.mark.parametrize("sigma", [0.1, 0.6])
def test_the_risk_from_scratch_is_that_of_the_best_ridge_on_drawn_data(n: int, d: int, sigma: float) -> None:
    generator = np.random.default_rng(3)
    risks = []
    for _ in range(300):
        x, teacher = generator.standard_normal((n, d)), generator.standard_normal(d) / math.sqrt(d)
        labels = x @ teacher + sigma * generator.standard_normal(n)
        weights = np.linalg.solve(x.T @ x + sigma**2 * d * np.eye(d), x.T @ labels)
        risks.append(float(((weights - teacher) ** 2).sum()))
    expected = float(scratch_risk_ridged(n, d, sigma=sigma))
    error = 4 * np.std(risks) / math.sqrt(len(risks))
    assert abs(np.mean(risks) - expected) < error + 0.06 * expected  # the formula is that of endless n and d


@pytest.mark.parametrize(("n", "k"), [(30, 8), (8, 15), (15, 15)])
def test_several_features_are_the_best_ridge_on_them(n: int, k: int) -> None:
    generator = np.random.default_rng(3)
    d, outside, noise, risks = 40, 0.3, 0.2, []
    for _ in range(1500):
        teacher = np.zeros(d)
        inside = generator.standard_normal(k)
        teacher[:k], teacher[-1] = math.sqrt(0.5) * inside / np.linalg.norm(inside), math.sqrt(outside)
        x = generator.standard_normal((n, d))
        labels = x @ teacher + math.sqrt(noise) * generator.standard_normal(n)
        seen = x[:, :k]
        head = np.linalg.solve(seen.T @ seen + k * (noise + outside) / 0.5 * np.eye(k), seen.T @ labels)
        risks.append(float(((head - teacher[:k]) ** 2).sum() + (teacher[k:] ** 2).sum()))
    expected = float(linear_head_risk(Pair(outside, noise, float(d), float(k)), n))
    assert abs(np.mean(risks) - expected) < 4 * np.std(risks) / math.sqrt(len(risks)) + 0.04 * expected


def test_nothing_jumps_where_examples_are_as_many_as_directions() -> None:
    n = np.arange(2, 200, dtype=np.float64)
    for k, d in ((1.0, 15.0), (12.0, 40.0), (39.0, 40.0)):
        pair = Pair(0.2, 0.1, d, k)
        for risk in (scratch_risk(pair, n), linear_head_risk(pair, n)):
            assert np.isfinite(risk).all()
            assert (np.diff(risk) <= 1e-12).all()  # more examples never hurt the best ridge
        assert np.abs(np.diff(modelled_transferability(pair, n))).max() < 0.1


@pytest.mark.parametrize("k", [20.0, 30.0])
def test_features_with_no_fewer_directions_than_the_inputs_never_help(k: int) -> None:
    n, share = np.array([5, 19, 20, 21, 80]), np.linspace(0, 1, 21)[:, None]
    assert (modelled_transferability(Pair(share * 0.9, 0.1, 20.0, k), n) <= 1e-12).all()


def test_risks_are_drawn_with_the_error_of_the_model() -> None:
    many = np.full(20_000, 0.2)
    draws = risk_draws(Pair(many, many / 2, many * 200, many * 10), 30)
    for found, exact in (
        (draws.scratch, scratch_risk(Pair(0.2, 0.1, 40.0, 2.0), 30)),
        (draws.transfer, linear_head_risk(Pair(0.2, 0.1, 40.0, 2.0), 30)),
    ):
        off = np.log(found / float(exact))
        assert abs(off.mean()) < 4 * MODEL_ERROR / math.sqrt(20_000)
        assert abs(off.std() - MODEL_ERROR) < 0.02 * MODEL_ERROR
    assert abs(np.corrcoef(draws.scratch, draws.transfer)[0, 1]) < 0.03


def test_the_band_of_dimensions_holds_equal_directions_and_opens_for_unequal_ones() -> None:
    generator = np.random.default_rng(0)
    equal = dimension_band(generator.standard_normal((3000, 12)))
    assert 11.5 < equal.low.value < 12.5
    assert equal.high == 12
    decaying = dimension_band(generator.standard_normal((3000, 50)) * np.arange(1, 51) ** -0.5)  # variances 1/i
    variances = 1 / np.arange(1, 51)
    assert abs(decaying.low.value - variances.sum() ** 2 / (variances**2).sum()) < 1
    held = np.cumsum(variances) / variances.sum()
    assert abs(decaying.high - (np.searchsorted(held, 0.99) + 1)) <= 1
    assert decaying.low.value < decaying.middle < decaying.high
    assert dimension_band(np.ones((50, 3))).low.status == "undefined"


def test_the_effective_dimension_counts_equal_directions_even_in_small_samples() -> None:
    generator = np.random.default_rng(0)
    values = [effective_dimension(generator.standard_normal((60, 30))).value for _ in range(200)]
    assert abs(np.mean(values) - 30) < 4 * np.std(values) / math.sqrt(200) + 0.5  # ratio of means: O(1/N) stays
    spectrum = np.array([4.0, 2.0, 1.0, 1.0])
    vectors = 5 + generator.standard_normal((20_000, 4)) * np.sqrt(spectrum)
    found = effective_dimension(vectors)
    assert found.stderr is not None
    assert abs(found.value - spectrum.sum() ** 2 / (spectrum**2).sum()) < 4 * found.stderr


def test_vectors_without_spread_have_no_dimension() -> None:
    assert effective_dimension(np.ones((50, 3))).status == "undefined"
    assert effective_dimension(np.eye(3)).status == "too_few"
