"""What `transferscope scaling` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OutOption, Settings, Short, StudyName, of
from transferscope.settings.questions import Columns, ScalingQuestion

EXAMPLES = """transferscope scaling errors.csv --columns score=loss pretrain=n labels=m
transferscope scaling usps.toml --target-score 95 --set cost_pretrain=0.01"""


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
            help="Columns by role: score [error], pretrain (its size) [n], labels, stderr, budget.",
        ),
    ] = None
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {"": (ScalingQuestion,), "columns": (Columns,)},
            {
                "by": Short("columns.by"),
                "repeats": Short("columns.repeats"),
                "better": Short("columns.better", default="by name and trend"),
                "target_score": Short("target_score"),
                "budget": Short("budget"),
            },
            "cost_pretrain=0.01 largest_size=1e6 loss=huber",
        ),
    ]
    at: Annotated[list[str] | None, of(ScalingQuestion, "at", metavar="N[,D] ...")] = None
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
