"""The numbers of a figure as rows: what is drawn can be read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transferscope_papers.figure import Simulated, Theory, TheoryFigure
from transferscope_papers.simulate.agreement import z_score


@dataclass(frozen=True)
class Row:
    """One number of a figure.

    Attributes:
        panel: Where it is drawn.
        series: What it is.
        kind: "theory" or "simulation".
        x: Horizontal position.
        y: Vertical position in a map; None elsewhere.
        value: The number.
        stderr: Its standard error; None if unknown, 0 for theory.
        n: Seeds behind it; 0 for theory.
        status: As in `records.Estimate`.
        expected: What theory says at a simulated point; None where it says nothing.
        z: Distance from it in standard errors, as a normal score; None where it cannot be said.
    """

    panel: str
    series: str
    kind: str
    x: float
    y: float | None
    value: float
    stderr: float | None
    n: int
    status: str
    expected: float | None = None
    z: float | None = None


def rows_of(figure: TheoryFigure, theory: Theory, simulated: Sequence[Simulated]) -> list[Row]:
    """Lines, maps and points of a figure as rows, in this order.

    Args:
        figure: The figure.
        theory: Its lines and maps.
        simulated: Its points.

    Returns:
        The rows.
    """
    lines = [
        _exact(curve.panel, curve.series, float(x), None, float(y))
        for curve in theory.curves
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    maps = [
        _exact(diagram.panel, "map", float(x), float(y), float(value))
        for diagram in theory.diagrams
        for y, line in zip(diagram.y, diagram.values, strict=True)
        for x, value in zip(diagram.x, line, strict=True)
    ]
    return [*lines, *maps, *(_measured(figure, item) for item in simulated)]


def _exact(panel: str, series: str, x: float, y: float | None, value: float) -> Row:
    return Row(panel, series, "theory", x, y, value, 0.0, 0, "ok" if np.isfinite(value) else "unbounded")


def _measured(figure: TheoryFigure, item: Simulated) -> Row:
    point, estimate = item.point, item.estimate
    z = z_score(estimate, point.expected, known_error=figure.known_error)
    return Row(
        point.panel,
        point.series,
        "simulation",
        point.x,
        point.y,
        estimate.value,
        estimate.stderr,
        estimate.n,
        estimate.status,
        expected=None if math.isnan(point.expected) else point.expected,
        z=None if math.isnan(z) else z,
    )
