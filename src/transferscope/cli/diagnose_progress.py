"""How a running measurement looks: a bar on a terminal, a line for each diagnostic that takes a while elsewhere."""

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from transferscope.diagnostics.grid import Progress as Report
from transferscope.study.diagnostic_choice import Choice
from transferscope.wording import rough_duration

_A_WHILE = 5.0  # estimated seconds from which a diagnostic is announced


def measuring(choices: Sequence[Choice], *, quiet: bool) -> Iterator[tuple[Choice, Report | None]]:
    """Go through diagnostics while their progress is shown on the standard error stream.

    Args:
        choices: What will be measured, with costs.
        quiet: Show nothing.

    Yields:
        Each choice, and what its measurement may call with the values done and to do.
    """
    if quiet or not sys.stderr.isatty():
        for choice in choices:
            if not quiet and _seconds(choice) >= _A_WHILE:
                print(_words(choice), file=sys.stderr, flush=True)
            yield choice, None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("", total=sum(map(_seconds, choices)))
        done = 0.0
        for choice in choices:
            bar.update(task, description=_words(choice), completed=done)
            yield choice, _reporting(bar, task, done, _seconds(choice))
            done += _seconds(choice)


def _reporting(bar: Progress, task: TaskID, done: float, seconds: float) -> Report:
    def report(values: int, of: int) -> None:
        bar.update(task, completed=done + seconds * values / max(1, of))

    return report


def _seconds(choice: Choice) -> float:
    return 0.0 if choice.cost is None else choice.cost.seconds


def _words(choice: Choice) -> str:
    return f"{choice.diagnostic.name}, about {rough_duration(_seconds(choice))}"
