"""The peak at n near d: accelerated training ends at least squares, and trained networks have the exact mean."""

import numpy as np
import pytest

from transferscope_papers.catalogue import FIGURES
from transferscope_papers.figure import Simulated
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


def test_trained_networks_have_the_exact_mean_on_both_sides_of_the_peak() -> None:
    figure = FIGURES["tahir2024-double-descent"].configured(quick=True, changes={"d": "20", "seeds": "30"})
    points = [point for point in figure.points() if (point.panel, point.series) == ("equal", "from scratch")]
    group = [point for point in points if point.x in (0.6, 1.3)]
    found = figure.agreement([Simulated(*pair) for pair in zip(group, figure.simulate(group), strict=True)])
    assert len(found.z) == 2
    assert found.largest < 4
