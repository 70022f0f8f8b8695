"""`transferscope report` for runs of another tool: a table with one row per run, or a folder of runs."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transferscope.analyses.compare import compare_results
from transferscope.analyses.compare.statements import outcomes_in_words
from transferscope.analyses.compare.tasks import compare_tasks
from transferscope.analyses.results.readers import READERS
from transferscope.cli.answer import as_typed, write_table_as
from transferscope.cli.as_json import print_analysis, print_json
from transferscope.cli.commands.report import Options
from transferscope.cli.options import file_in, named_columns, pairs
from transferscope.cli.terminal import say
from transferscope.errors import each_once, refuse_unused
from transferscope.report.save import csv_text, file_name
from transferscope.settings.questions import RunColumns
from transferscope.study.decisions import MOST_SEEDS
from transferscope.study.places import is_study
from transferscope.study.tables import setting_names

_NO_ROLES = ("wide", "better", "unit", "where")


def are_results(place: str) -> bool:
    """Return whether a place contains runs of another tool, rather than a study."""
    path = Path(place)
    return path.exists() and (
        not is_study(place) or (not place.endswith(".toml") and any(one.holds(path) for one in READERS))
    )


def _show_tasks(options: Options, asked: Mapping[str, Any]) -> None:
    """Print the summary over tasks and write its report, and one for each task."""
    tasks = compare_tasks(options.place, **asked)
    page = file_in(options.out, f"{file_name(Path(options.place).resolve().stem)}.html")
    written = tasks.report(page, command=re.sub(r" --(json|width[ =]\S+)", "", as_typed()), width=options.width)
    pages = tasks.pages(page)
    if options.as_json:
        files = [written.html, *pages.values(), *written.files]
        print_json("report", {**tasks.to_dict(), "title": page.stem, "written": [str(one) for one in files]})
        return
    say(written.verdict.shown)
    for task, result in tasks.results.items():
        say(f"{task}: {outcomes_in_words(result.summary.decided)}: {pages[task]}")
    say(f"\nReport: {written.html}")


def show_results(options: Options) -> None:
    """Print the answer and write the report, or print the table, or the runs to make next."""
    refuse_unused({"--watch": options.watch, "--study": options.study is not None}, "runs of another tool are read")
    chosen = options.table is not None or options.next_runs is not None
    refuse_unused(
        {"--json": options.as_json, "--width": options.width is not None} if chosen else {},
        "--table and --next print what they name alone",
    )
    settings = dict(options.settings)
    decision = settings.pop("decision", {})
    where = [*pairs("--where", options.where or ()).items(), *settings.pop("where", {}).items()]
    roles = [name for name in setting_names(RunColumns) if name not in _NO_ROLES]
    named = [*named_columns(options.columns, roles).items(), *settings.items()]
    columns = RunColumns(**each_once(named, "column"), where=each_once(where, "column of --where"))
    asked = {
        "without": options.without,
        "columns": columns,
        "predictions": options.predictions,
        "margin": decision.get("margin"),
        "worth": decision.get("worth"),
        "planned": options.planned,
    }
    if columns.task is not None:
        refuse_unused({"--table or --next": chosen}, "several tasks give a page each and one over all")
        _show_tasks(options, asked)
        return
    result = compare_results(options.place, **asked)
    if options.table is not None:
        write_table_as(result, options.table, options.out)
        return
    if options.next_runs is not None:
        rows = result.next(options.next_runs)
        if rows.empty:
            listed = " beside those without a score" if (result.runs.rows["state"] == "planned").any() else ""
            say(
                f"no further run{listed} is worth its cost: both questions are decided, the arms that matter have "
                f"{MOST_SEEDS} seeds, or more are unlikely to change the answer",
                err=True,
            )
        else:
            say(csv_text(rows), nl=False)
        return
    result = replace(result, command=re.sub(r" --(json|width[ =]\S+)", "", as_typed()))  # --next takes neither
    written = result.report(file_in(options.out, f"{file_name(result.title)}.html"), width=options.width)
    if options.as_json:
        print_analysis("report", result, [written.html, *written.files])
        return
    say(result.verdict.shown)
    for note in result.runs.notes:
        say(f"note: {note}", err=True)
    say(f"\nReport: {written.html}")
    if written.files:
        say(f"Figures: {written.files[0].parent}")
