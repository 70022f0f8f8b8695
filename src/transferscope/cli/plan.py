"""`transferscope plan`: how many labels it takes, with transfer and without."""

import typer

from transferscope.analyses.plan import LabelColumns, PlanQuestion
from transferscope.analyses.plan import plan as make_plan
from transferscope.cli.answer import as_text, as_typed
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.plan import Options
from transferscope.cli.options import file_in, named_columns, pairs
from transferscope.report.blocks import Text
from transferscope.report.save import file_name


def plan(options: Options, _: object = None) -> None:
    """Fit learning curves of a table or study and print what labels buy."""
    read = LabelColumns(
        **named_columns(options.columns, ("labels", "arm", "score", "seed", "stderr")),
        scratch=options.without,
        better=options.better,
        where=pairs("--where", options.where or ()),
        wide=options.wide == "arms",
    )
    question = PlanQuestion(options.target_score, options.cost_label, options.cost_run, options.margin, options.classes)
    result = make_plan(options.place, question, columns=read, study=options.study)
    name = f"{file_name(result.name)}-plan.html"
    if options.as_json:  # only --out writes a page
        print_analysis(
            "plan",
            result,
            [] if options.out is None else [result.report(file_in(options.out, name), command=as_typed()).html],
        )
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.plan.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"\nReport: {result.report(file_in(options.out, name), command=as_typed()).html}")
