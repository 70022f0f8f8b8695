"""Pretraining compared with a plain loop, and with the closed form of the remainder of its start."""

import numpy as np
import pytest

from transferscope.estimate import Estimate
from transferscope_papers.figure import Simulated
from transferscope_papers.make import numbers_of
from transferscope_papers.tahir2024.pretrained import PretrainedFigure
from transferscope_papers.theory.sparsification import remaining_features

FIGURE = PretrainedFigure(d=10, seeds=2, targets=2)


@pytest.mark.long
@pytest.mark.parametrize("depth", [2, 3])
def test_features_keep_their_start_beside_the_source(depth: int) -> None:
    points = [point for point in FIGURE.points() if point.parameters["depth"] == depth and point.x == 0.01]
    point = next(point for point in points if point.panel == "scale")
    found = FIGURE.simulate([point])[0]
    assert found.status == "converged"
    largest = float(remaining_features(0.01, 10, depth=depth, width=10))
    assert 0.6 * largest < found.value < 1.1 * largest


def test_the_line_of_a_finite_source_has_a_gap_at_the_peak() -> None:
    points = [Simulated(point, Estimate(0.5, 0.1, 2)) for point in FIGURE.points()]
    rows = numbers_of(FIGURE, FIGURE.drawn(points))
    line = rows[(rows["panel"] == "source") & (rows["series"] == "two layers") & (rows["kind"] == "theory")]
    at_peak = np.abs(line["x"] * FIGURE.d - FIGURE.d) <= 3
    assert (line["value"].isna() == at_peak).all()
    assert at_peak.any()
    assert set(line.loc[at_peak, "status"]) == {"undefined"}
