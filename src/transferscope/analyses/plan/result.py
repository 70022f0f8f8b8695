"""The result of `plan`: verdict, table and figure."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.plan.facts import LabelPlan
from transferscope.analyses.plan.figures import draw_plan
from transferscope.analyses.plan.statements import LIMITS, sentences
from transferscope.analyses.plan.tables import arms_table, plan_rows
from transferscope.analyses.result import AnalysisResult
from transferscope.report.blocks import Block, Section, Table, Text
from transferscope.report.page import Verdict
from transferscope.wording import capitalised


@dataclass(frozen=True, repr=False)
class PlanResult(AnalysisResult):
    """The label plan of learning curves in a table or a study."""

    kind: ClassVar[str] = "plan"

    plan: LabelPlan
    name: str

    @property
    def title(self) -> str:
        """The table or the study."""
        return self.name

    @property
    def verdict(self) -> Verdict:
        """Where training from scratch catches up with transfer, and the gain of further labels."""
        headline, *rest = sentences(self.plan)
        return Verdict({}, headline, tuple(rest))

    def table(self) -> pd.DataFrame:
        """Return one row per arm; see `plan_rows`."""
        return plan_rows(self.plan)

    def shown_tables(self) -> tuple[Table, ...]:
        """Return a table of all arms."""
        return (arms_table(self.plan),)

    def sections(self) -> list[Section]:
        """Return figure, table, how the table was read, and limitations."""
        notes = (*(f"{capitalised(note)}." for note in self.plan.notes), LIMITS)
        blocks: tuple[Block, ...] = (
            draw_plan(self.plan),
            arms_table(self.plan),
            *(Text(note, "note") for note in notes),
        )
        return [Section("How many labels", "labels", blocks)]
