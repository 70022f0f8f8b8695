"""The result of `propose`, as a verdict and a table."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.result import AnalysisResult
from transferscope.report.blocks import Cell, Column, Section, Table, Text
from transferscope.report.page import Verdict
from transferscope.statements import Statement, Words, state
from transferscope.wording import capitalised, number_words

_MOST_SHOWN = 20
_HALF = 1.645
"""Half width of a 90 % interval, in standard deviations."""

LIMITS = (
    "Proposals assume that the new task is similar to the known ones. An arm that occurs in no other task  "
    "is not proposed, and on a task unlike the others history can mislead for long: run a few arms at random as well."
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The prediction for one arm on the new task.

    Attributes:
        tasks: Number of other tasks with this arm.
        expected: Expected or measured score; NaN before anything was tried, when the scale of the task is unknown.
        sd: Standard deviation of the expected score; 0 if measured.
        improvement: Expected improvement on the best score so far.
        tried: Whether the arm was tried on the new task.
    """

    arm: str
    tasks: int
    expected: float
    sd: float
    improvement: float
    tried: bool


@dataclass(frozen=True, repr=False)
class ProposalResult(AnalysisResult):
    """The arm to try next.

    Attributes:
        proposals: All arms, the next to try first.
        higher: Whether higher scores are better.
        notes: How tables were read.
    """

    kind: ClassVar[str] = "propose"

    task: str
    proposals: tuple[Proposal, ...]
    n_tasks: int
    measure: str
    higher: bool
    notes: tuple[str, ...] = ()

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
        """The best tried arm; None before any was."""
        tried = [one for one in self.proposals if one.tried]
        return max(tried, key=lambda one: one.expected if self.higher else -one.expected, default=None)

    @property
    def verdict(self) -> Verdict:
        """The arm to try next, the reason, and the following arms."""
        words = Words("transferscope.analyses.history", {"score": number_words})
        headline, *rest = words.all_of(self._statements())
        return Verdict({}, headline, tuple(rest))

    def _statements(self) -> Iterator[Statement]:
        best, known = self.best, state("known", arms=len(self.proposals), tasks=self.n_tasks)
        if not self.open:
            yield from (state("all tried", task=self.task), known)
            return
        first, *others = self.open
        if best is None:
            yield state("first", arm=first.arm, task=self.task, tasks=self.n_tasks)
        else:
            expected = {"expected": first.expected, "half": _HALF * first.sd, "measure": self.measure}
            yield state("next", arm=first.arm, task=self.task, best=best.arm, best_score=best.expected, **expected)
        if others:
            yield state("then", arms=[one.arm for one in others[:3]])
        yield known
        if best is not None and all(one.improvement < 0.05 * one.sd for one in self.open):
            yield state("no better", best=best.arm)

    def table(self) -> pd.DataFrame:
        """Return one row per arm, the next to try first: arm, tasks, tried, expected, sd, improvement."""
        names = ["arm", "tasks", "tried", "expected", "sd", "improvement"]
        return pd.DataFrame([[getattr(one, name) for name in names] for one in self.proposals], columns=names)

    def shown_tables(self) -> tuple[Table, ...]:
        """Return the first arms to try, and those that were tried."""
        columns = (
            Column("Arm", numeric=False),
            Column("Tasks", "Other tasks that know it"),
            Column(f"Expected {self.measure}", "With what holds 90 %"),
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
        """Return the table, how it was read, and limitations."""
        remarks = (*(f"{capitalised(note)}." for note in self.notes), LIMITS)
        return [Section("Arms", "arms", (*self.shown_tables(), *(Text(text, "note") for text in remarks)))]


def _expected(one: Proposal) -> str:
    if math.isnan(one.expected):
        return "–"
    return number_words(one.expected) + ("" if one.tried else f" ± {number_words(_HALF * one.sd)}")
