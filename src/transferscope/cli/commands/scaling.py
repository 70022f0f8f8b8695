"""What `transferscope scaling` takes."""

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

EXAMPLES = """transferscope scaling errors.csv --columns score=loss pretrain=n labels=m
transferscope scaling usps.toml --target-score 0.05 --cost-pretrain 0.01"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Reads a table with columns for sizes and scores, or a finished study."""

    place: Annotated[
        str, typer.Argument(metavar="TABLE.csv|STUDY.toml|STORE", help="A table, a study file or a store.")
    ]
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="Which column of a table holds what: score [error], pretrain (its size) [n], labels, stderr.",
        ),
    ] = None
    by: Annotated[list[str] | None, typer.Option(metavar="COLUMN ...", help="Columns that tell curves apart.")] = None
    repeats: Annotated[bool, typer.Option("--repeats", help="Rows at the same sizes are repeats.")] = False
    better: BetterOption = None
    target_score: TargetScoreOption = None
    largest_size: Annotated[float | None, typer.Option(help="Largest feasible pre-training size.")] = None
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None
    cost_pretrain: Annotated[float, typer.Option(help="Cost of a pre-training example.")] = 0.0
    cost_label: CostLabelOption = None
    cost_run: CostRunOption = None
    cost: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="Cost of training N parameters on D tokens. [6*N*D]")
    ] = None
    at: Annotated[list[str] | None, typer.Option(metavar="N[,D] ...", help="Sizes to predict at.")] = None
    loss: Annotated[
        Literal["log", "huber", "linear"], typer.Option(help="Residual of the fits; a few bad rows do not move huber.")
    ] = "log"
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
