"""The result of `compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.study_page import build_report, study_sections
from transferscope.analyses.compare.summary import Summary, decision_facts
from transferscope.analyses.compare.tables import methods_section, paper_table
from transferscope.analyses.result import AnalysisResult
from transferscope.estimate import as_json
from transferscope.report.blocks import Section, Table
from transferscope.report.page import ReportFiles, Verdict
from transferscope.report.save import PaperWidth
from transferscope.store import Store


@dataclass(frozen=True, repr=False)
class ComparisonResult(AnalysisResult):
    """The result of a comparison.

    Attributes:
        store: Path or URL of the store with the results.
        study: The study file, with which `transferscope run` adds seeds, sizes or methods; the store if no study file
            was opened.
    """

    kind: ClassVar[str] = "compare"

    summary: Summary
    store: str | Path
    study: Path

    @property
    def title(self) -> str:
        """The name of the study."""
        return self.summary.frames.study.name

    @property
    def verdict(self) -> Verdict:
        """The verdict on whether transfer helps, and which arm to use; `str` returns sentences."""
        return self.summary.verdict

    def table(self) -> pd.DataFrame:
        """Return one row per method, source and number of labels; see `compare.summary.comparison_table`."""
        return self.summary.table

    def shown_tables(self) -> tuple[Table, ...]:
        """Return the methods at each number of labels, and the chosen hyperparameters."""
        sections = (methods_section(self.summary), settings_section(self.summary.frames))
        return tuple(block for section in sections if section for block in section.blocks if isinstance(block, Table))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values.

        Includes "decisions", the facts at each number of labels (`decision.Decision`), and "recipes", the training of
        each arm.
        """
        recipes = self.summary.frames.study.facts.get("recipes", [])
        decisions = as_json(decision_facts(self.summary.decided), nan=None)
        return {**super().to_dict(), "decisions": decisions, "recipes": recipes}

    def paper_table(self) -> Table:
        """Return one row per arm and one column per number of labels."""
        return paper_table(self.summary)

    def sections(self) -> list[Section]:
        """Return the parts of the report that `transferscope report` writes."""
        return study_sections(self.summary)

    def page(self) -> list[Section]:
        """Return the same sections, which start with the answer."""
        return self.sections()

    def report(self, path: str | Path, *, command: str = "", width: PaperWidth | None = None) -> ReportFiles:
        """Write the report: one self-contained HTML file with its figures and numbers."""
        with Store.open(self.store, create=False) as store:
            return build_report(store, self.title, Path(path), command=command, width=width)
