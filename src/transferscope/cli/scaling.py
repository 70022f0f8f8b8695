"""`transferscope scaling`: from a table of errors, or a study, to a verdict on more data or other data."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from transferscope.cli.places import open_existing, studies_in
from transferscope.errors import DataError, StoreError, unknown_name
from transferscope.scaling.advice import Costs
from transferscope.scaling.analysis import Analysis, Question, analyse
from transferscope.scaling.table import Columns, curves, read_table
from transferscope.scaling.words import (
    CURVE_HEADINGS,
    curve_row,
    gain_in_words,
    identifiability,
    surface_in_words,
    verdict,
)


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
    target_error: Annotated[float | None, typer.Option(help="The error that is wanted.")] = None,
    largest_size: Annotated[float | None, typer.Option(help="Largest feasible pre-training size.")] = None,
    cost_pretrain: Annotated[float, typer.Option(help="Cost of a pre-training example.")] = 0.0,
    cost_label: Annotated[float, typer.Option(help="Cost of a labelled target example.")] = 0.0,
    cost_run: Annotated[float, typer.Option(help="Cost of a run.")] = 0.0,
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    figure: Annotated[
        int | None, typer.Option(help="Regenerate this figure of the Syn2Real paper from the authors' table.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The HTML file to write, or the folder for --figure.")] = None,
) -> None:
    """How much pre-training, and more data or different data? Prints the verdict and writes a report."""
    if figure is not None:
        _paper_figure(Path(place), figure, out or Path("figures"))
        return
    costs = Costs(cost_pretrain, cost_label, cost_run) if cost_pretrain or cost_label or cost_run else None
    question = Question(target_error, costs, budget, largest_size)
    if _is_table(place):
        frame, name = read_table(Path(place)), Path(place).stem
        columns = Columns(error, pretrain_size, finetune_size, tuple(by or ()), stderr, repeats)
    else:
        frame, name = _study_frame(place, study)
        finetune = "s" if frame["s"].nunique() > 1 else None
        columns = Columns("error", "n", finetune, tuple(by or ("source", "method")), repeats=True)
    analysis = analyse(curves(frame, columns), question)
    _print(analysis)
    _report(analysis, out or Path(f"{name}-scaling.html"), name)


def _is_table(place: str) -> bool:
    return "://" not in place and not place.endswith((".toml", ".sqlite", ".db"))


def _print(analysis: Analysis) -> None:
    typer.echo(verdict(analysis))
    typer.echo("")
    rows = [CURVE_HEADINGS, *(curve_row(curve) for curve in analysis.curves)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(CURVE_HEADINGS))]
    for row in rows:
        typer.echo("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    for one in analysis.surfaces:
        typer.echo("\n" + "\n".join(surface_in_words(one)))
    if analysis.gains:
        typer.echo("\n" + "\n".join(gain_in_words(gain) for gain in analysis.gains))
    if len(analysis.curves) == 1:
        typer.echo("\n" + "\n".join(identifiability(analysis.curves[0].fit)))
    for note in analysis.notes:
        typer.echo(f"note: {note}")


def _report(analysis: Analysis, out: Path, name: str) -> None:
    from transferscope.report.scaling_page import write_scaling_page  # figures take a second to load

    typer.echo(f"\nReport: {write_scaling_page(analysis, out, title=name)}")


def _paper_figure(table: Path, number: int, folder: Path) -> None:
    from transferscope.report.scaling_paper import write_paper_figure  # figures take a second to load

    for line in write_paper_figure(table, number, folder):
        typer.echo(line)


def _study_frame(place: str, study: str | None) -> tuple[pd.DataFrame, str]:
    """Final target errors of a study by source, method, n, s and seed, and the name of the study."""
    with open_existing(place) as store:
        name = _chosen(studies_in(store, place), study, place)
        labels = {stored.cell.key: stored.cell.labels for stored in store.cells(name) if stored.cell.role == "method"}
        records = pd.DataFrame(store.records(name).columns())
    final = records[records["step"].isna() & (records["part"] == "target_test") & records["key"].isin(labels)]
    errors = [
        {
            "source": labels[key]["source"],
            "method": labels[key]["method"],
            "n": labels[key]["n_source"],
            "s": labels[key]["n_target"],
            "error": 1 - value if record == "accuracy" else value,
        }
        for key, record, value in zip(final["key"], final["name"], final["value"], strict=True)
        if record in ("accuracy", "mse") and labels[key].get("n_source") is not None
    ]
    frame = pd.DataFrame(errors, columns=["source", "method", "n", "s", "error"])
    if frame["n"].nunique() < 2:
        raise DataError(
            f"the study {name} has target errors at {frame['n'].nunique()} pre-training size(s), and a scaling law takes "
            "several; give sizes = [1000, 2000, 4000, 8000] under [pretraining] in its file and run it again"
        )
    return frame, name


def _chosen(names: list[str], study: str | None, place: str) -> str:
    if study is not None and study not in names:
        raise unknown_name(f"study in {place}", study, names)
    if study is None and len(names) != 1:
        raise StoreError(f"{place} holds {len(names)} studies; choose one with --study {'|'.join(names)}")
    return study or names[0]
