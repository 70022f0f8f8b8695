"""What `transferscope plan` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OutOption, Settings, Short, StudyName, WhereOption, of
from transferscope.settings.questions import LabelColumns, PlanQuestion

EXAMPLES = """transferscope plan usps.toml --target-score 95
transferscope plan scores.csv --columns labels=n arm=model --set cost_label=0.1"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Reads learning curves over numbers of labels: a study with several, or a table with columns for labels, arm and
    score. Prints the answer and writes a report.
    """

    place: Annotated[
        str, typer.Argument(metavar="STUDY.toml|STORE|TABLE", help="A study, or a CSV, TSV or JSON table.")
    ]
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=COLUMN ...", help="Columns by role: score, labels, arm, seed, stderr. [by name]"),
    ] = None
    without: Annotated[str | None, of(LabelColumns, "scratch", metavar="ARM")] = None
    where: WhereOption = None
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {"": (PlanQuestion,), "columns": (LabelColumns,)},
            {
                "better": Short("columns.better", default="by name and trend"),
                "target_score": Short("target_score"),
                "margin": Short("margin"),
            },
            "cost_label=0.1 cost_run=3 classes=10 columns.wide=true",
        ),
    ]
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
