"""The peak at n near d: accelerated training ends at least squares, and trained networks have the exact mean."""

import numpy as np
import pytest

from transferscope_papers.problems import teachers_at_angle
from transferscope_papers.simulate.linear_transfer import draw, from_scratch
from transferscope_papers.simulate.seeds import generator


@pytest.mark.parametrize(("n", "depth"), [(17, 2), (23, 2), (17, 4)])
def test_accelerated_training_next_to_the_peak_ends_at_least_squares_of_least_norm(n: int, depth: int) -> None:
    problem = teachers_at_angle(20, theta=0.0, sigma=0.5)
    found = from_scratch(draw([problem] * 5, [n] * 5, range(5)), depth=depth)
    assert set(found.status) == {"converged"}
    for seed, risk in enumerate(found.risk):
        sample = problem.sample(n, generator(seed))
        exact = np.linalg.pinv(sample.inputs) @ sample.targets
        assert risk == pytest.approx(float(problem.target.risk(exact)), rel=3e-3)
