"""`transferscope compare` of results that somebody has: a table with a row for each run, or a folder of runs."""

import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from transferscope.cli.as_json import print_analysis
from transferscope.cli.options import file_in, named_columns, pairs
from transferscope.errors import SettingsError

if TYPE_CHECKING:
    from transferscope.analyses.columns import Better
    from transferscope.analyses.results.runs import Wide
    from transferscope.decision import Question


_ROLES_OF_TASKS = ("arm", "task", "seed", "labels")
"""What columns may hold in results of several tasks."""


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
    from transferscope.analyses.compare import compare_results
    from transferscope.analyses.results.runs import RunColumns
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
    asked: dict[str, Sequence[str] | str | float | Path | None] = {
        "--without": without,
        "--columns": columns,
        "--where": where,
        "--wide": wide,
        "--better": better,
        "--unit": unit,
        "--predictions": predictions,
        "--margin": margin,
    }
    words = [
        word
        for name, value in asked.items()
        if value not in (None, [])
        for word in (name, *(map(str, value) if isinstance(value, list) else [str(value)]))
    ]
    result = replace(result, command=shlex.join(["transferscope", "compare", place, *words]))
    written = result.report(file_in(out, f"{file_name(result.title)}.html"))
    if as_json:
        print_analysis("compare", result, [written.html, *written.files])
        return
    typer.echo(result.verdict.shown)
    for note in result.runs.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"\nReport: {written.html}")


def show_proposal(
    task: str,
    known: Sequence[str],
    *,
    tried: Sequence[str],
    columns: Sequence[str],
    metric: str | None,
    where: Sequence[str],
    wide: str | None,
    better: str | None,
    labels: Sequence[int],
    out: Path | None,
    as_json: bool,
) -> None:
    """Print which arm to try next on a task, and write a page where one is named.

    Args:
        known: Tables, studies, stores, or names of what comes with the package.
        tried: What was tried on the task, as ARM=SCORE.
    """
    from transferscope.analyses.history import propose
    from transferscope.analyses.plan import LabelColumns
    from transferscope.cli.answer import as_text
    from transferscope.report.blocks import Text
    from transferscope.report.save import file_name

    if len(labels) > 1 or wide == "labels":
        raise SettingsError("--task reads one number of labels; give --labels once, and --wide arms at most")
    asked = LabelColumns(
        **named_columns(columns, _ROLES_OF_TASKS),
        score=metric,
        better=cast("Better | None", better),
        where=pairs("--where", where),
        wide=wide == "arms",
    )
    scores = pairs("--tried", tried, at=str.rpartition)  # names of arms may hold "="
    try:
        probes = {arm: float(score) for arm, score in scores.items()}
    except ValueError:
        raise SettingsError(
            f"--tried {' '.join(tried)} holds what is no score; write it as in --tried fine-tune=0.91"
        ) from None
    result = propose(task, known, tried=probes, columns=asked, labels=labels[0] if labels else None)
    written = [] if out is None else [result.report(file_in(out, f"{file_name(task)}-next.html")).html]
    if as_json:
        print_analysis("compare", result, written)
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.notes:
        typer.echo(f"note: {note}", err=True)
    if written:
        typer.echo(f"\nReport: {written[0]}")
