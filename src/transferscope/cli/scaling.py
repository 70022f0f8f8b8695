"""`transferscope scaling`: from a table of errors, or a study, to a verdict on more data or other data."""

from enum import StrEnum
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
    file_in,
    named_columns,
)
from transferscope.errors import SettingsError

_ROLES = {"score": "error", "pretrain": "pretrain_size", "labels": "finetune_size", "stderr": "stderr"}
"""Fields of `Columns` by the roles of columns."""


class Loss(StrEnum):
    """What of a residual is made small."""

    LOG = "log"
    HUBER = "huber"
    LINEAR = "linear"


def scaling(
    place: Annotated[
        str, typer.Argument(metavar="TABLE.csv|STUDY.toml|STORE", help="A table, a study file or a store.")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="Which column of a table holds what: score [error], pretrain (its size) [n], labels, stderr.",
        ),
    ] = None,
    by: Annotated[list[str] | None, typer.Option(metavar="COLUMN ...", help="Columns that tell curves apart.")] = None,
    repeats: Annotated[bool, typer.Option("--repeats", help="Rows at the same sizes are repeats.")] = False,
    better: BetterOption = None,
    target_score: TargetScoreOption = None,
    largest_size: Annotated[float | None, typer.Option(help="Largest feasible pre-training size.")] = None,
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None,
    cost_pretrain: Annotated[float, typer.Option(help="Cost of a pre-training example.")] = 0.0,
    cost_label: CostLabelOption = None,
    cost_run: CostRunOption = None,
    cost: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="Cost of training N parameters on D tokens. [6*N*D]")
    ] = None,
    at: Annotated[list[str] | None, typer.Option(metavar="N[,D] ...", help="Sizes to predict at.")] = None,
    loss: Annotated[Loss, typer.Option(help="Residual of the fits; a few bad rows do not move huber.")] = Loss.LOG,
    study: StudyName = None,
    out: OutOption = None,
    as_json: AsJson = False,
) -> None:
    """How much pre-training, and more data or different data? Prints the verdict and writes a page."""
    # the command line starts faster without the numerics of a command that is not used
    from transferscope.analyses.scaling import Columns, Question
    from transferscope.analyses.scaling import scaling as analyse
    from transferscope.cli.answer import as_text, as_typed
    from transferscope.report.blocks import Text
    from transferscope.report.save import file_name
    from transferscope.scaling.advice import Costs, Formula

    is_priced = cost_pretrain or cost_label or cost_run
    if is_priced and cost is not None:
        raise SettingsError("both --cost and a price of data or runs were given; choose one of them")
    prices = Costs(cost_pretrain, cost_label or 0.0, cost_run or 0.0) if is_priced else None
    question = Question(
        target_score,
        prices if cost is None else Formula(cost),
        budget,
        largest_size,
        loss.value,
        tuple(_sizes(text) for text in at or ()),
    )
    named = {_ROLES[role]: column for role, column in named_columns(columns, _ROLES).items()}
    read = Columns(by=tuple(by or ()), repeats=repeats, better=None if better is None else better.value, **named)
    result = analyse(place, question, columns=read, study=study)
    name = f"{file_name(result.name)}-scaling.html"
    if as_json:  # only --out writes a page
        print_analysis(
            "scaling", result, [] if out is None else [result.report(file_in(out, name), command=as_typed()).html]
        )
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.analysis.notes:
        typer.echo(f"note: {note}")
    if result.kept:
        typer.echo(f"\n{result.kept}")
    typer.echo(f"\nReport: {result.report(file_in(out, name), command=as_typed()).html}")


def _sizes(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--at {text!r} is no size; write it as in --at 64000, or --at 7e9,1.4e12") from None
