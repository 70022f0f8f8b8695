"""`transferscope plan`: how many labels it takes, with transfer and without."""

from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.options import (
    BetterOption,
    CostLabelOption,
    CostRunOption,
    OutOption,
    StudyName,
    TargetScoreOption,
    Wide,
    file_in,
    named_columns,
    pairs,
)


def plan(
    place: Annotated[
        str, typer.Argument(metavar="STUDY.toml|STORE|TABLE", help="A study, or a CSV, TSV or JSON table.")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="Which column of a table holds what: score, labels, arm, seed, stderr. [by name]",
        ),
    ] = None,
    better: BetterOption = None,
    without: Annotated[
        str | None, typer.Option(metavar="ARM", help="The arm of a table that needs no source: from scratch.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option(help="How many classes a table tells apart, so that curves start at chance.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE ...", help="The rows to keep.")] = None,
    wide: Annotated[Wide | None, typer.Option(help="What columns of scores are of.")] = None,
    target_score: TargetScoreOption = None,
    cost_label: CostLabelOption = None,
    cost_run: CostRunOption = None,
    margin: Annotated[float, typer.Option(help="Differences of no interest, in points.")] = 0.0,
    study: StudyName = None,
    out: OutOption = None,
    as_json: AsJson = False,
) -> None:
    """How many labels it takes: where training from scratch catches up with transfer, and what labels buy.

    Reads learning curves over numbers of labels: a study with several, or a table with columns for labels, arm and
    score. Prints the answer and writes a report.
    """
    from transferscope.analyses.plan import LabelColumns, PlanQuestion
    from transferscope.analyses.plan import plan as make_plan
    from transferscope.cli.answer import as_text, as_typed
    from transferscope.report.blocks import Text
    from transferscope.report.save import file_name

    read = LabelColumns(
        **named_columns(columns, ("labels", "arm", "score", "seed", "stderr")),
        scratch=without,
        better=None if better is None else better.value,
        where=pairs("--where", where or ()),
        wide=wide is Wide.ARMS,
    )
    question = PlanQuestion(target_score, cost_label, cost_run, margin, classes)
    result = make_plan(place, question, columns=read, study=study)
    name = f"{file_name(result.name)}-plan.html"
    if as_json:  # only --out writes a page
        print_analysis(
            "plan", result, [] if out is None else [result.report(file_in(out, name), command=as_typed()).html]
        )
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.plan.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"\nReport: {result.report(file_in(out, name), command=as_typed()).html}")
