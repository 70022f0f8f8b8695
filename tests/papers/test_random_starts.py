"""merlin2020 from random starts: claims on drawn data, features compared as counted out, shares of few starts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from transferscope.estimate import Estimate
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.draw import drawn_figure
from transferscope_papers.figure import Point, Simulated
from transferscope_papers.merlin2020.random_starts import _share, _shared_feature_told
from transferscope_papers.theory.feature_recovery import recovery_probability

FIGURE = FIGURES["merlin2020-random-starts"].configured(quick=True, changes={})


def drawn_with(changed: dict[tuple[str, float], float]) -> list[bool | None]:
    """The verdicts when starts of MeRLin come to 1.8/k and the best of several to 1, but for what is changed."""

    def value(point: Point) -> float:
        usual = {"MeRLin": 1.8 / point.x, "k = 4,": 1.0}.get(point.series[:6], point.expected)
        return changed.get((point.series, point.x), usual)

    points = [Simulated(point, Estimate(value(point), 0.01, 100, "converged")) for point in FIGURE.points()]
    return [found.holds for found in FIGURE.check(FIGURE.drawn(points))]


def test_the_claims_stand_and_fall_with_what_is_drawn() -> None:
    assert drawn_with({}) == [True] * 5
    assert drawn_with({("pretraining, at a source minimum", 8.0): 0.2}) == [False, True, True, True, True]
    assert drawn_with({("k = 4, trained, best random start", 20.0): 0.8}) == [True, True, True, False, True]
    assert drawn_with({("MeRLin, 20 target examples", 16.0): 0.5}) == [True, True, True, True, False]
    assert drawn_with({("MeRLin, 20 target examples", 4.0): 0.95}) == [True] * 5
    theory = FIGURE.theory()
    for series, factor, expected in (("needed for 90%", 3.0, [False, False]), ("enough in", 0.3, [True, False])):
        curves = tuple(
            replace(curve, y=factor * curve.y) if curve.series.startswith(series) else curve for curve in theory.curves
        )
        drawn = replace(FIGURE.drawn([]), theory=replace(theory, curves=curves))
        assert [found.holds for found in FIGURE.check(drawn)[1:3]] == expected


@pytest.mark.parametrize(("n", "k"), [(3, 2), (6, 16), (8, 64)])
def test_features_that_are_compared_tell_as_often_as_was_counted_out(n: int, k: int) -> None:
    point = next(point for point in FIGURE.points() if point.series == "k = 16" and point.x == 6)
    found = _share(_shared_feature_told(point.seed, n, k, 400))
    assert found.stderr is not None
    assert abs(found.value - float(recovery_probability(n, k))) < 4 * found.stderr


def test_a_share_of_all_or_nothing_has_an_error() -> None:
    assert _share(np.ones(10, dtype=bool)).value == 1.0
    assert _share(np.ones(10, dtype=bool)).stderr == pytest.approx(math.sqrt(11 / 12 * 1 / 12 / 10))
    assert _share(np.zeros(0, dtype=bool)).status == "max_steps"


@pytest.mark.long
def test_pre_training_from_random_starts_finds_one_of_the_features() -> None:
    figure = FIGURES["merlin2020-random-starts"].configured(quick=True, changes={"starts": "40", "steps": "600"})
    points = [point for point in figure.points() if point.group == "pretraining" and point.x >= 8]
    found = figure.simulate(points)
    assert all(estimate.n >= 20 for estimate in found)
    assert figure.agreement([Simulated(*pair) for pair in zip(points, found, strict=True)]).largest < 4


def test_bars_of_shares_end_at_0_and_1_and_the_line_says_that_it_is_1_over_k() -> None:
    drawn = FIGURE.drawn(
        [Simulated(point, Estimate(float(i % 2), 0.1, 8, "converged")) for i, point in enumerate(FIGURE.points())]
    )
    canvas = drawn_figure(drawn.theory, drawn.simulated)
    for axes in canvas.axes[:2]:
        bars = [one.get_segments()[0][:, 1] for one in axes.collections if isinstance(one, LineCollection)]
        assert len(bars) >= 8
        for low, high in bars:  # Wilson with z = 1 and 8 trials of one kind: n/(n + 1)
            assert (low, high) in [(0.0, pytest.approx(1 / 9)), (pytest.approx(8 / 9), 1.0)]
    assert "1/k" in canvas.axes[0].get_title("left")
    assert canvas.legends[0].get_title().get_text() == "bars: ± 1 s.e., of shares Wilson's interval"
