"""The result of `scaling`: verdict, figure, table and limitations."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from transferscope.analyses.result import AnalysisResult, json_rows
from transferscope.analyses.scaling.analysis import Analysis
from transferscope.analyses.scaling.figures import draw_curves, draw_isoflop, draw_surface
from transferscope.analyses.scaling.statements import statements, words_of
from transferscope.analyses.scaling.tables import answer_table, expected_runs, parameters, targets
from transferscope.report.blocks import Block, Section, Table, Text
from transferscope.report.page import Verdict


@dataclass(frozen=True, repr=False)
class ScalingResult(AnalysisResult):
    """The analysis of a table of errors over sizes; `kept` says whether a study's report shows it."""

    kind: ClassVar[str] = "scaling"

    analysis: Analysis
    name: str
    kept: str = ""

    @property
    def title(self) -> str:
        """The table or the study."""
        return self.name

    @property
    def verdict(self) -> Verdict:
        """The recommendation, the expected benefit of the next run, and the uncertainty."""
        headline, *rest = words_of(self.analysis.measure).all_of(statements(self.analysis))
        return Verdict({}, headline, (*rest, *self.analysis.cautions))

    def table(self) -> pd.DataFrame:
        """Return the parameters of every fit; see `parameters`."""
        return parameters(self.analysis)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of every analysis, and "runs" and "targets" with an object for each row of these tables."""
        runs, wanted = expected_runs(self.analysis), targets(self.analysis)
        return {**super().to_dict(), "runs": json_rows(runs), "targets": json_rows(wanted)}

    def shown_tables(self) -> tuple[Table, ...]:
        """Return every curve or group with its forecasts."""
        return (answer_table(self.analysis),)

    def evidence(self) -> tuple[Block, ...]:
        """Return the figure of the answer, if any, and its table."""
        analysis = self.analysis
        if not analysis.surfaces:
            figure = draw_curves(analysis)
        elif analysis.compute:
            figure = draw_isoflop(analysis)
        else:
            figure = draw_surface(analysis.surfaces[0].surface, name="scaling-surface", measure=analysis.measure)
        return (*([] if figure is None else [figure]), answer_table(analysis))

    def sections(self) -> list[Section]:
        """Return figure and table, and how the table was read."""
        notes = tuple(Text(note, tone="note") for note in self.analysis.notes)
        return [Section("The numbers", "numbers", self.evidence()), Section("How it was read", "notes", notes)]
