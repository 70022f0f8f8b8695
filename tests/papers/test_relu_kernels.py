"""Gram matrices of tahir2024 Figure 4: the source's by hand, the students' symmetric and drawn as matrices."""

import numpy as np
from matplotlib.collections import QuadMesh

from transferscope.estimate import Estimate
from transferscope_papers.draw import drawn_figure
from transferscope_papers.figure import Point, Simulated
from transferscope_papers.tahir2024.relu_kernels import KernelFigure

SMALL = KernelFigure(d=6, n_teacher=4, width=40, n=5, seeds=2)


def test_students_come_closer_and_their_matrices_are_drawn() -> None:
    points = SMALL.points()
    assert len(points) == 2 * 15
    simulated = [Simulated(*pair) for pair in zip(points, SMALL.simulate(points), strict=True)]
    drawn = SMALL.drawn(simulated)
    assert [found.holds for found in SMALL.check(drawn)][1]
    for panel in ("pretrained", "start"):
        np.testing.assert_array_equal(drawn.map(panel).values, drawn.map(panel).values.T)
    canvas = drawn_figure(drawn.theory, drawn.simulated)
    canvas.canvas.draw()
    assert sum(any(isinstance(one, QuadMesh) for one in axes.collections) for axes in canvas.axes[:4]) == 3
    assert canvas.axes[0].yaxis_inverted()


def test_the_claims_are_about_the_distance_of_whole_matrices() -> None:
    def verdicts(before: float, after: float) -> list[bool | None]:
        def value(point: Point) -> float:
            return point.x * (1 + (before if point.series.startswith("before") else after))

        points = [Simulated(point, Estimate(value(point), 1e-6, 5, "converged")) for point in SMALL.points()]
        return [found.holds for found in SMALL.check(SMALL.drawn(points))]

    assert verdicts(0.4, 0.14) == [True, True]
    assert verdicts(0.4, 0.16) == [False, True]
    assert verdicts(0.2, 0.14) == [True, False]
