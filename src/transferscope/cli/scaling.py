"""`transferscope scaling`: from a table of errors, or a study, to a verdict on more data or other data."""

from pathlib import Path
from typing import Annotated, cast

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.errors import SettingsError


def scaling(
    place: Annotated[
        str, typer.Argument(metavar="TABLE.csv|STUDY.toml|STORE", help="A table, a study file or a store.")
    ],
    error: Annotated[str, typer.Option(help="Column of the target error or loss.")] = "error",
    pretrain_size: Annotated[str, typer.Option(help="Column of the pre-training size.")] = "n",
    finetune_size: Annotated[str | None, typer.Option(help="Column of the fine-tuning size.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Column that tells curves apart; may be given again.")] = None,
    stderr: Annotated[str | None, typer.Option(help="Column of standard errors.")] = None,
    repeats: Annotated[bool, typer.Option("--repeats", help="Rows at the same sizes are repeats.")] = False,
    better: Annotated[
        str | None,
        typer.Option(metavar="lower|higher", help="Which values are better; told by name and trend without."),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(metavar="log|huber|linear", help="Residual of the fits; huber is not moved by a few bad rows."),
    ] = "log",
    target_error: Annotated[
        float | None, typer.Option(help="The value of the column --error that is wanted, in its unit.")
    ] = None,
    largest_size: Annotated[float | None, typer.Option(help="Largest feasible pre-training size.")] = None,
    cost_pretrain: Annotated[float, typer.Option(help="Cost of a pre-training example.")] = 0.0,
    cost_label: Annotated[float, typer.Option(help="Cost of a labelled target example.")] = 0.0,
    cost_run: Annotated[float, typer.Option(help="Cost of a run.")] = 0.0,
    cost: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="Cost of training N parameters on D tokens. [6*N*D]")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None,
    at: Annotated[
        list[str] | None, typer.Option(metavar="N[,D]", help="Sizes to predict at; may be given again.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    figure: Annotated[str | None, typer.Option(hidden=True)] = None,
    out: Annotated[Path | None, typer.Option(help="The HTML file to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """How much pre-training, and more data or different data? Prints the verdict and writes a report."""
    if figure is not None:
        raise SettingsError(
            f"scaling draws no figures of papers; `transferscope papers draw mikami2021 fig{figure} --table {place}` "
            "does"
        )
    # the command line starts faster without the numerics of a command that is not used
    from transferscope.analyses.columns import Better
    from transferscope.analyses.scaling import Columns, Question
    from transferscope.analyses.scaling import scaling as analyse
    from transferscope.cli.answer import as_text
    from transferscope.report.blocks import Text
    from transferscope.report.save import file_name
    from transferscope.scaling.advice import Costs, Formula
    from transferscope.scaling.solve import Loss

    prices = Costs(cost_pretrain, cost_label, cost_run) if cost_pretrain or cost_label or cost_run else None
    if prices is not None and cost is not None:
        raise SettingsError("both --cost and a price of data or runs were given; choose one of them")
    costs = prices if cost is None else Formula(cost)
    question = Question(
        target_error, costs, budget, largest_size, cast(Loss, loss), tuple(_sizes(text) for text in at or ())
    )
    columns = Columns(
        error, pretrain_size, finetune_size, tuple(by or ()), stderr, repeats, cast(Better | None, better)
    )
    result = analyse(place, question, columns=columns, study=study)
    if as_json:  # only --out writes a page
        print_analysis("scaling", result, [] if out is None else [result.report(out).html])
        return
    typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in result.analysis.notes:
        typer.echo(f"note: {note}")
    if result.kept:
        typer.echo(f"\n{result.kept}")
    typer.echo(f"\nReport: {result.report(out or Path(f'{file_name(result.name)}-scaling.html')).html}")


def _sizes(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--at {text!r} is no size; write it as in --at 64000, or --at 7e9,1.4e12") from None
