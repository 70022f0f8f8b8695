"""Placing a pair: the model against Theorem 3.7, against least squares on drawn data, and in words."""

import math

import numpy as np
import pytest

from transferscope.errors import SettingsError
from transferscope.numerics.intervals import Interval
from transferscope.numerics.ranged import Ranged
from transferscope.records import Estimate
from transferscope.theory.effective_dimension import effective_dimension
from transferscope.theory.linear_transfer import linear_transferability_finite, negative_transfer
from transferscope.theory.placement import (
    Pair,
    Placement,
    critical_share,
    expected_transferability,
    linear_head_risk,
)
from transferscope.theory.placement_words import in_words, limits


def pair_at(theta: float, sigma: float, d: float, k: float = 1.0) -> Pair:
    """tau = 1 in units of the variance of the labels, 1 + sigma^2."""
    total = 1 + sigma**2
    return Pair(math.sin(theta) ** 2 / total, sigma**2 / total, d, k)


def test_one_feature_is_the_published_theorem() -> None:
    golden = linear_head_risk(pair_at(math.pi / 3, 0.2, 200.0), 50) * 1.04
    np.testing.assert_allclose(golden, 0.7664583333, rtol=1e-9)
    n = np.array([3, 40, 150, 260])
    published = linear_transferability_finite(math.pi / 4, n, 200, sigma=0.5)
    np.testing.assert_allclose(expected_transferability(pair_at(math.pi / 4, 0.5, 200.0), n) * 1.25, published)


@pytest.mark.parametrize(("n", "k"), [(30, 5), (6, 15)])
def test_several_features_are_least_squares_on_them(n: int, k: int) -> None:
    generator = np.random.default_rng(3)
    d, outside, noise, risks = 40, 0.3, 0.2, []
    teacher = np.zeros(d)
    teacher[0], teacher[-1] = math.sqrt(0.5), math.sqrt(outside)  # inside the first k inputs, and outside
    for _ in range(4000):
        x = generator.standard_normal((n, d))
        head = np.linalg.lstsq(x[:, :k], x @ teacher + math.sqrt(noise) * generator.standard_normal(n))[0]
        risks.append(float(((head - teacher[:k]) ** 2).sum() + (teacher[k:] ** 2).sum()))
    expected = float(linear_head_risk(Pair(outside, noise, float(d), float(k)), n))
    assert abs(np.mean(risks) - expected) < 4 * np.std(risks) / math.sqrt(len(risks))


def test_the_sign_changes_at_the_critical_share_and_only_there() -> None:
    n = np.array([8, 30, 75, 300])
    pair = Pair(0.4, 0.1, 50.0, 3.0)
    share = critical_share(pair, n)
    assert np.isfinite(share).all()
    at, below, above = (Pair(np.clip(x, 0, 1) * 0.9, 0.1, 50.0, 3.0) for x in (share, share - 0.01, share + 0.01))
    inside = (share > 0.01) & (share < 0.99)
    assert inside.sum() >= 2
    np.testing.assert_allclose(expected_transferability(at, n)[inside], 0, atol=1e-12)
    assert (expected_transferability(below, n)[inside] > 0).all()
    assert (expected_transferability(above, n)[inside] < 0).all()


def test_the_critical_share_tends_to_the_published_boundary() -> None:
    sigma, d = 0.3, 1_000_000.0
    gamma = 1.4
    share = float(critical_share(pair_at(0.1, sigma, d), gamma * d))
    theta = math.asin(math.sqrt(share))
    assert abs(float(negative_transfer(theta, sigma=sigma).from_above) - gamma) < 1e-3


def test_infinite_risks_are_infinite_and_out_of_range_is_refused() -> None:
    pair = Pair(0.2, 0.1, 20.0, 5.0)
    assert expected_transferability(pair, np.array([5, 20])).tolist() == [-math.inf, math.inf]
    assert critical_share(pair, np.array([5, 20])).tolist() == [-math.inf, math.inf]
    with pytest.raises(SettingsError) as wrong:
        Pair(1.2, 0.0, 10.0, 1.0)
    assert str(wrong.value) == "outside = 1.2 is out of range; outside must be between 0 and 1"


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


def ranged(value: float, low: float, high: float, n: int = 100) -> Ranged:
    return Ranged(Estimate(value, (high - low) / 4, n), Interval(low, high))


def placement(**changes: object) -> Placement:
    fields: dict[str, object] = {
        "source": "glyphs",
        "n_source": 1000,
        "n_target": 50,
        "method": "linear-probe",
        "n_examples": 100,
        "kind": "regression",
        "outside_share": ranged(0.3, 0.25, 0.35),
        "noise_level": ranged(0.2, 0.1, 0.3),
        "input_dimension": ranged(25, 24, 26),
        "feature_dimension": ranged(4, 3, 5),
        "examples_per_dimension": ranged(2, 1.9, 2.1),
        "critical_share": ranged(0.1, 0.05, 0.15),
        "expected": ranged(-0.2, -0.3, -0.1),
        "chance_negative": 1.0,
        "measured": ranged(0.1, 0.05, 0.15, n=3),
        "gap": ranged(0.3, 0.2, 0.4, n=3),
    }
    return Placement(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_placement_in_words() -> None:
    assert in_words(placement()) == (
        "From glyphs (1000 examples) with 50 labels: 30 % (25 to 35) of the target function lies outside the "
        "pretrained features; the noise is 0.2 (0.1 to 0.3) of its spread; 50 labels are 2 (1.9 to 2.1) for "
        "each of the 25 (24 to 26) directions of the inputs, and the features have 4 (3 to 5). The linear-"
        "transfer model expects a transferability of −0.2 (−0.3 to −0.1), negative. It turns negative where "
        "more than 10 % (5 to 15) lies outside: the pair is above the boundary by 20 points. Measured "
        "(linear-probe against scratch, 3 seeds): +0.1 (+0.05 to +0.15), 0.3 above the model (0.2 to 0.4): "
        "the signs differ, so this pair is not what the model describes."
    )


def test_what_cannot_be_said_is_said() -> None:
    nothing = Ranged(Estimate(math.nan, None, 0, "undefined"), None)
    unmeasured = in_words(placement(method="", measured=nothing, gap=nothing))
    assert unmeasured.endswith("the study has no linear probe; add [methods.linear-probe] to its file.")
    infinite = Ranged(Estimate(-math.inf, None, 100, "unbounded"), Interval(-math.inf, 0.1))
    near = in_words(placement(expected=infinite, critical_share=infinite, chance_negative=0.9, gap=nothing))
    assert "no finite expectation here, because the number of labels is near k (negative with probability 90 %)" in near
    agreeing = in_words(placement(expected=ranged(0.1, -0.1, 0.3), gap=ranged(0.01, -0.2, 0.2), chance_negative=0.2))
    assert "of either sign (negative with probability 20 %)" in agreeing
    assert agreeing.endswith("they agree within what is known of both.")
    assert "cross-entropy" in limits({"classification"})
    assert "cross-entropy" not in limits({"regression"})


def test_records_are_named_numbers() -> None:
    records = {record.name: record.estimate.value for record in placement().records()}
    assert records["placement/outside_share"] == 0.3
    assert records["placement/gap"] == 0.3
    assert len(records) == 9
