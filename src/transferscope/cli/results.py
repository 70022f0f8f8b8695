"""`transferscope compare` of results that somebody has: a table with a row for each run, or a folder of runs."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from transferscope.cli.as_json import print_analysis
from transferscope.cli.options import file_in, named_columns, pairs

if TYPE_CHECKING:
    from transferscope.analyses.results.runs import Wide
    from transferscope.analyses.scaling.measurements import Better
    from transferscope.decision import Question


def show_results(
    place: str,
    *,
    without: Sequence[str] | None,
    columns: Sequence[str],
    where: Sequence[str],
    wide: str | None,
    better: str | None,
    unit: str | None,
    predictions: Path | None,
    margin: float | None,
    question: "Question",
    n_next: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Print the answer and write the page, or print the runs to make next.

    Args:
        without: Arms that need no source; "none" alone for none.
        columns: What columns hold, as ROLE=COLUMN.
        where: The rows to keep, as COLUMN=VALUE.
        n_next: How many runs to print; None for the answer.
        out: The file of the page, or its folder.
    """
    from transferscope.analyses.results import RunColumns, compare_results
    from transferscope.report.save import csv_text, file_name

    roles = [one.name for one in fields(RunColumns) if one.name not in ("wide", "better", "unit", "where")]
    result = compare_results(
        place,
        without=[] if without == ["none"] else without,
        columns=RunColumns(
            **named_columns(columns, roles),
            better=cast("Better | None", better),
            unit=unit,
            wide=cast("Wide | None", wide),
            where=pairs("--where", where),
        ),
        predictions=predictions,
        margin=margin,
    )
    if n_next is not None:
        rows = result.next(n_next, question=question)
        if rows.empty:
            open_ = question == "which" and "open" in result.verdict.outcomes.values()
            more = "; --question whether goes on until it is known whether a source helps" if open_ else ""
            listed = " than those without a score" if (result.runs.rows["state"] == "planned").any() else ""
            typer.echo(f"no further run{listed} is needed to say which arm to use{more}", err=True)
        else:
            typer.echo(csv_text(rows), nl=False)
        return
    written = result.report(file_in(out, f"{file_name(result.title)}.html"))
    if as_json:
        print_analysis("compare", result, [written.html, *written.files])
        return
    typer.echo(result.verdict.shown)
    for note in result.runs.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"\nReport: {written.html}")
