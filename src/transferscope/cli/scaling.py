"""`transferscope scaling`: from a table of errors, or a study, to a verdict on more data or other data."""

import typer

from transferscope.analyses.scaling import Columns, Question
from transferscope.analyses.scaling import scaling as analyse
from transferscope.cli.answer import as_text, as_typed
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.scaling import Options
from transferscope.cli.options import file_in, named_columns
from transferscope.errors import SettingsError
from transferscope.report.blocks import Text
from transferscope.report.save import file_name
from transferscope.scaling.advice import Costs, Formula

_ROLES = {"score": "error", "pretrain": "pretrain_size", "labels": "finetune_size", "stderr": "stderr"}
"""Fields of `Columns` by the roles of columns."""


def scaling(options: Options, _: object = None) -> None:
    """Fit laws to a table or study and print what they imply."""
    is_priced = options.cost_pretrain or options.cost_label or options.cost_run
    if is_priced and options.cost is not None:
        raise SettingsError("both --cost and a price of data or runs were given; choose one of them")
    prices = Costs(options.cost_pretrain, options.cost_label or 0.0, options.cost_run or 0.0) if is_priced else None
    question = Question(
        options.target_score,
        prices if options.cost is None else Formula(options.cost),
        options.budget,
        options.largest_size,
        options.loss,
        tuple(_sizes(text) for text in options.at or ()),
    )
    named = {_ROLES[role]: column for role, column in named_columns(options.columns, _ROLES).items()}
    read = Columns(by=tuple(options.by or ()), repeats=options.repeats, better=options.better, **named)
    result = analyse(options.place, question, columns=read, study=options.study)
    name = f"{file_name(result.name)}-scaling.html"
    if options.as_json:  # only --out writes a page
        print_analysis(
            "scaling",
            result,
            [] if options.out is None else [result.report(file_in(options.out, name), command=as_typed()).html],
        )
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.analysis.notes:
        typer.echo(f"note: {note}")
    if result.kept:
        typer.echo(f"\n{result.kept}")
    typer.echo(f"\nReport: {result.report(file_in(options.out, name), command=as_typed()).html}")


def _sizes(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--at {text!r} is no size; write it as in --at 64000, or --at 7e9,1.4e12") from None
