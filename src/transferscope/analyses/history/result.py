"""What to try next on a task: the proposal in words, as a table and as a figure."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.result import AnalysisResult
from transferscope.report.blocks import Cell, Column, Figure, Section, Table, Text
from transferscope.report.figures.choice import beside_axis
from transferscope.report.figures.style import INK, PAPER, drawing, new_figure
from transferscope.report.page import Verdict
from transferscope.wording import counted, listed, number_words

_MOST_SHOWN = 20

LIMITS = (
    "Proposals rest on the assumption that the new task is like those that are kept. An arm that no other task knows "
    "is not proposed, and on a task unlike the others history can mislead for long: run a few arms at random as well."
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is expected of one arm on the new task.

    Attributes:
        tasks: How many other tasks know it.
        expected: The score that is expected, or the one that was measured; NaN before anything was tried, when the
            scale of the task is not known.
        sd: Standard deviation of what is expected; 0 where it was measured.
        improvement: Expected improvement on the best score so far.
        tried: Whether it was measured on the new task.
    """

    arm: str
    tasks: int
    expected: float
    sd: float
    improvement: float
    tried: bool


@dataclass(frozen=True)
class ProposalResult(AnalysisResult):
    """Which arm to try next.

    Attributes:
        proposals: All arms, the next to try first.
        higher: Whether higher scores are better.
    """

    kind: ClassVar[str] = "history"

    task: str
    proposals: tuple[Proposal, ...]
    n_tasks: int
    measure: str
    higher: bool

    @property
    def title(self) -> str:
        """The new task."""
        return self.task

    @property
    def open(self) -> tuple[Proposal, ...]:
        """The arms that were not tried."""
        return tuple(one for one in self.proposals if not one.tried)

    @property
    def best(self) -> Proposal | None:
        """The best arm that was tried; None before any was."""
        tried = [one for one in self.proposals if one.tried]
        return max(tried, key=lambda one: one.expected if self.higher else -one.expected, default=None)

    @property
    def verdict(self) -> Verdict:
        """What to try next, why, and what comes after it."""
        known = f"{counted(len(self.proposals), 'arm')} on {counted(self.n_tasks, 'other task')}"
        if not self.open:
            return Verdict({}, f"Every arm that the history knows was tried on {self.task}.", (f"It knows {known}.",))
        first, *others = self.open
        headline = f"Try {first.arm} next on {self.task}"
        if self.best is None:
            headline += f": it is ahead on the {counted(self.n_tasks, 'task')} that are known."
        else:
            band = number_words(1.645 * first.sd)
            headline += (
                f": {self.measure} {number_words(first.expected)} ± {band} is expected (90 %), after "
                f"{number_words(self.best.expected)} with {self.best.arm}."
            )
        said = [f"Then {listed([one.arm for one in others[:3]], last='or')}."] if others else []
        said.append(f"From {known}.")
        if self.best is not None and first.improvement < 0.05 * first.sd:
            said.append(f"No arm is expected to be much better than {self.best.arm}.")
        return Verdict({}, headline, tuple(said))

    def table(self) -> pd.DataFrame:
        """One row per arm, the next to try first: arm, tasks, tried, expected, sd, improvement."""
        rows = [
            {
                "arm": one.arm,
                "tasks": one.tasks,
                "tried": one.tried,
                "expected": one.expected,
                "sd": one.sd,
                "improvement": one.improvement,
            }
            for one in self.proposals
        ]
        return pd.DataFrame(rows)

    def shown_tables(self) -> tuple[Table, ...]:
        """The first arms to try, and those that were tried."""
        columns = (
            Column("Arm", numeric=False),
            Column("Tasks", "Other tasks that know it"),
            Column(f"Expected {self.measure}", "With one standard deviation"),
            Column("Tried", numeric=False),
        )
        shown = [*[one for one in self.proposals if one.tried], *self.open[:_MOST_SHOWN]]
        rows = tuple(
            (
                Cell(one.arm, tone="best" if self.open and one is self.open[0] else ""),
                Cell(str(one.tasks)),
                Cell(_expected(one)),
                Cell("tried" if one.tried else ""),
            )
            for one in shown
        )
        return (Table(columns, rows, f"Tried, and the next {min(len(self.open), _MOST_SHOWN)} to try"),)

    def sections(self) -> list[Section]:
        """Figure, table and limits."""
        figure = [] if self.best is None else [self._drawn()]
        return [Section("Arms", "arms", (*figure, *self.shown_tables(), Text(LIMITS, "note")))]

    def _drawn(self) -> Figure:
        shown = [*[one for one in self.proposals if one.tried], *self.open[:_MOST_SHOWN]]
        with drawing():
            canvas = new_figure(7.6, 1.0 + 0.26 * len(shown))
            axes = canvas.subplots()
            for row, one in enumerate(shown):
                colour = INK if one.tried else "#0072b2"
                band = 1.645 * one.sd
                axes.plot([one.expected - band, one.expected + band], [row, row], color=colour, linewidth=1.6)
                axes.plot(one.expected, row, "o", color=colour, markerfacecolor=colour if one.tried else PAPER)
            axes.set_yticks(range(len(shown)), [beside_axis(one.arm, width=34) for one in shown])
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.grid(axis="y", visible=False)
            axes.set_xlabel(self.measure)
        caption = "Filled: measured on this task. Hollow: expected, with 90 % bands; the next to try on top of them."
        return Figure("history", canvas, self.table(), caption)


def _expected(one: Proposal) -> str:
    if math.isnan(one.expected):
        return "–"
    return number_words(one.expected) + ("" if one.tried else f" ± {number_words(one.sd)}")
