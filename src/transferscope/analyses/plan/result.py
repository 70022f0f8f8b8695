"""The answer on labels: its verdict, tables, figures, and its place on the page of a study."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.plan.facts import LabelPlan, PlanQuestion
from transferscope.analyses.plan.figures import draw_plan
from transferscope.analyses.plan.statements import LIMITS, sentences
from transferscope.analyses.plan.tables import arms_table, plan_rows
from transferscope.analyses.result import AnalysisResult
from transferscope.errors import DataError, SettingsError
from transferscope.report.blocks import Block, Points, Section, Table, Text
from transferscope.report.figures.style import MarkStyle, mark_styles
from transferscope.report.page import Part, Verdict
from transferscope.wording import candidate_words, capitalised


@dataclass(frozen=True)
class PlanResult(AnalysisResult):
    """What learning curves of a table or a study say about how many labels to buy."""

    kind: ClassVar[str] = "plan"

    plan: LabelPlan
    name: str

    @property
    def title(self) -> str:
        """The table or the study."""
        return self.name

    @property
    def verdict(self) -> Verdict:
        """Where training from scratch catches up with transfer, and what labels buy."""
        headline, *rest = sentences(self.plan)
        return Verdict({}, headline, tuple(rest))

    def table(self) -> pd.DataFrame:
        """One row per arm; see `plan_rows`."""
        return plan_rows(self.plan)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every arm."""
        return (arms_table(self.plan),)

    def sections(self) -> list[Section]:
        """Figure, table, what was read as what, and limits."""
        return [Section("How many labels", "labels", _evidence(self.plan))]


def study_part(summary: Summary) -> Part | None:
    """The part of a study's page; None where no law can be drawn, as with two numbers of labels."""
    from transferscope.analyses.plan.question import plan_of_study

    try:
        plan = plan_of_study(summary.frames, PlanQuestion())
    except (DataError, SettingsError):
        return None
    if plan.lead.curve is None:
        return None
    styles = mark_styles(summary.frames.methods, summary.frames.baseline)
    known = {
        candidate_words(c.method, c.source, summary.frames.methods_of_others): styles[c.method]
        for c in summary.comparisons
    }
    headline, *rest = sentences(plan)
    return Part(
        "how much", headline, (Section("A plan of labels", "plan", (Points(tuple(rest)), *_evidence(plan, known))),)
    )


def _evidence(plan: LabelPlan, styles: Mapping[str, MarkStyle] | None = None) -> tuple[Block, ...]:
    return (
        draw_plan(plan, styles),
        arms_table(plan),
        *(Text(f"{capitalised(note)}.", "note") for note in plan.notes),
        Text(LIMITS, "note"),
    )
