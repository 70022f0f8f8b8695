"""`transferscope history`: finished runs of studies and tables, and what to try next on a new task."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from transferscope.cli.as_json import AsJson, print_analysis, print_json
from transferscope.errors import SettingsError, each_once

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pandas import DataFrame

app = typer.Typer(
    help="Keep finished runs of many tasks, and ask what to try next on a new one.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def add(
    place: Annotated[
        str, typer.Argument(metavar="STUDY.toml|STORE|TABLE", help="A study, or a CSV, TSV or JSON table.")
    ],
    task: Annotated[str | None, typer.Option(help="Name of the task. [the target of a study, or the table]")] = None,
    task_column: Annotated[str | None, typer.Option(help="Column of a table: tasks.")] = None,
    arm_column: Annotated[str | None, typer.Option(help="Column: models, or ways of transfer.")] = None,
    score_column: Annotated[str | None, typer.Option(help="Column: scores.")] = None,
    labels_column: Annotated[str | None, typer.Option(help="Column: numbers of labels.")] = None,
    seed_column: Annotated[str | None, typer.Option(help="Column: seeds.")] = None,
    better: Annotated[
        str | None, typer.Option(metavar="lower|higher", help="Which scores are better; told by name without.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Keep the finished runs of a study, or the scores of a table."""
    from transferscope.analyses.history import History, add_to_history
    from transferscope.analyses.plan import LabelColumns
    from transferscope.analyses.scaling.measurements import Better
    from transferscope.errors import unknown_name

    if better not in (None, "lower", "higher"):
        raise unknown_name("direction of --better", str(better), ("lower", "higher"))
    columns = LabelColumns(labels_column, arm_column, score_column, seed_column, better=cast(Better | None, better))
    history = History.of_user()
    read, new = add_to_history(place, history=history, columns=columns, task=task, task_column=task_column, study=study)
    if as_json:
        print_json("history add", {"history": str(history.path), "read": read, "new": new})
        return
    typer.echo(f"{read} scores read, {new} of them new: {history.path}")


@app.command("list")
def list_tasks(
    own: Annotated[bool, typer.Option("--own", help="Leave out what comes with the package.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every task of what comes with the package.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the tasks that are kept, and what comes with the package."""
    from transferscope.analyses.history import History
    from transferscope.analyses.history.records import shipped_rows

    history = History.of_user()
    frame = history.read()
    if as_json:
        shown = {"history": str(history.path), "tasks": [_task(str(task), part) for task, part in _by_task(frame)]}
        shown["shipped"] = [] if own else [_task(str(task), part) for task, part in _by_task(shipped_rows())]
        print_json("history list", shown)
        return
    if frame.empty:
        typer.echo(f"Nothing is kept yet in {history.path}; begin with `transferscope history add STUDY|TABLE`.")
    else:
        _print_tasks(frame)
        typer.echo(f"\n{history.path}")
    if own:
        return
    shipped = shipped_rows()
    typer.echo("\nThis comes with the package (docs/history.md says under which licence):\n")
    if every:
        _print_tasks(shipped)
        return
    rows: list[tuple[str, ...]] = [("origin", "tasks", "arms", "scores", "measures")]
    for origin, part in shipped.groupby("origin", sort=False):
        counts = (part["task"].nunique(), part["arm"].nunique(), len(part))
        rows.append((str(origin), *map(str, counts), ", ".join(dict.fromkeys(part["measure"]))))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(row, (*widths, 0), strict=True)))


def _by_task(frame: "DataFrame") -> "Iterable[tuple[Any, DataFrame]]":
    return frame.groupby("task", sort=False)


def _task(task: str, runs: "DataFrame") -> dict[str, Any]:
    best = runs.sort_values("score", ascending=runs["better"].iloc[0] == "lower").iloc[0]
    return {
        "task": task,
        "origin": str(best["origin"]),
        "arms": int(runs["arm"].nunique()),
        "scores": len(runs),
        "measure": str(runs["measure"].iloc[0]),
        "best_arm": str(best["arm"]),
        "best_score": float(best["score"]),
    }


def _print_tasks(frame: "DataFrame") -> None:
    rows = [("task", "arms", "scores", "measure", "best")]
    for found in (_task(str(task), part) for task, part in _by_task(frame)):
        said = f"{found['best_arm']} ({found['best_score']:.4g})"
        rows.append((found["task"], str(found["arms"]), str(found["scores"]), found["measure"], said))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(row[:4], widths, strict=True)) + f"  {row[4]}")


@app.command()
def propose(
    task: Annotated[str, typer.Argument(help="The new task; what is kept of it counts as tried.")],
    tried: Annotated[
        list[str] | None, typer.Option(metavar="ARM=SCORE", help="A score on the new task; may be given again.")
    ] = None,
    labels: Annotated[float | None, typer.Option(help="Number of labels. [the largest of each arm]")] = None,
    origin: Annotated[
        str | None, typer.Option(help="Read only what is from there, as `transferscope history list` names it.")
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Leave out what comes with the package.")] = False,
    every_arm: Annotated[
        bool, typer.Option("--every-arm", help="Propose arms that only what comes with the package knows, too.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="An HTML file to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which arm to try next on a new task."""
    from transferscope.analyses.history import propose as ask
    from transferscope.cli.answer import as_text
    from transferscope.report.blocks import Text

    probes = each_once(map(_probe, tried or ()), "arm of --tried")
    result = ask(
        task,
        probes=probes,
        labels=labels,
        origin=origin,
        shipped=not own,
        every_arm=every_arm,
    )
    if not as_json:
        typer.echo(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    written = [] if out is None else [result.report(out).html]
    if as_json:
        print_analysis("history propose", result, written)
    elif written:
        typer.echo(f"\nReport: {written[0]}")


def _probe(text: str) -> tuple[str, float]:
    arm, _, score = text.rpartition("=")
    try:
        if arm:
            return arm, float(score)
    except ValueError:
        pass
    raise SettingsError(f"--tried {text!r} is no arm with its score; write it as in --tried fine-tune=0.91")
