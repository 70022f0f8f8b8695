"""What `transferscope report` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OutOption, Settings, Short, StudyName, WidthOption
from transferscope.settings.engine import DecisionSettings
from transferscope.settings.questions import Better

EXAMPLES = """transferscope report usps.toml --table latex > table.tex
transferscope report results.csv --without scratch tfidf
transferscope report mlruns --without scratch --metric test/accuracy"""

RUNS = "Runs of another tool"
"""Option group for runs of another tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The table has one row per arm and number of labels, with CIs, p-values and costs. In Python:
    `transferscope.open_result(STUDY).table()`.
    """

    place: Annotated[
        str,
        typer.Argument(
            metavar="STUDY.toml|STORE|TABLE|FOLDER",
            help="A study file or store; a table with one row per run, or a folder of runs.",
        ),
    ]
    table: Annotated[
        Literal["csv", "parquet", "latex", "markdown"] | None,
        typer.Option(help="Print all numbers as csv or parquet, or means as latex or markdown."),
    ] = None
    watch: Annotated[
        bool, typer.Option("--watch", help="Update the report as runs end, until the study is complete.")
    ] = False
    width: WidthOption = None
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
    without: Annotated[
        list[str] | None, typer.Option(help="The baselines: arms without a source; or none.", rich_help_panel=RUNS)
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="arm, source, seed, labels, cost, state, predictions. [by name]",
            rich_help_panel=RUNS,
        ),
    ] = None
    where: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE ...", help="The rows to keep.", rich_help_panel=RUNS)
    ] = None
    predictions: Annotated[
        Path | None, typer.Option(help="Folder of predictions for test examples.", rich_help_panel=RUNS)
    ] = None
    planned: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds fixed before the first run: more power.", rich_help_panel=RUNS),
    ] = None
    next_runs: Annotated[
        int | None,
        typer.Option(
            "--next", min=1, help="Print this many next runs as CSV, instead of a report.", rich_help_panel=RUNS
        ),
    ] = None
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {"": ("transferscope.settings.questions:RunColumns",), "decision": (DecisionSettings,)},
            {
                "metric": Short("metric", str, "The column of scores, or a metric. [by name]"),
                "wide": Short("wide", Literal["arms", "labels", "seeds"], "Meaning of several columns of scores."),
                "better": Short("better", Better, "Which scores are better. [by name]"),
            },
            "unit=share decision.margin=2 decision.worth=60",
            panel=RUNS,
        ),
    ]
