"""What `transferscope scaling` does once its options are read."""

from collections.abc import Sequence
from pathlib import Path

import typer

from transferscope.analyses.scaling import scaling
from transferscope.report.save import file_name
from transferscope.scaling.analysis import Analysis
from transferscope.scaling.question import Question
from transferscope.scaling.table import Columns
from transferscope.scaling.words import (
    CURVE_HEADINGS,
    SURFACE_HEADINGS,
    curve_row,
    gain_in_words,
    identifiability,
    surface_in_words,
    surface_parameters,
    verdict,
)


def answer(place: str, columns: Columns, question: Question, *, study: str | None, out: Path | None) -> None:
    """Print the verdict on a table or a study, and write the report.

    Args:
        place: A CSV table, a study file, or a store.
        columns: Columns of the table; of a study, only `by` is read.
        question: What is asked.
        study: Which study, when a store holds several.
        out: The HTML file to write; None for NAME-scaling.html.
    """
    result = scaling(place, question, columns=columns, study=study)
    _print(result.analysis)
    typer.echo(f"\nReport: {result.report(out or Path(f'{file_name(result.name)}-scaling.html')).html}")


def _print(analysis: Analysis) -> None:
    said = [verdict(analysis)]
    typer.echo(said[0] + "\n")
    if analysis.curves:
        _print_table([CURVE_HEADINGS, *(curve_row(curve) for curve in analysis.curves)])
    for one in analysis.surfaces:
        if analysis.curves:
            typer.echo("\n" + "\n".join(surface_in_words(one)) + "\n")
        _print_table([SURFACE_HEADINGS, *surface_parameters(one)])
    if analysis.gains:
        typer.echo("\n" + "\n".join(gain_in_words(gain) for gain in analysis.gains))
    if len(analysis.curves) == 1 and (said := [*said, *identifiability(analysis.curves[0].fit)])[1:]:
        typer.echo("\n" + "\n".join(said[1:]))
    for note in analysis.notes:
        if not any(note in sentence for sentence in said):
            typer.echo(f"note: {note}")


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
