"""`transferscope scaling`: from a table of errors, or a study, to a verdict on more data or other data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.errors import SettingsError

if TYPE_CHECKING:
    from transferscope.analyses.scaling import ScalingResult
    from transferscope.report.blocks import Table


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
    as_json: AsJson = False,
) -> None:
    """How much pre-training, and more data or different data? Prints the verdict and writes a report."""
    if figure is not None:
        raise SettingsError(
            f"scaling draws no figures of papers; `transferscope papers draw mikami2021 fig{figure} --table {place}` "
            "does"
        )
    # the command line starts faster without the numerics of a command that is not used
    from transferscope.analyses.scaling import Columns, Question
    from transferscope.analyses.scaling import scaling as analyse
    from transferscope.analyses.scaling.measurements import Better
    from transferscope.report.save import file_name
    from transferscope.scaling.advice import Costs
    from transferscope.scaling.solve import Loss

    costs = Costs(cost_pretrain, cost_label, cost_run) if cost_pretrain or cost_label or cost_run else None
    question = Question(target_error, costs, budget, largest_size, cast(Loss, loss))
    columns = Columns(
        error, pretrain_size, finetune_size, tuple(by or ()), stderr, repeats, cast(Better | None, better)
    )
    result = analyse(place, question, columns=columns, study=study)
    if as_json:  # only --out writes a page
        print_analysis("scaling", result, [] if out is None else [result.report(out).html])
        return
    typer.echo(_said(result))
    if result.kept:
        typer.echo(f"\n{result.kept}")
    typer.echo(f"\nReport: {result.report(out or Path(f'{file_name(result.name)}-scaling.html')).html}")


def _said(result: "ScalingResult") -> str:
    """Verdict, tables, and what they leave open, as a terminal shows them."""
    from transferscope.analyses.scaling.tables import curves_table, surface_table
    from transferscope.analyses.scaling.words import gain_in_words, identifiability, surface_in_words, verdict

    analysis = result.analysis
    said = [verdict(analysis)]
    parts = [said[0]]
    if analysis.curves:
        parts.append(_columns(curves_table(analysis)))
    for one in analysis.surfaces:
        parts += ["\n".join(surface_in_words(one))] if analysis.curves else []
        parts.append(_columns(surface_table(one)))
    if analysis.gains:
        parts.append("\n".join(gain_in_words(gain) for gain in analysis.gains))
    if len(analysis.curves) == 1 and (open_ends := identifiability(analysis.curves[0].fit)):
        said += open_ends
        parts.append("\n".join(open_ends))
    notes = [f"note: {note}" for note in analysis.notes if not any(note in sentence for sentence in said)]
    return "\n".join(["\n\n".join(parts), *notes])


def _columns(table: "Table") -> str:
    """A table as text, its columns under each other."""
    rows = [[column.title for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
