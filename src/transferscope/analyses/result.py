"""The result of every analysis: a verdict, a table, a report, JSON, and a notebook display."""

import json
import math
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, get_args, get_type_hints

import numpy as np
import pandas as pd

from transferscope.estimate import Estimate, as_json
from transferscope.report.blocks import Block, Points, Section, Table, Text
from transferscope.report.page import ReportFiles, Verdict, render_blocks, write_page
from transferscope.report.paper_tables import latex_table, markdown_table
from transferscope.report.save import PaperWidth


class AnalysisResult(ABC):
    """The result of one analysis.

    A subclass defines the verdict, the numbers, the tables for a notebook and the sections of the report; everything
    else is derived from these.

    Attributes:
        kind: The analysis, as its command is called.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def title(self) -> str:
        """The subject of the analysis: a study, a table, a target."""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """The answer: `headline` is one sentence, `sentences` are notes, and `str` returns all of it."""

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """Return the numbers behind the verdict; the function of the analysis documents the columns."""

    @abstractmethod
    def shown_tables(self) -> tuple[Table, ...]:
        """Return the tables that a notebook shows below the verdict."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """Return the parts of the report below the verdict."""

    def report(self, path: str | Path, *, command: str = "", width: PaperWidth | None = None) -> ReportFiles:
        """Write one self-contained HTML report: the answer, the first figure and notes, then the sections.

        Args:
            path: The HTML file; an existing one is replaced.
            command: The command that writes the report again, for its footer; may be empty.
            width: Width of figures for a paper, which are also written; see `report.page.write_page`.

        Raises:
            StoreError: The file cannot be written.
        """
        return write_page(
            self.page(),
            Path(path),
            kicker=self.kind,
            title=self.title,
            verdict=self.verdict,
            command=command,
            width=width,
        )

    def page(self) -> list[Section]:
        """Return the sections of the report: the answer with the first figure, then those of `sections`."""
        verdict, sections = self.verdict, self.sections()
        picture = next((figure for section in sections for figure in section.figures), None)
        sections = [replace(one, blocks=tuple(b for b in one.blocks if b is not picture)) for one in sections]
        answer: list[Block] = [Text(verdict.headline, "lead"), *([picture] if picture else [])]
        answer += [Points(verdict.sentences)] if verdict.sentences else []
        kept = [section for section in sections if section.blocks or section.sections]
        return [Section("In short", "verdict", tuple(answer)), *kept]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values: the `result` of the document that the command prints with `--json`.

        Returns:
            "analysis", "title", "verdict" (an object of "headline" and "sentences") and "rows" (an object for each row
            of `table`). Missing values are None, infinity is the text "inf" or "-inf".
        """
        verdict = {"headline": self.verdict.headline, "sentences": list(self.verdict.sentences)}
        return {"analysis": self.kind, "title": self.title, "verdict": verdict, "rows": json_rows(self.table())}

    def to_json(self) -> str:
        """Return the answer as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False, indent=2)

    def paper_table(self) -> Table:
        """Return the table for a paper; by default the first of `shown_tables`."""
        return self.shown_tables()[0]

    def to_latex(self) -> str:
        """Return `paper_table` as LaTeX for the package booktabs: CIs beside means, the best in bold."""
        return latex_table(self.paper_table())

    def to_markdown(self) -> str:
        """Return `paper_table` as GitHub's Markdown."""
        return markdown_table(self.paper_table())

    def __repr__(self) -> str:
        """Return what the command prints."""
        return self.verdict.shown

    def _repr_html_(self) -> str:
        """Return the first section of the report and the tables as styled HTML for a notebook; all text is escaped."""
        return render_blocks([*self.page()[0].blocks, *self.shown_tables()])


def row_of(record: Any, plain: str = "") -> dict[str, Any]:
    """Return a record as a row: a column for each field; for an estimate its value, standard error and ends.

    Args:
        plain: The field of the estimate whose columns are value, stderr, low and high; other estimates have their name
            as a prefix.

    Returns:
        The row; NaN for missing values.
    """
    row: dict[str, Any] = {}
    for name, kind in get_type_hints(type(record)).items():
        value = getattr(record, name)
        if Estimate not in (kind, *get_args(kind)):
            row[name] = math.nan if value is None else value
            continue
        known, before = value or Estimate.missing("undefined", 0), "" if name == plain else f"{name}_"
        stderr = math.nan if known.stderr is None else known.stderr
        row |= {name if before else "value": known.value, f"{before}stderr": stderr}
        row |= {f"{before}low": known.low, f"{before}high": known.high}
    return row


def json_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table as JSON: one object per row; missing values are None, infinity the text "inf" or "-inf"."""
    records = table.to_dict(orient="records")
    return [{str(name): as_json(_plain(value), nan=None) for name, value in row.items()} for row in records]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if value is pd.NA else value
