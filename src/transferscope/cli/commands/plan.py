"""What `transferscope plan` takes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import (
    BetterOption,
    CostLabelOption,
    CostRunOption,
    OutOption,
    StudyName,
    TargetScoreOption,
)

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
    better: BetterOption = None
    without: Annotated[
        str | None, typer.Option(metavar="ARM", help="The arm of a table that needs no source: from scratch.")
    ] = None
    classes: Annotated[
        int | None, typer.Option(help="How many classes a table tells apart, so that curves start at chance.")
    ] = None
    where: Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE ...", help="The rows to keep.")] = None
    wide: Annotated[Literal["arms", "labels"] | None, typer.Option(help="What columns of scores are of.")] = None
    target_score: TargetScoreOption = None
    cost_label: CostLabelOption = None
    cost_run: CostRunOption = None
    margin: Annotated[float, typer.Option(help="Differences of no interest, in points.")] = 0.0
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
