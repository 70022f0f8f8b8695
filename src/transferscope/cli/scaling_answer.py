"""What `transferscope scaling` does once its options are read."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import typer

from transferscope.cli.places import open_existing, studies_in
from transferscope.errors import DataError, StoreError, unknown_name
from transferscope.report.export import file_name
from transferscope.scaling.analysis import Analysis, analyse
from transferscope.scaling.question import Question
from transferscope.scaling.table import Columns, curves, read_table
from transferscope.scaling.words import (
    CURVE_HEADINGS,
    curve_row,
    gain_in_words,
    identifiability,
    surface_in_words,
    verdict,
)
from transferscope.store import without_password


def answer(place: str, columns: Columns, question: Question, *, study: str | None, out: Path | None) -> None:
    """Print the verdict on a table or a study, and write the report.

    Args:
        place: A CSV table, a study file, or a store.
        columns: Columns of the table; of a study, only `by` is read.
        question: What is asked.
        study: Which study, when a store holds several.
        out: The HTML file to write; None for NAME-scaling.html.
    """
    if _is_table(place):
        name, groups = Path(place).stem, curves(read_table(Path(place)), columns)
    else:
        frame, name = _study_frame(place, study)
        groups = curves(frame, _study_columns(frame, columns))
    analysis = analyse(groups, question)
    _print(analysis)
    _report(analysis, out or Path(f"{file_name(name)}-scaling.html"), name)


def _study_columns(frame: pd.DataFrame, columns: Columns) -> Columns:
    finetune = "s" if frame["s"].nunique() > 1 else None
    by = columns.by or ("source", "method")
    return replace(Columns(), finetune_size=finetune, by=by, repeats=True)


def _is_table(place: str) -> bool:
    return "://" not in place and not place.endswith((".toml", ".sqlite", ".db"))


def _print(analysis: Analysis) -> None:
    said = [verdict(analysis)]
    typer.echo(said[0] + "\n")
    rows = [CURVE_HEADINGS, *(curve_row(curve) for curve in analysis.curves)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(CURVE_HEADINGS))]
    for row in rows:
        typer.echo("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    for one in analysis.surfaces:
        typer.echo("\n" + "\n".join(surface_in_words(one)))
    if analysis.gains:
        typer.echo("\n" + "\n".join(gain_in_words(gain) for gain in analysis.gains))
    if len(analysis.curves) == 1 and (said := [*said, *identifiability(analysis.curves[0].fit)])[1:]:
        typer.echo("\n" + "\n".join(said[1:]))
    for note in analysis.notes:
        if not any(note in sentence for sentence in said):
            typer.echo(f"note: {note}")


def _report(analysis: Analysis, out: Path, name: str) -> None:
    from transferscope.report.scaling_page import write_scaling_page  # figures take a second to load

    typer.echo(f"\nReport: {write_scaling_page(analysis, out, title=name)}")


def _study_frame(place: str, study: str | None) -> tuple[pd.DataFrame, str]:
    """Final target errors of a study by source, method, n (0: no source), s and seed, and the name of the study.

    Networks taken at earlier steps of the pre-training are left out: they are no repeats of the last one.
    """
    with open_existing(place) as store:
        name = _chosen(studies_in(store, place), study, place)
        labels = {
            stored.cell.key: stored.cell.labels
            for stored in store.cells(name)
            if stored.cell.role == "method" and stored.cell.labels.get("pretrain_step") is None
        }
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
    n_sizes = frame.loc[frame["n"] > 0, "n"].nunique()
    if n_sizes < 2:
        raise DataError(
            f"the study {name} has target errors at {n_sizes} pre-training size(s), and a scaling law "
            "takes several; give sizes = [1000, 2000, 4000, 8000] under [pretraining] in its file and run it again"
        )
    return _from_nothing_for_all(frame), name


def _from_nothing_for_all(frame: pd.DataFrame) -> pd.DataFrame:
    """Errors of training from scratch as n = 0 of every source and method."""
    pretrained, scratch = frame[frame["n"] > 0], frame[frame["n"] == 0]
    pairs = pretrained[["source", "method"]].drop_duplicates()
    return pd.concat([pretrained, scratch.drop(columns=["source", "method"]).merge(pairs, how="cross")])


def _chosen(names: list[str], study: str | None, place: str) -> str:
    if study is not None and study not in names:
        raise unknown_name(f"study in {without_password(place)}", study, names)
    if study is None and len(names) != 1:
        shown = without_password(place)
        raise StoreError(f"{shown} holds {len(names)} studies; choose one with --study {'|'.join(names)}")
    return study or names[0]
