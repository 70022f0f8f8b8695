"""What the papers say of their figures, checked on what is drawn: agreement with simulation cannot see that."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from transferscope.estimate import Estimate
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.figure import Drawn, Point, Simulated, TheoryFigure
from transferscope_papers.made import ClaimSeen
from transferscope_papers.mikami2021.rates import cases_of
from transferscope_papers.shachaf2021.teachers import AlignmentFigure, ScaleFigure

COMPUTED = (
    "tahir2024-fig1",
    "tahir2024-fig2",
    "tahir2024-fig6",
    "shachaf2021-fig1",
    "shachaf2021-fig2a",
    "shachaf2021-fig2b",
)
"""Figures whose claims need no simulation: theory has a value for every point."""

SLOW_TO_DRAW = ("shachaf2021-fig2a", "shachaf2021-fig2b", "tahir2024-fig5", "tahir2024-sparsification")


def quick(name: str) -> TheoryFigure:
    return FIGURES[name].configured(quick=True, changes={})


def as_expected(figure: TheoryFigure) -> list[Simulated]:
    """Points at the values that theory has for them, known to a millionth."""
    return [Simulated(point, Estimate(point.expected, 1e-6, 100, "converged")) for point in figure.points()]


def simulate(figure: TheoryFigure) -> list[Simulated]:
    return [
        Simulated(point, estimate)
        for points in figure.groups()
        for point, estimate in zip(points, figure.simulate(points), strict=True)
    ]


def check(figure: TheoryFigure, simulated: list[Simulated]) -> tuple[ClaimSeen, ...]:
    return figure.check(figure.drawn(simulated))


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_has_claims_with_their_sources(name: str) -> None:
    claims = FIGURES[name].claims()
    assert claims
    assert len({claim.sentence for claim in claims}) == len(claims)
    assert all(
        claim.source.split(",")[0].split()[-1] in {"liu2019", "tahir2024", "shachaf2021", "mikami2021", "merlin2020"}
        for claim in claims
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * name.startswith("shachaf2021-fig2")) for name in COMPUTED]
)
def test_what_is_computed_bears_the_claims_out(name: str) -> None:
    figure = quick(name)
    for found in check(figure, as_expected(figure)):
        assert found.holds is not bool(found.exception), found.sentence


def test_a_point_on_the_border_of_a_region_is_of_no_region() -> None:
    figure = FIGURES["tahir2024-fig1"].configured(quick=True, changes={"sigma": "0.5"})
    for found in check(figure, as_expected(figure)):
        assert found.holds, found.sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"shachaf2021-table1"}))
def test_what_is_drawn_at_the_quick_profile_bears_the_claims_out(name: str) -> None:
    figure = quick(name)
    for found in check(figure, simulate(figure)):
        assert found.holds or found.exception, found.sentence


@pytest.mark.long
@pytest.mark.real_data
def test_the_order_of_the_bounds_comes_out() -> None:
    figure = FIGURES["shachaf2021-table1"].configured(quick=True, changes={"draws": "12"})
    for found in check(figure, simulate(figure)):
        assert found.holds, found.sentence


def distorted(drawn: Drawn) -> Iterator[Drawn]:
    """The same panels with other contents: turned round, of the other sign, shuffled, without any variation."""
    generator = np.random.default_rng(0)
    ways: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda values: values[::-1],
        lambda values: -values,
        lambda values: generator.permutation(values.ravel()).reshape(values.shape),
        lambda values: generator.standard_normal(values.shape),
        lambda values: np.full(values.shape, 0.5),
        lambda values: np.full(values.shape, -0.5),
    ]
    for way in ways:
        values = way(np.array([item.estimate.value for item in drawn.simulated]))
        moved = [
            replace(item, estimate=Estimate(float(value), 1e-6, 100, "converged"))
            for item, value in zip(drawn.simulated, values, strict=True)
        ]
        theory = replace(
            drawn.theory,
            curves=tuple(replace(curve, y=way(curve.y)) for curve in drawn.theory.curves),
            diagrams=tuple(replace(one, values=way(one.values)) for one in drawn.theory.diagrams),
        )
        yield replace(drawn, theory=theory, simulated=tuple(moved))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in SLOW_TO_DRAW else name for name in sorted(FIGURES)],
)
def test_every_claim_can_fail(name: str) -> None:
    figure, generator = quick(name), np.random.default_rng(1)

    def made_up(point: Point) -> float:
        return float(generator.uniform(0.1, 1)) if math.isnan(point.expected) else point.expected

    points = [Simulated(point, Estimate(made_up(point), 1e-6, 100, "converged")) for point in figure.points()]
    drawings = list(distorted(figure.drawn(points)))
    for claim in figure.claims():
        verdicts: list[bool | None] = []
        for drawn in drawings:
            try:
                verdicts.append(claim.check(drawn))
            except LookupError:
                verdicts.append(None)
        assert False in [verdict if verdict is None else bool(verdict) for verdict in verdicts], claim.sentence


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in SLOW_TO_DRAW else name for name in sorted(FIGURES)],
)
def test_claims_on_missing_points_are_not_said_to_hold(name: str) -> None:
    figure = quick(name)
    drawn = figure.drawn([])
    n_lines = len(drawn.theory.curves) + len(drawn.theory.diagrams)
    found = figure.check(drawn)
    assert any(one.holds is None for one in found) or n_lines
    untold = [(seen, claim) for seen, claim in zip(found, figure.claims(), strict=True) if seen.holds is None]
    assert all(seen.exception == "Points are missing." for seen, claim in untold if claim.told)


def test_the_cases_of_table_1_have_the_papers_names_and_keep_its_conditions() -> None:
    """Mikami et al. 2021, Table 1 and section E.5.1: I small and II large steps, A r0 >= r1, B r1 > r0."""
    for xi in np.linspace(1.05, 5, 80):
        cases = {name.split(":")[0]: case for name, case in cases_of(float(xi)).items()}
        assert set(cases) == {"I-A", "I-B", "II-A", "II-B"}
        for name, case in cases.items():
            assert 0.5 <= case.r0 <= 1
            assert 0.5 <= case.r1 <= 1
            assert (case.r1 > case.r0) == name.endswith("B")
            r, least = min(case.r0, case.r1), 0.0
            edge = r / (2 * r + 1)
            if name == "I-B":
                least = ((2 * case.r1 - case.r0) * xi + 1 - xi) / (2 * case.r1 * xi + 1)
            if name.startswith("II-"):
                assert 0 <= case.zeta <= edge
            else:
                assert max(edge, least) - 1e-12 <= case.zeta < 1
            if name == "II-B":
                assert case.r1 <= case.r0 + (xi - 1) / (2 * xi) + 1e-12


def test_table_1_shows_the_digits_and_the_errors_that_its_verdicts_rest_on() -> None:
    """Relative errors r at five x, each 4 times the one before, give a slope the error r/(sqrt(10) log 4)."""
    figure = quick("mikami2021-table1")

    def drawn(relative: float) -> list[Simulated]:
        risks = ((point, point.x**-0.391) for point in figure.points())
        return [Simulated(point, Estimate(risk, relative * risk, 8, "converged")) for point, risk in risks]

    assert "I-A 0.391 ± 0.002 (bound 0.400)" in figure.drawn(drawn(0.01)).sentence
    assert "I-A 0.391 ± 0.007 (bound 0.400)" in figure.drawn(drawn(0.03)).sentence
    precise, vague = (check(figure, drawn(relative))[0] for relative in (0.01, 0.03))
    assert (precise.holds, vague.holds) == (False, True)
    assert "an exponent of at least β = 0.40 (within 2 standard errors)" in precise.sentence


def test_the_scale_of_the_target_hurts_more_with_half_as_many_examples_as_inputs_and_not_with_a_tenth() -> None:
    tenth, half = (found.holds for found in check(quick("shachaf2021-fig2b"), as_expected(quick("shachaf2021-fig2b"))))
    assert (tenth, half) == (False, True)
    known = ScaleFigure().claims()[0].exception
    assert known == "With so few examples seven layers are not deep enough: it holds from n = d/2 on."


@pytest.mark.parametrize(("d", "n_top"), [(100, 5), (1000, 50)])
def test_the_bound_of_figure_1_ranks_as_the_risk_with_c_1_and_not_with_c_3(d: int, n_top: int) -> None:
    figure = AlignmentFigure(d=d, n_top=n_top)
    lines = {(curve.panel, curve.series, curve.dashed): curve for curve in figure.theory().curves}
    top, bottom = (lines["bound", series, True] for series in ("top aligned", "bottom aligned"))
    first = top.x[np.flatnonzero(top.y > bottom.y)[0]]
    assert 0.24 * d <= first <= 0.28 * d  # the deviation is lambda_1 at n = 0.24 d, where both sides are equal
    loose = AlignmentFigure(d=d, n_top=n_top, c=3.0)
    ranks = [found.holds for found in check(loose, as_expected(loose)) if "bound" in found.sentence]
    assert ranks == [False, False]
    assert all("here c = 3" in claim.exception for claim in loose.claims() if "bound" in claim.sentence)
    for series in ("top aligned", "bottom aligned"):
        np.testing.assert_allclose(
            lines["bound", series, False].y, np.minimum(lines["bound", series, True].y, 1.5), rtol=1e-12
        )


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_setting_has_a_range_that_both_profiles_keep(name: str) -> None:
    figure = FIGURES[name]
    for settings in (figure.settings, quick(name).settings):
        for setting, value in settings.items():
            assert figure.ranges[setting].low <= value <= figure.ranges[setting].high, setting


SMALL = {
    "d": 20,
    "seeds": 2,
    "n_top": 2,
    "grid": 4,
    "n_teacher": 6,
    "width": 64,
    "largest": 50,
    "n": 15,
    "longest": 1024,
    "n_source": 256,
    "steps": 50,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"shachaf2021-table1"}))
@pytest.mark.parametrize("high", [False, True])
def test_the_simulation_ends_at_the_ends_of_every_range(name: str, high: bool) -> None:
    figure = FIGURES[name]
    values = {key: SMALL[key] for key in figure.ranges if key in SMALL}
    ends = {
        key: range_.high if high else range_.low
        for key, range_ in figure.ranges.items()
        if key not in SMALL and key != "head_mean"
    }
    whole = {key: round(end) if isinstance(getattr(figure, key), int) else float(end) for key, end in ends.items()}
    there = replace(figure, **values, **whole)
    there.theory()
    for points in (*there.groups()[:1], *there.groups()[-1:]):
        started = time.process_time()
        found = there.simulate(points)
        assert time.process_time() - started < 600
        assert all(estimate.status for estimate in found)
