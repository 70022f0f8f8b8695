import math

import numpy as np
import pytest

from transferscope.estimate import Estimate
from transferscope_papers.simulate.agreement import agreement, z_score


def test_few_seeds_make_large_ratios_less_surprising() -> None:
    # Student's t with 4 degrees of freedom: P(t > 2.776) = 0.025, the normal quantile of which is 1.95996.
    assert z_score(Estimate(2.776445, 1.0, 5), 0.0) == pytest.approx(1.959964, abs=1e-5)
    assert z_score(Estimate(-2.776445, 1.0, 5), 0.0) == pytest.approx(-1.959964, abs=1e-5)


def test_a_known_error_shortens_the_distance() -> None:
    many = 10**7
    assert z_score(Estimate(1.3, 0.1, many), 1.0, known_error=0.1) == pytest.approx(2.0, abs=1e-5)
    assert z_score(Estimate(1.05, 0.1, many), 1.0, known_error=0.1) == 0


@pytest.mark.parametrize("estimate", [Estimate(1.0, None, 1), Estimate(1.0, 0.1, 9, "max_steps")])
def test_what_cannot_be_used_has_no_score(estimate: Estimate) -> None:
    assert math.isnan(z_score(estimate, 1.0))
    assert agreement([estimate, Estimate(1.0, 0.1, 9)], [1.0, 1.0]).n_unusable == 1


def test_honest_means_agree_and_shifted_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((300, 6))
    honest = [Estimate(float(row.mean()), float(row.std(ddof=1) / math.sqrt(6)), 6) for row in draws]
    fine, shifted = agreement(honest, [0.0] * 300), agreement(honest, [0.3] * 300)
    assert fine.largest < 4
    assert fine.p_value > 0.01
    assert abs(fine.beyond_two - 0.0455) < 0.036  # three standard errors of a share of 300
    assert shifted.p_value < 1e-6


def test_points_within_the_known_error_are_counted_and_not_tested() -> None:
    estimates = [Estimate(0.0005, 1e-6, 20), Estimate(0.02, 0.01, 400), Estimate(-0.005, 0.01, 400)]
    found = agreement(estimates, [0.0] * 3, known_error=0.001)
    assert found.n_within == 1
    assert found.sentence.endswith("; 1 within the known error")
    alone = agreement(estimates[:1], [0.0], known_error=0.001)
    assert alone.sentence == "1 points: all within the known error"
