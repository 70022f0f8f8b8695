"""`transferscope compare` of results that somebody has: a table with a row for each run, or a folder of runs."""

import re
from dataclasses import fields, replace

from transferscope.analyses.compare import compare_results
from transferscope.analyses.history import propose
from transferscope.analyses.plan import LabelColumns
from transferscope.analyses.results.runs import RunColumns
from transferscope.cli.answer import as_typed, conclude
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.compare import Options
from transferscope.cli.options import file_in, named_columns, pairs
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError
from transferscope.report.save import csv_text, file_name
from transferscope.study.decisions import MOST_SEEDS

_ROLES_OF_TASKS = ("arm", "task", "seed", "labels")
"""What columns may hold in results of several tasks."""


def show_results(options: Options) -> None:
    """Print the answer and write the page, or print the runs to make next."""
    roles = [one.name for one in fields(RunColumns) if one.name not in ("wide", "better", "unit", "where")]
    columns = [*(options.columns or []), *([f"metric={options.metric}"] if options.metric else [])]
    if options.wide == "tasks":
        raise SettingsError("--wide tasks reads a leaderboard for --task; give the new task with it, or --wide arms")
    result = compare_results(
        options.target,
        without=options.without,
        columns=RunColumns(
            **named_columns(columns, roles),
            better=options.better,
            unit=options.unit,
            wide=options.wide,
            where=pairs("--where", options.where or ()),
        ),
        predictions=options.predictions,
        margin=options.margin,
        worth=options.worth,
        planned=options.planned,
    )
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
        print_analysis("compare", result, [written.html, *written.files])
        return
    say(result.verdict.shown)
    for note in result.runs.notes:
        say(f"note: {note}", err=True)
    say(f"\nReport: {written.html}")
    if written.files:
        say(f"Figures: {written.files[0].parent}")


def show_proposal(options: Options) -> None:
    """Print which arm to try next on the task, and write a page."""
    labels, task = options.labels or [], str(options.task)
    if len(labels) > 1 or options.wide in ("labels", "seeds"):
        raise SettingsError("--task reads one number of labels; give --labels once, and --wide arms or tasks at most")
    columns = LabelColumns(
        **named_columns(options.columns, _ROLES_OF_TASKS),
        score=options.metric,
        better=options.better,
        where=pairs("--where", options.where or ()),
        wide="tasks" if options.wide == "tasks" else options.wide == "arms",
    )
    tried = options.tried or []
    scores = pairs("--tried", tried, at=str.rpartition)  # names of arms may hold "="
    try:
        probes = {arm: float(score) for arm, score in scores.items()}
    except ValueError:
        raise SettingsError(
            f"--tried {' '.join(tried)} holds what is no score; write it as in --tried fine-tune=0.91"
        ) from None
    known = [options.target, *(options.rest or [])]
    result = propose(task, known, tried=probes, columns=columns, labels=labels[0] if labels else None)
    conclude(result, options.out, f"{task}-next", as_json=options.as_json, notes=result.notes)
