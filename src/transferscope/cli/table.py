"""`transferscope table`: the numbers of a study for a paper, a spreadsheet or another program."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, document_of, print_analysis
from transferscope.errors import SettingsError


class Format(StrEnum):
    """How a table is written."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"
    LATEX = "latex"
    MARKDOWN = "markdown"


def table(
    place: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file or a store.")],
    format: Annotated[
        Format | None,
        typer.Option(help="csv, parquet or json with all numbers; or latex or markdown, means with intervals. [csv]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write. [printed; parquet needs a file]")] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    as_json: AsJson = False,
) -> None:
    """The table of a study: a row for each way to learn and number of labels, with intervals, p-values and costs.

    In Python: `transferscope.open_result(STUDY).table()`.
    """
    if as_json and format not in (None, Format.JSON):
        raise SettingsError(f"--json and --format {format} were both given; leave one out")
    if as_json:
        format = Format.JSON
    if format is Format.PARQUET and out is None:
        raise SettingsError("parquet is no text to print; say where it goes, as in --out table.parquet")
    from transferscope.analyses.stored import open_result
    from transferscope.report.save import csv_text, write_parquet, write_text

    result = open_result(place, study=study)
    if format is Format.PARQUET and out is not None:
        write_parquet(result.table(), out)
    else:
        if format is Format.JSON:
            text = document_of("table", {**result.to_dict(), "written": [] if out is None else [str(out)]}) + "\n"
        else:
            as_text = {Format.LATEX: result.to_latex, Format.MARKDOWN: result.to_markdown}
            text = as_text[format]() if format in as_text else csv_text(result.table())
        if out is not None:
            write_text(out, text)
        elif not as_json:
            typer.echo(text, nl=False)
    if as_json:
        print_analysis("table", result, [] if out is None else [out])
    elif out is not None:
        typer.echo(f"written: {out}")
