"""`transferscope scaling`: from a table of errors, or a study, to a verdict on more data or other data."""

from pathlib import Path
from typing import Annotated, cast

import typer

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
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    figure: Annotated[str | None, typer.Option(hidden=True)] = None,
    out: Annotated[Path | None, typer.Option(help="The HTML file to write.")] = None,
) -> None:
    """How much pre-training, and more data or different data? Prints the verdict and writes a report."""
    if figure is not None:
        raise SettingsError(
            "scaling draws no figures of papers; "
            f"`transferscope papers draw mikami2021 fig{figure} --table {place}` does"
        )
    # the command line starts faster without the numerics of a command that is not used
    from transferscope.cli.scaling_answer import answer
    from transferscope.scaling.advice import Costs
    from transferscope.scaling.question import Question
    from transferscope.scaling.solve import Loss
    from transferscope.scaling.table import Better, Columns

    costs = Costs(cost_pretrain, cost_label, cost_run) if cost_pretrain or cost_label or cost_run else None
    question = Question(target_error, costs, budget, largest_size, cast(Loss, loss))
    columns = Columns(
        error, pretrain_size, finetune_size, tuple(by or ()), stderr, repeats, cast(Better | None, better)
    )
    answer(place, columns, question, study=study, out=out)
