"""Every figure: its theory is quick and complete, its points lie where its lines do, simulation agrees on a sample."""

import math
import time

import numpy as np
import pytest

from papers.test_claims import SLOW_TO_DRAW
from transferscope.estimate import Estimate
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.draw import drawn_figure
from transferscope_papers.figure import Point, Simulated, TheoryFigure
from transferscope_papers.make import numbers_of
from transferscope_papers.tahir2024.fine_tuning import DecidingFigure
from transferscope_papers.tahir2024.relu import ReluFigure
from transferscope_papers.theory.fine_tuning import printed_transferability

NAMES = [pytest.param(name, marks=pytest.mark.long) if name in SLOW_TO_DRAW else name for name in sorted(FIGURES)]


@pytest.fixture(params=NAMES)
def figure(request: pytest.FixtureRequest) -> TheoryFigure:
    return FIGURES[request.param].configured(quick=True, changes={})


def test_theory_is_quick_and_every_line_has_its_panel(figure: TheoryFigure) -> None:
    started = time.process_time()
    theory = figure.theory()
    assert time.process_time() - started < 60
    panels = {panel.name for panel in theory.panels}
    assert {curve.panel for curve in theory.curves} <= panels
    assert {diagram.panel for diagram in theory.diagrams} <= panels
    assert {point.panel for point in figure.points()} <= panels
    for curve in theory.curves:
        assert curve.x.shape == curve.y.shape
        gap = np.isnan(curve.y)
        assert not gap.any() or (figure.name, curve.panel) == ("tahir2024-sparsification", "source")
    for diagram in theory.diagrams:
        assert diagram.values.shape == (len(diagram.y), len(diagram.x))
        assert not np.isnan(diagram.values).any()


def test_points_differ_and_have_their_own_seeds(figure: TheoryFigure) -> None:
    points = figure.points()
    assert len({repr(p) for p in points}) == len(points)
    assert sorted(repr(p) for group in figure.groups() for p in group) == sorted(map(repr, points))
    places = {(p.panel, p.series, p.x, p.y) for p in points}
    assert len({p.seed for p in points}) == len(places)
    if figure.name != "tahir2024-fig4-kernels":  # pairs of inputs of which the source's kernel is 0 lie on each other
        assert len(places) == len(points)


def test_points_are_expected_on_their_lines(figure: TheoryFigure) -> None:
    lines = {(curve.panel, curve.series): curve for curve in figure.theory().curves if not curve.dashed}
    for point in figure.points():
        curve = lines.get((point.panel, point.series))
        if curve is None or math.isnan(point.expected) or figure.name == "tahir2024-fig5":
            continue  # the curve of Figure 5 is a function of the angle, not of its own x
        if figure.name == "tahir2024-sparsification" and point.panel in ("scale", "width"):
            continue  # the lines of its spectrum are the limit of many inputs, points are expected at theirs
        on_line = float(np.interp(point.x, curve.x, curve.y))
        assert point.expected == pytest.approx(on_line, abs=0.02)


@pytest.mark.long
def test_a_figure_can_be_drawn_with_whatever_its_points_came_to(figure: TheoryFigure) -> None:
    ends = (Estimate(0.3, 0.1, 5, "converged"), Estimate(math.nan, None, 0, "non_finite"), Estimate(0.2, None, 1))
    simulated = [Simulated(point, ends[i % len(ends)]) for i, point in enumerate(figure.points())]
    drawn = figure.drawn(simulated)
    canvas = drawn_figure(drawn.theory, drawn.simulated)
    canvas.draw_without_rendering()
    assert len(canvas.axes) >= len(drawn.theory.panels)
    assert drawn.sentence or figure.claims()


def test_all_numbers_of_a_figure_are_rows() -> None:
    figure = FIGURES["tahir2024-fig7"].configured(quick=True, changes={})
    simulated = [Simulated(point, Estimate(point.expected, 0.1, 5, "converged")) for point in figure.points()]
    rows = numbers_of(figure, figure.drawn(simulated))
    assert (rows["kind"] == "theory").sum() == 200 * 200
    measured = rows[rows["kind"] == "simulation"]
    assert measured["y"].tolist() == [point.y for point in figure.points()]
    assert set(measured["z"]) == {0.0}


def test_relu_students_converge_and_heads_on_the_source_reach_the_closed_form() -> None:
    figure = FIGURES["tahir2024-fig4"].configured(quick=True, changes={"d": "8", "n_teacher": "8", "width": "60"})
    assert isinstance(figure, ReluFigure)
    group = [point for point in figure.points() if point.group == "μ = 0.5"]
    found = dict(zip([(p.panel, p.series, p.x) for p in group], figure.simulate(group), strict=True))
    assert {estimate.status for estimate in found.values()} == {"converged"}
    exact = next(point for point in group if point.panel == "outside")
    assert figure.agreement([Simulated(exact, found["outside", exact.series, 0.5])]).largest < 4
    before, after = (found["kernel", f"{when} pretraining", 0.5].value for when in ("before", "after"))
    assert before < 0.9 < after


def test_the_relu_figure_counts_signs_on_their_side_of_the_boundary() -> None:
    figure = ReluFigure(d=5, n_teacher=10, width=4, largest=100, seeds=1)
    outside = figure.theory().curves[0].y

    def risk(point: Point) -> float:
        return 0.3 * (point.x / 10) ** -1.0 if point.series == "from scratch" else 0.06

    simulated = [Simulated(point, Estimate(risk(point), 1e-4, 5, "converged")) for point in figure.points()]
    found = figure.conclude(simulated)
    # From scratch wins from n = 60 on (risk 0.05 < 0.06) at every share; theory says at n = 3/outside.
    sides = sum((n < 3 / share) == (n < 50) for share in outside for n in (20, 40, 60, 80, 100))
    assert found.sentence == (
        "risk from scratch falls as n^-1.00; of 25 simulated transferabilities 25 have a clear sign "
        f"(2 standard errors), and {sides} of these lie on their side of the predicted boundary"
    )
    assert found.diagrams[0].values.shape == (5, 5)
    np.testing.assert_allclose(found.diagrams[0].values[:, 0], [0.09, 0.015, -0.01, -0.0225, -0.03])


def test_settings_are_read_from_text() -> None:
    figure = FIGURES["tahir2024-fig3"].configured(quick=True, changes={"sigma": "1", "depth": "3"})
    assert figure.settings == {
        "d": 60,
        "sigma": 1.0,
        "depth": 3,
        "source_norm": 1.0,
        "seeds": 60,
    }
    assert FIGURES["tahir2024-fig3"].configured(quick=False, changes={}).settings["d"] == 500


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("tahir2024-fig1", "θ = π/4"),
        ("tahir2024-fig2", "n = 30"),
        ("shachaf2021-fig3", "frozen"),
        ("shachaf2021-fig2a", "2 layers"),
    ],
)
def test_simulation_agrees_with_theory_on_a_sample_of_points(name: str, series: str) -> None:
    changes = {"seeds": "30"} | ({"d": "20"} if name == "tahir2024-fig1" else {})
    figure = FIGURES[name].configured(quick=True, changes=changes)
    points = [point for point in figure.points() if point.series == series][1:4]
    found = figure.agreement([Simulated(point, figure.simulate([point])[0]) for point in points])
    assert len(found.z) == 3
    assert found.largest < 4


@pytest.mark.long
def test_gradient_descent_decides_between_the_printed_and_the_corrected_sign() -> None:
    figure = DecidingFigure(d=40, seeds=60)
    point = next(point for point in figure.points() if point.x == 54)
    estimate = figure.simulate([point])[0]
    assert estimate.stderr is not None
    assert abs(estimate.value - point.expected) < 4 * estimate.stderr
    printed = float(printed_transferability(math.radians(54), 0.5))
    assert printed > 0
    assert estimate.value + 2 * estimate.stderr < 0
