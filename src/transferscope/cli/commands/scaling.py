"""What `transferscope scaling` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OutOption, StudyName, Takes, of
from transferscope.settings.questions import Better, Columns, ScalingQuestion

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
            help="Which column holds what: score [error], pretrain (its size) [n], labels, stderr, budget.",
        ),
    ] = None
    by: Annotated[list[str] | None, of(Columns, "by", metavar="COLUMN ...")] = None
    repeats: Annotated[bool, of(Columns, "repeats", "--repeats")] = False
    better: Annotated[Better | None, of(Columns, "better", default="by name and trend")] = None
    asked: Annotated[
        Mapping[str, Any],
        Takes(ScalingQuestion, "target_score largest_size budget cost_pretrain cost_label cost_run loss"),
    ]
    cost: Annotated[str | None, of(ScalingQuestion, "cost", default="6*N*D", metavar="FORMULA")] = None
    at: Annotated[list[str] | None, of(ScalingQuestion, "at", metavar="N[,D] ...")] = None
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
