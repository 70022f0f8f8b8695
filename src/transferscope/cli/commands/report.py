"""What `transferscope report` takes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OutOption, StudyName, WidthOption

EXAMPLES = """transferscope report usps.toml --out results
transferscope report usps.toml --table latex > table.tex"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The table has a row for each arm and number of labels, with intervals, p-values and costs. In Python:
    `transferscope.open_result(STUDY).table()`.
    """

    place: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file, or a store: a path or URL.")]
    table: Annotated[
        Literal["csv", "parquet", "latex", "markdown"] | None,
        typer.Option(help="Print the table: all numbers as csv or parquet, or means as latex or markdown."),
    ] = None
    watch: Annotated[
        bool, typer.Option("--watch", help="Write the page anew as runs end, until the study is complete.")
    ] = False
    width: WidthOption = None
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
