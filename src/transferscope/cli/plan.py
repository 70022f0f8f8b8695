"""`transferscope plan`: how many labels it takes, with transfer and without."""

from pathlib import Path
from typing import Annotated, cast

import typer

from transferscope.cli.as_json import AsJson, print_analysis


def plan(
    place: Annotated[
        str, typer.Argument(metavar="STUDY.toml|STORE|TABLE", help="A study, or a CSV, TSV or JSON table.")
    ],
    target_score: Annotated[float | None, typer.Option(help="The score that is wanted, in its unit.")] = None,
    cost_label: Annotated[float | None, typer.Option(help="Cost of a labelled target example.")] = None,
    cost_run: Annotated[float | None, typer.Option(help="Cost of a run of training.")] = None,
    margin: Annotated[float, typer.Option(help="How far transfer must be ahead to count, in points.")] = 0.0,
    classes: Annotated[
        int | None, typer.Option(help="Of a table: how many classes are told apart, so that curves start at chance.")
    ] = None,
    labels_column: Annotated[str | None, typer.Option(help="Column of a table: numbers of labels.")] = None,
    arm_column: Annotated[
        str | None, typer.Option(help="Column: from scratch, or which way of transfer. [none: one arm]")
    ] = None,
    score_column: Annotated[str | None, typer.Option(help="Column: scores.")] = None,
    seed_column: Annotated[str | None, typer.Option(help="Column: seeds; equal ones share their labels.")] = None,
    stderr_column: Annotated[str | None, typer.Option(help="Column: standard errors of scores.")] = None,
    scratch: Annotated[str | None, typer.Option(help="The arm of a table that trains from scratch.")] = None,
    better: Annotated[
        str | None,
        typer.Option(metavar="lower|higher", help="Which scores are better; told by name and trend without."),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Of a table: the rows to keep, as in --where dataset=sst2.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Every column of numbers is the scores of an arm.")] = False,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    out: Annotated[Path | None, typer.Option(help="The HTML file to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """How many labels it takes: where training from scratch catches up with transfer, and what labels buy.

    Reads learning curves over numbers of labels: a study with several, or a table with columns for labels, arm and
    score. Prints the answer and writes a report.
    """
    from transferscope.analyses.columns import Better
    from transferscope.analyses.plan import LabelColumns, PlanQuestion
    from transferscope.analyses.plan import plan as make_plan
    from transferscope.cli.answer import as_text
    from transferscope.cli.results import pairs_of
    from transferscope.report.blocks import Text
    from transferscope.report.save import file_name

    columns = LabelColumns(
        labels_column,
        arm_column,
        score_column,
        seed_column,
        stderr_column,
        scratch,
        cast(Better | None, better),
        where=pairs_of("--where", where or []),
        wide=wide,
    )
    question = PlanQuestion(target_score, cost_label, cost_run, margin, classes)
    result = make_plan(place, question, columns=columns, study=study)
    if as_json:  # only --out writes a page
        print_analysis("plan", result, [] if out is None else [result.report(out).html])
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.plan.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"\nReport: {result.report(out or Path(f'{file_name(result.name)}-plan.html')).html}")
