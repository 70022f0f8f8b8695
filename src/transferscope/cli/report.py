"""`transferscope report`: from a study to a page, or to the table of a paper, a spreadsheet or another program."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from transferscope.analyses.compare.study_page import build_report
from transferscope.analyses.stored import open_result
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.report import Options
from transferscope.cli.options import file_in
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError, StoreError, refuse_unused
from transferscope.report.page import ReportFiles
from transferscope.report.save import csv_text, file_name, write_parquet, write_text
from transferscope.store import Store
from transferscope.study.places import metric_in_words, one_study, open_existing
from transferscope.study.race_state import race_state

WATCH_SECONDS = 5
"""Seconds between two looks at the store of a study that runs, and between two readings of its page by a browser."""

_ENDINGS = {"latex": "tex", "markdown": "md"}


def report(options: Options, _: object = None) -> None:
    """Write the page of a study and print its verdict, or print its table."""
    if options.table is not None:
        refuse_unused(
            {"--watch": options.watch, "--width": options.width is not None, "--json": options.as_json},
            "--table asks for the table alone",
        )
        _table(options)
        return
    refuse_unused({"--watch": options.watch and options.as_json}, "--json answers once")
    with open_existing(options.place) as store:
        chosen = one_study(store, options.place, options.study)
        if options.place.endswith(".toml") and (
            other := metric_in_words(Path(options.place), store.study(chosen).spec)
        ):
            say(f"note: {other}", err=True)
        if options.as_json and options.out is None:  # only --out writes a page
            print_analysis("report", open_result(options.place, study=chosen), study=chosen)
            return
        beside = Path(options.place).parent if options.place.endswith(".toml") else None  # where `run` has its page
        page = file_in(options.out or beside, f"{file_name(chosen)}.html")
        made = partial(build_report, store, chosen, page, width=options.width)
        written = _watched(store, chosen, page, made) if options.watch else made()
    if options.as_json:
        files = [written.html, *written.files]
        print_analysis("report", open_result(options.place, study=chosen), files, study=chosen)
        return
    say(written.verdict.shown)
    say(f"\nReport: {written.html}")
    if written.files:
        say(f"Figures: {written.files[0].parent}")


def _table(options: Options) -> None:
    form, out = str(options.table), options.out
    if form == "parquet" and out is None:
        raise SettingsError("parquet is no text to print; say where it goes, as in --out table.parquet")
    result = open_result(options.place, study=options.study)
    file = None if out is None else file_in(out, f"{file_name(result.title)}.{_ENDINGS.get(form, form)}")
    if form == "parquet" and file is not None:
        write_parquet(result.table(), file)
    else:
        as_text = {"latex": result.to_latex, "markdown": result.to_markdown}
        text = as_text[form]() if form in as_text else csv_text(result.table())
        if file is None:
            say(text, nl=False)
        else:
            write_text(file, text)
    if file is not None:
        say(f"written: {file}")


def _watched(store: Store, study: str, out: Path, made: Callable[..., ReportFiles]) -> ReportFiles:
    """Write the page whenever the store has changed, and once more for good when the study is complete or at Ctrl-C."""
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
                progress = f"{counts.done} of {counts.total} cells done"
                try:
                    made(width=None, refreshed_every=WATCH_SECONDS)
                    say(f"{progress}: wrote {out}", err=True)
                except StoreError as error:  # nothing to show yet, or the file cannot be written
                    say(f"{progress}: no page yet, because {error}", err=True)
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        say("stopped watching", err=True)
    return made()
