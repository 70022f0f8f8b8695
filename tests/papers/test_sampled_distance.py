"""W1 from samples, beside its own bias."""

import math

import numpy as np
import pytest

from transferscope_papers.problems import teachers_at_angle
from transferscope_papers.tahir2024.sampled_distance import reduced, sampled_bracket
from transferscope_papers.theory.distances import wasserstein_1


@pytest.mark.long
def test_the_lower_bound_of_a_task_with_itself_is_not_above_0() -> None:
    found = sampled_bracket(teachers_at_angle(2, theta=0.0, sigma=0.2), 300, np.random.default_rng(3), repeats=6)
    assert found.lower.stderr is not None
    assert found.lower.value < 3 * found.lower.stderr
    assert found.upper.value > 0.2


@pytest.mark.long
def test_the_bounds_close_in_on_the_distance() -> None:
    pair, generator = reduced(teachers_at_angle(2, theta=math.pi / 2, sigma=0.2)), np.random.default_rng(5)
    below, above = wasserstein_1(math.pi / 2, sigma=0.2)
    few, many = (sampled_bracket(pair, n, generator) for n in (100, 800))
    assert below < few.lower.value < many.lower.value < many.upper.value < above
    assert many.upper.value - many.lower.value < 0.2
