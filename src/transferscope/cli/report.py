"""`transferscope report`: from a study to a page."""

import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.errors import StoreError, unknown_name

if TYPE_CHECKING:
    from transferscope.report.page import ReportFiles
    from transferscope.store import Store

WATCH_SECONDS = 5
"""Seconds between two looks at the store of a study that runs, and between two readings of its page by a browser."""


class Width(StrEnum):
    """What the figures of a paper are as wide as."""

    COLUMN = "column"
    TEXT = "text"


def report(
    study_or_store: Annotated[
        str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file, or a store: a SQLite file or database URL.")
    ],
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    out: Annotated[Path | None, typer.Option(help="The HTML file to write; NAME.html if not given.")] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it anew while the study runs, until it is complete or Ctrl-C.")
    ] = False,
    width: Annotated[
        Width | None, typer.Option(help="Write its figures for a paper, too: SVG, PDF, CSV; 3.25 or 5.5 inches wide.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report on a study: one HTML file, which holds its figures and tables."""
    from transferscope.analyses.study_page import build_report
    from transferscope.report.save import file_name
    from transferscope.store import Store
    from transferscope.study.places import metric_in_words

    url, name = _located(study_or_store, study)
    with Store.open(url, create=False) as store:
        chosen = _chosen(store, name)
        is_own = study is None and study_or_store.endswith(".toml")
        if is_own and (other := metric_in_words(Path(study_or_store), store.study(chosen).spec)):
            typer.echo(f"note: {other}", err=True)
        page = out or Path(f"{file_name(chosen)}.html")
        made = partial(build_report, store, chosen, page, width=width.value if width else None)
        written = _watched(store, chosen, page, made) if watch else made()
    if as_json:
        verdict = {"headline": written.verdict.headline, "sentences": list(written.verdict.sentences)}
        files = [str(file) for file in (written.html, *written.files)]
        print_json("report", {"study": chosen, "verdict": verdict, "written": files})
        return
    typer.echo(written.verdict.shown)
    typer.echo(f"\nReport: {written.html}")
    if written.files:
        typer.echo(f"Figures: {written.files[0].parent}")


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


def _located(study_or_store: str, study: str | None) -> tuple[str, str | None]:
    if not study_or_store.endswith(".toml"):
        return study_or_store, study
    from transferscope.study.places import find_study  # a store alone needs nothing of the study engine

    address = find_study(Path(study_or_store))
    return address.store, study or address.name


def _chosen(store: "Store", name: str | None) -> str:
    names = [row.name for row in store.studies()]
    if name is not None:
        if name not in names:
            raise unknown_name(f"study in {store.place}", name, names)
        return name
    if not names:
        raise StoreError(f"the store {store.place} holds no study yet; run `transferscope run` on a study file first")
    if len(names) > 1:
        raise StoreError(
            f"the store {store.place} holds {len(names)} studies; choose one with --study {'|'.join(names)}"
        )
    return names[0]
