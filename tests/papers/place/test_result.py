import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PathCollection

from papers.place.placed import NOT_MEASURED, point, ranged
from transferscope.estimate import Estimate, Interval
from transferscope.report.blocks import Table
from transferscope_papers.place.figure import draw_diagram
from transferscope_papers.place.placement import Placement
from transferscope_papers.place.result import (
    PlacementResult,
    _number,
    _percent,
    _signed,
    scratch_in_words,
    signs_in_words,
)
from transferscope_papers.theory.placement import Pair

POINTS = (
    point(modelled=ranged(-0.11, -0.15, -0.02), measured=ranged(0.18, 0.04, 0.32)),
    point(n_target=600, modelled=ranged(-math.inf, -math.inf, 0.1), measured=ranged(0.004, -0.1, 123.4)),
)


def result_of(points: tuple[Placement, ...] = POINTS) -> PlacementResult:
    pair = Pair(outside=0.1, noise=0.01, input_dimension=20.0, feature_dimension=5.0)
    return PlacementResult("small", points, {one.name: pair for one in points})


def the_table(points: tuple[Placement, ...] = POINTS) -> Table:
    (table,) = result_of(points).shown_tables()
    return table


def test_the_table_shows_what_the_model_says_and_what_was_measured() -> None:
    table = the_table()
    assert [column.title for column in table.columns] == [
        *("From", "Labels", "Outside the features", "Scratch by the model", "Scratch", "Model", "Measured")
    ]
    first, second = table.rows
    assert [(cell.text, cell.detail) for cell in first] == [
        ("fashion", ""),
        ("50", ""),
        ("10 %", "3.0 to 13"),
        ("0.4", "0.3 to 0.5"),
        ("–", ""),
        ("−0.11", "−0.15 to −0.02"),
        ("+0.18", "+0.04 to +0.32"),
    ]
    assert [(cell.text, cell.detail) for cell in second[5:]] == [
        ("−∞", "−∞ to +0.10"),
        ("0.00", "−0.10 to +123"),
    ]


def test_several_linear_probes_are_named() -> None:
    table = the_table(tuple(replace(one, method=m) for m in ("linear-probe", "wide") for one in POINTS))
    assert [row[0].detail for row in table.rows] == ["Linear probe", "Linear probe", "Wide", "Wide"]


@pytest.mark.parametrize("measured", [ranged(0.2, 0.1, 0.3), Estimate(0.1, None, 1, "too_few"), NOT_MEASURED])
def test_the_diagram_has_a_panel_for_each_source_and_a_point_for_each_number_of_labels(measured: Estimate) -> None:
    points = tuple(
        point(f"source {i}", n, modelled=ranged(0.2, 0.1, 0.3), measured=measured) for i in range(5) for n in (50, 600)
    )
    figure = draw_diagram(result_of(points).pairs, points)
    assert figure.narrow_canvas is not None
    for canvas in (figure.canvas, figure.narrow_canvas):
        panels = [axes for axes in canvas.axes if axes.get_title("left")]
        assert [axes.get_title("left") for axes in panels] == [f"source {i}" for i in range(5)]
        for axes in panels:
            marks = [part for part in axes.collections if isinstance(part, PathCollection)]
            offsets = [np.asarray(mark.get_offsets())[0].tolist() for mark in marks]
            assert offsets == [[50 / 20, 0.1], [600 / 20, 0.1]]  # n/d and the share outside
    assert figure.data["source"].nunique() == 5


UP, DOWN, ACROSS = ranged(0.2, 0.1, 0.3), ranged(-0.2, -0.3, -0.1), ranged(0.1, -0.1, 0.3)
THREE_SEEDS = Estimate(0.2, 0.01, 3, "ok", Interval(0.15, 0.25))


@pytest.mark.parametrize(
    ("pairs", "right", "base"),
    [
        ([(UP, UP), (UP, DOWN), (DOWN, DOWN), (ACROSS, DOWN), (UP, ACROSS), (DOWN, THREE_SEEDS)], "2", "3"),
        ([(DOWN, DOWN)], "1", "1"),
        ([(UP, THREE_SEEDS), (DOWN, NOT_MEASURED), (UP, ACROSS)], None, None),
    ],
)
def test_signs_are_held_against_one_sign_for_all_where_four_seeds_tell_them(
    pairs: list[tuple[Estimate, Estimate]], right: str | None, base: str | None
) -> None:
    words = signs_in_words([point(modelled=modelled, measured=measured) for modelled, measured in pairs])
    counts = re.search(r"that sign in (\d+);.* right in (\d+)", words)
    assert (counts.groups() if counts else (None, None)) == (right, base)


def test_the_error_from_scratch_is_a_ratio_over_all_cases() -> None:
    scratch = [ranged(value, value - 0.01, value + 0.01) for value in (0.1, 0.2, 0.4)]
    points = [
        point(n_target=i, modelled=UP, measured=UP, scratch=one) for i, one in enumerate([*scratch, NOT_MEASURED])
    ]
    assert "3 cases the linear model has 1 to 4 times (median 2)" in scratch_in_words(points)
    assert "no training from scratch" in scratch_in_words(points[-1:])


def test_what_holds_for_classes_alone_is_said_of_classes_alone() -> None:
    of_numbers = tuple(replace(one, kind="regression") for one in POINTS)
    assert "cross-entropy" in result_of((*of_numbers, POINTS[0])).limits
    assert "cross-entropy" not in result_of(of_numbers).limits


numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: float(f"{x:.9g}"))


@pytest.mark.long
@given(st.tuples(numbers, numbers, numbers).map(sorted), st.sampled_from([_percent, _number, _signed]))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_a_rounded_interval_holds_its_rounded_value(three: list[float], shown: Callable[[float], str]) -> None:
    low, value, high = three
    text = Estimate(value, None, 9, "ok", Interval(low, high)).shown(shown)
    read = [float(part.replace("−", "-").replace(",", "")) for part in re.split(r" \(| to |\)", text) if part]
    assert read[1] <= read[0] <= read[2], text


@pytest.mark.parametrize(("value", "low", "high"), [(0.1049, 0.09, 0.1046), (9.96, 9.0, 10.04), (0.001, 0.0019, 0.01)])
def test_an_interval_is_never_written_as_excluding_its_value(value: float, low: float, high: float) -> None:
    inside = Estimate(value, None, 9, "ok", Interval(min(low, value), max(high, value)))
    read = [float(part) for part in re.split(r" \(| to |\)", inside.shown(_number)) if part]
    assert read[1] <= read[0] <= read[2]
