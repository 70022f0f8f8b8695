"""`transferscope report`: the results as an answer and a report, or as a table for a paper or another program."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote

import typer

from transferscope.analyses.compare.next_step import run_command
from transferscope.analyses.compare.study_page import build_report
from transferscope.analyses.stored import open_result
from transferscope.cli.answer import write_table_as
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.report import RUNS, Options
from transferscope.cli.options import file_in, refuse_others
from transferscope.cli.results import are_results, show_results
from transferscope.cli.terminal import say
from transferscope.errors import StoreError, refuse_unused
from transferscope.report.page import ReportFiles, Verdict
from transferscope.report.save import PaperWidth, file_name
from transferscope.store import Store
from transferscope.study.places import metric_in_words, one_study, open_existing
from transferscope.study.race_state import race_state

WATCH_SECONDS = 5
"""Seconds between updates of the report of a running study, and between reloads of its page."""


def report(options: Options, context: typer.Context) -> None:
    """Report on a study, or on runs of another tool: the answer and its report, or the table."""
    if are_results(options.place):
        show_results(options)
        return
    of_runs = {str(one.name) for one in context.command.params if getattr(one, "rich_help_panel", None) == RUNS}
    refuse_others(context, {str(one.name) for one in context.command.params} - of_runs, "a study is reported on")
    if options.table is not None:
        refuse_unused(
            {"--watch": options.watch, "--width": options.width is not None, "--json": options.as_json},
            "--table asks for the table alone",
        )
        write_table_as(open_result(options.place, study=options.study), options.table, options.out)
        return
    refuse_unused({"--watch": options.watch and options.as_json}, "--json answers once")
    report_study(
        options.place, options.study, out=options.out, width=options.width, watch=options.watch, as_json=options.as_json
    )


def report_study(
    place: str,
    study: str | None = None,
    *,
    out: Path | None = None,
    width: PaperWidth | None = None,
    watch: bool = False,
    as_json: bool = False,
) -> None:
    """Write the report of a study and print its verdict."""
    with open_existing(place) as store:
        chosen = one_study(store, place, study)
        if place.endswith(".toml") and (other := metric_in_words(Path(place), store.study(chosen).spec)):
            say(f"note: {other}", err=True)
        if as_json and out is None:  # only --out writes a page
            print_analysis("report", open_result(place, study=chosen), study=chosen)
            return
        beside = Path(place).parent if place.endswith(".toml") else None  # where `run` has its page
        page = file_in(out or beside, f"{file_name(chosen)}.html")
        made = partial(build_report, store, chosen, page, width=width)
        written = _watched(store, chosen, page, made) if watch else made()
    if as_json:
        print_analysis("report", open_result(place, study=chosen), [written.html, *written.files], study=chosen)
        return
    say_verdict(written.verdict, place)
    say(f"\nReport: {written.html}")
    if written.files:
        say(f"Figures: {written.files[0].parent}")


def say_verdict(verdict: Verdict, place: str) -> None:
    """Print a verdict, and the command of its next step if the study has a file."""
    say(verdict.shown)
    if place.endswith(".toml") and (following := run_command(quote(place), verdict.run_options)):
        say(f"{'  ' if 'Next: ' in verdict.shown else 'Next: '}{following}")


def _watched(store: Store, study: str, out: Path, made: Callable[..., ReportFiles]) -> ReportFiles:
    """Write the report whenever the store has changed, and a last time when the study is complete or at Ctrl-C."""
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
                progress = f"{counts.done} of {counts.total} runs done"
                try:
                    made(width=None, refreshed_every=WATCH_SECONDS)
                    say(f"{progress}: wrote {out}", err=True)
                except StoreError as error:  # nothing to show yet, or the file cannot be written
                    say(f"{progress}: no page yet, because {error}", err=True)
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        say("stopped watching", err=True)
    return made()
