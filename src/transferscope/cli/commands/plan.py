"""What `transferscope plan` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OutOption, StudyName, Takes, of
from transferscope.settings.questions import Better, LabelColumns, PlanQuestion

EXAMPLES = """transferscope plan usps.toml --target-score 95
transferscope plan scores.csv --columns labels=n arm=model --cost-label 0.1"""


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
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="Which column of a table holds what: score, labels, arm, seed, stderr. [by name]",
        ),
    ] = None
    better: Annotated[Better | None, of(LabelColumns, "better", default="by name and trend")] = None
    without: Annotated[str | None, of(LabelColumns, "scratch", metavar="ARM")] = None
    where: Annotated[list[str] | None, of(LabelColumns, "where", metavar="COLUMN=VALUE ...")] = None
    wide: Annotated[Literal["arms", "labels"] | None, typer.Option(help="What columns of scores are of.")] = None
    asked: Annotated[Mapping[str, Any], Takes(PlanQuestion, "classes target_score cost_label cost_run margin")]
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
