"""`transferscope report`: from a study to a page, or to the table of a paper, a spreadsheet or another program."""

import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.options import OutOption, StudyName, file_in
from transferscope.errors import SettingsError, StoreError, refuse_unused

if TYPE_CHECKING:
    from transferscope.report.page import ReportFiles
    from transferscope.store import Store

WATCH_SECONDS = 5
"""Seconds between two looks at the store of a study that runs, and between two readings of its page by a browser."""


class Format(StrEnum):
    """How a table is written, and the ending of its file."""

    CSV = "csv"
    PARQUET = "parquet"
    LATEX = "latex"
    MARKDOWN = "markdown"


_ENDINGS = {Format.LATEX: "tex", Format.MARKDOWN: "md"}


class Width(StrEnum):
    """What the figures of a paper are as wide as."""

    COLUMN = "column"
    TEXT = "text"


def report(
    place: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file, or a store: a path or URL.")],
    table: Annotated[
        Format | None,
        typer.Option(help="Print the table: all numbers as csv or parquet, or means as latex or markdown."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write the page anew as runs end, until the study is complete.")
    ] = False,
    width: Annotated[
        Width | None, typer.Option(help="Write its figures for a paper, too: SVG, PDF, CSV; 3.25 or 5.5 inches wide.")
    ] = None,
    study: StudyName = None,
    out: OutOption = None,
    as_json: AsJson = False,
) -> None:
    """Write the page of a study, one HTML file that holds its figures and tables; or print its table.

    The table has a row for each arm and number of labels, with intervals, p-values and costs. In Python:
    `transferscope.open_result(STUDY).table()`.
    """
    if table is not None:
        refuse_unused(
            {"--watch": watch, "--width": width is not None, "--json": as_json}, "--table asks for the table alone"
        )
        _table(place, table, study, out)
        return
    refuse_unused({"--watch": watch and as_json}, "--json answers once")
    from transferscope.analyses.compare.study_page import build_report
    from transferscope.analyses.stored import open_result
    from transferscope.report.save import file_name
    from transferscope.study.places import metric_in_words, one_study, open_existing

    with open_existing(place) as store:
        chosen = one_study(store, place, study)
        if place.endswith(".toml") and (other := metric_in_words(Path(place), store.study(chosen).spec)):
            typer.echo(f"note: {other}", err=True)
        if as_json and out is None:  # only --out writes a page
            print_analysis("report", open_result(place, study=chosen), study=chosen)
            return
        page = file_in(out, f"{file_name(chosen)}.html")
        made = partial(build_report, store, chosen, page, width=width.value if width else None)
        written = _watched(store, chosen, page, made) if watch else made()
    if as_json:
        files = [written.html, *written.files]
        print_analysis("report", open_result(place, study=chosen), files, study=chosen)
        return
    typer.echo(written.verdict.shown)
    typer.echo(f"\nReport: {written.html}")
    if written.files:
        typer.echo(f"Figures: {written.files[0].parent}")


def _table(place: str, form: Format, study: str | None, out: Path | None) -> None:
    if form is Format.PARQUET and out is None:
        raise SettingsError("parquet is no text to print; say where it goes, as in --out table.parquet")
    from transferscope.analyses.stored import open_result
    from transferscope.report.save import csv_text, file_name, write_parquet, write_text

    result = open_result(place, study=study)
    file = None if out is None else file_in(out, f"{file_name(result.title)}.{_ENDINGS.get(form, form.value)}")
    if form is Format.PARQUET and file is not None:
        write_parquet(result.table(), file)
    else:
        as_text = {Format.LATEX: result.to_latex, Format.MARKDOWN: result.to_markdown}
        text = as_text[form]() if form in as_text else csv_text(result.table())
        if file is None:
            typer.echo(text, nl=False)
        else:
            write_text(file, text)
    if file is not None:
        typer.echo(f"written: {file}")


def _watched(store: "Store", study: str, out: Path, made: Callable[..., "ReportFiles"]) -> "ReportFiles":
    """Write the page whenever the store has changed, and once more for good when the study is complete or at Ctrl-C."""
    from transferscope.study.race_state import race_state

    seen: object = None
    try:
        while True:
            counts = store.counts(study)
            if not counts.planned and not counts.running:
                race = race_state(store.study_documents(study))  # which plans its next runs as it goes
                if store.study(study).spec.get("race") is None or (race is not None and race.end):
                    break
            now = (counts.done, counts.failed, sorted(store.study_documents(study)))
            if now != seen:
                seen = now
                said = f"{counts.done} of {counts.total} cells done"
                try:
                    made(width=None, refreshed_every=WATCH_SECONDS)
                    typer.echo(f"{said}: wrote {out}", err=True)
                except StoreError as error:  # nothing to show yet, or the file cannot be written
                    typer.echo(f"{said}: no page yet, because {error}", err=True)
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        typer.echo("stopped watching", err=True)
    return made()
