"""Placements as tables: rows of numbers for files, and a table for a reader."""

import math
from collections.abc import Callable, Sequence

import pandas as pd

from transferscope.estimate import Estimate
from transferscope.report.blocks import Cell, Column, Table
from transferscope.report.figures.choice import tick_name
from transferscope_papers.place.placement import Placement


def placement_rows(points: Sequence[Placement]) -> pd.DataFrame:
    """The numbers of all points.

    Returns:
        One row for each quantity of each point: source, method ("" when nothing was measured), n_target, name (a field
        of `Placement`), value, low, high, stderr (NaN when there is none), n and status.
    """
    return pd.DataFrame(
        [
            {
                "source": point.name,
                "method": point.method,
                "n_target": point.n_target,
                "name": name,
                "value": found.value,
                "low": found.interval.low if found.interval else math.nan,
                "high": found.interval.high if found.interval else math.nan,
                "stderr": math.nan if found.stderr is None else found.stderr,
                "n": found.n,
                "status": found.status,
            }
            for point in points
            for name, found in point.quantities.items()
        ]
    )


_COLUMNS = (
    Column("From", numeric=False),
    Column("Labels"),
    Column("Outside the features", "Share of the target function that no linear head on the pretrained features has"),
    Column("Noise", "Standard deviation of what nothing explains, over that of the target function"),
    Column("Labels per direction", "Target labels over effective directions of the inputs, n/d"),
    Column(
        "Scratch by the model",
        "Squared error of training from scratch, in units of the variance of the labels",
    ),
    Column(
        "Scratch",
        "The same, measured on held-out examples; where it differs the model does not describe the pair",
    ),
    Column("Model", "Transferability by the linear-transfer model, its own error in the interval"),
    Column("Measured", "Transferability of the linear probe, paired by seed"),
    Column("Difference", "Measured minus the model, with the uncertainty of both"),
    Column("Signs", "Whether model and measurement are on one side of 0", numeric=False),
)


def placements_table(points: Sequence[Placement]) -> Table:
    """Every case: what the model says and what was measured."""
    methods = {point.method for point in points}
    rows = tuple(_row(point, named=len(methods) > 1) for point in points)
    return Table(_COLUMNS, rows, "Transferability by the model and measured, with 95 % intervals")


def _row(one: Placement, *, named: bool) -> tuple[Cell, ...]:
    return (
        Cell(one.name, tick_name(one.method) if named and one.method else ""),
        Cell(f"{one.n_target:,}"),
        _cell(one.outside_share, _percent, unit=" %"),
        _cell(one.noise_level, _number),
        _cell(one.examples_per_dimension, _number),
        _cell(one.scratch_modelled, _number),
        _cell(one.scratch_measured, _number),
        _cell(one.modelled, _signed),
        _cell(one.measured, _signed),
        _cell(one.gap, _signed),
        _signs(one),
    )


def _signs(placement: Placement) -> Cell:
    if placement.signs == "open":
        return Cell("cannot be told", tone="undecided")
    return Cell(placement.signs, tone="positive" if placement.signs == "same" else "negative")


def _cell(found: Estimate, shown: Callable[[float], str], *, unit: str = "") -> Cell:
    if math.isnan(found.value):
        return Cell("–")
    return Cell(shown(found.value) + unit, found.ends(shown))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.1f}"


def _number(value: float) -> str:
    size = abs(value)
    return _digits(f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2g}")


def _signed(value: float) -> str:
    size = abs(value)
    return _digits(f"{value:+,.0f}" if size >= 100 else f"{value:+.1f}" if size >= 10 else f"{value:+.2f}")


def _digits(finite: str) -> str:
    """A number with a real minus and a real infinity, and without a sign when it is written as zero."""
    if not float(finite.replace(",", "")):
        finite = finite.lstrip("+-")
    return finite.replace("inf", "∞").replace("-", "−")
