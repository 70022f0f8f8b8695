"""`transferscope compare` of results that somebody has: a table with a row for each run, or a folder of runs."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from transferscope.cli.as_json import print_analysis
from transferscope.errors import SettingsError, each_once, unknown_name

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
    page: Path | None,
    folder: Path,
    as_json: bool,
) -> None:
    """Print the answer and write the page, or print the runs to make next.

    Args:
        without: Arms that need no source; "none" alone for none.
        columns: What columns hold, as ROLE=COLUMN.
        where: The rows to keep, as COLUMN=VALUE.
        n_next: How many runs to print; None for the answer.
        page: The file of the page; None for one in `folder`.
    """
    from transferscope.analyses.results import RunColumns, compare_results
    from transferscope.report.save import csv_text, file_name

    roles = [one.name for one in fields(RunColumns) if one.name not in ("wide", "better", "unit", "where")]
    named = _pairs("--columns", columns)
    for role in named:
        if role not in roles:
            raise unknown_name("role of --columns", role, roles)
    result = compare_results(
        place,
        without=[] if without == ["none"] else without,
        columns=RunColumns(
            **named,
            better=cast("Better | None", better),
            unit=unit,
            wide=cast("Wide | None", wide),
            where=_pairs("--where", where),
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
    target = page or folder / f"{file_name(result.title)}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    written = result.report(target)
    if as_json:
        print_analysis("compare", result, [written.html, *written.files])
        return
    typer.echo(result.verdict.shown)
    for note in result.runs.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"\nReport: {written.html}")


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise SettingsError(f"{option} {name}{sign}{value} was given; write it as NAME=VALUE")
    return each_once(((name, value) for name, _, value in pairs), f"name of {option}")
