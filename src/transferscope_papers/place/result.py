"""What `place` returns: words, a table and the diagram."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from transferscope.analyses.result import AnalysisResult
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Cell, Column, Section, Table, Text
from transferscope.report.figures.choice import tick_name
from transferscope.report.page import Verdict
from transferscope.wording import counted
from transferscope_papers.place.figure import draw_diagram
from transferscope_papers.place.placement import Placement, placement_rows
from transferscope_papers.theory.placement import Pair

LIMITS = (
    "The model is linear: squared loss, Gaussian inputs of d directions, features of k directions, a head and a "
    "learner from scratch with the best ridge. No number of equal directions stands for directions of unequal "
    "variance, so d and k are bands, from the participation ratio to the directions that hold 99 % of the variance; "
    "the interval of what the model says holds them and the error of the model on linear problems. What no predictor "
    "that was tried explains counts as noise. On pairs of real images the sign that the model says was not right more "
    "often than the sign that most pairs have, so it is no forecast of a pair's gain."
)
"""Where the model stops holding, for every pair."""

_OF_CLASSES = (
    "Labels are classes: measured is the squared error of the predicted class's code, and networks from scratch were "
    "trained with cross-entropy, so the sign is to be compared rather than the size."
)


@dataclass(frozen=True)
class PlacementResult(AnalysisResult):
    """Where the pairs of a study lie on the linear-transfer diagram.

    Attributes:
        points: Every source at every number of labels, in the order of the study.
        pairs: Point estimates of the model's parameters by the name of the source.
    """

    kind: ClassVar[str] = "place"

    study: str
    points: tuple[Placement, ...]
    pairs: Mapping[str, Pair]

    @property
    def title(self) -> str:
        """The study."""
        return f"What the linear model says: {self.study}"

    @property
    def verdict(self) -> Verdict:
        """How far off its error from scratch is, and how often its sign is right, over all runs of the study."""
        return Verdict({}, scratch_in_words(self.points), (signs_in_words(self.points),))

    def table(self) -> pd.DataFrame:
        """One row per quantity of each case; see `placement_rows`."""
        return placement_rows(self.points)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every case: what the model says and what was measured."""
        named = len({point.method for point in self.points}) > 1
        rows = tuple(_row(point, named=named) for point in self.points)
        return (Table(_COLUMNS, rows, "Transferability by the model and measured, with 95 % intervals"),)

    def sections(self) -> list[Section]:
        """The diagram, the table and limits."""
        diagram, limits = draw_diagram(self.pairs, self.points), Text(self.limits, "note")
        return [Section("What it rests on", "placements", (diagram, *self.shown_tables(), limits))]

    def answer(self) -> tuple[Block, ...]:
        """What the command prints: the verdict, the table and limits."""
        return (Text(str(self.verdict)), *self.shown_tables(), Text(self.limits))

    @property
    def limits(self) -> str:
        """Where the model stops holding for these pairs."""
        return f"{LIMITS} {_OF_CLASSES}" if any(point.kind == "classification" for point in self.points) else LIMITS


def scratch_in_words(points: Sequence[Placement]) -> str:
    """How many times the measured error of training from scratch the modelled one is, from the least to the most."""
    cases = {(one.name, one.n_target): (one.scratch_modelled.value, one.scratch_measured.value) for one in points}
    known = [modelled / measured for modelled, measured in cases.values() if measured > 0 and math.isfinite(modelled)]
    if not known:
        return "The study measured no training from scratch to hold the linear model against."
    return (
        f"Over {counted(len(known), 'case')} the linear model has {min(known):.2g} to {max(known):.2g} times (median "
        f"{np.median(known):.2g}) the error that training from scratch has."
    )


def signs_in_words(points: Sequence[Placement]) -> str:
    """How often the sign of the model is the measured one, beside one sign for all, where the measured one is known."""
    told = [one for one in points if one.measured.n >= FEWEST_SEEDS and one.measured.sign != 0]
    if not told:
        return (
            f"Whether its sign is right cannot be told: that takes {FEWEST_SEEDS} seeds of a linear probe and of "
            "training from scratch, and a difference whose interval leaves out 0."
        )
    right = sum(one.measured.sign * one.modelled.value > 0 for one in told)
    up = sum(one.measured.sign > 0 for one in told)
    return (
        f"Of {counted(len(told), 'case')} whose sign is measured it has that sign in {right}; the same sign for all of "
        f"them is right in {max(up, len(told) - up)}."
    )


FEWEST_SEEDS = 4
"""With fewer the sign of a measured gain is not held against the model."""

_COLUMNS = (
    Column("From", numeric=False),
    Column("Labels"),
    Column("Outside the features", "Share of the target function that no linear head on the pretrained features has"),
    Column("Scratch by the model", "Squared error of training from scratch, in units of the variance of the labels"),
    Column("Scratch", "The same, measured on held-out examples"),
    Column("Model", "Transferability by the linear-transfer model, its own error in the interval"),
    Column("Measured", "Transferability of the linear probe, paired by seed"),
)


def _row(one: Placement, *, named: bool) -> tuple[Cell, ...]:
    return (
        Cell(one.name, tick_name(one.method) if named and one.method else ""),
        Cell(f"{one.n_target:,}"),
        _cell(one.outside_share, _percent, unit=" %"),
        _cell(one.scratch_modelled, _number),
        _cell(one.scratch_measured, _number),
        _cell(one.modelled, _signed),
        _cell(one.measured, _signed),
    )


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
