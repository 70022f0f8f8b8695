"""Progress of a study in a notebook: one line, updated in place, without further packages."""

import math
import sys
import time
from collections.abc import Callable
from html import escape

from transferscope.study.run import CellFailed, CellSlow, CellsStopped, Event, StudyProgress, ignore
from transferscope.wording import cell_words, duration_between, few, rough_duration

_SECONDS_BETWEEN = 0.5


def progress_words(event: StudyProgress) -> str:
    """Return the progress of a study: "30 of 36 runs done, 1 failed, 2 to 5 min left"; a race has no total."""
    of_all = "" if event.is_race else f" of {event.total}"
    words = ["1 run done" if event.is_race and event.done == 1 else f"{event.done}{of_all} runs done"]
    if event.failed:
        words.append(f"{event.failed} failed")
    if event.seconds_left is not None and (event.done + event.failed < event.total or event.is_race):
        low, high = event.seconds_left
        if event.is_race:
            words += [f"up to {rough_duration(high)} left"] if round(high) else []
        elif not math.isfinite(high):
            words.append(f"at least {rough_duration(low)} left")
        elif round(high):
            words.append(f"{duration_between(low, high)} left")
    return ", ".join(words)


def slow_words(event: CellSlow) -> str:
    """Describe a slow run, and the time of the others."""
    words = f"{cell_words(event.cell.role, event.cell.labels)} has run {event.times:.0f} times as long as the others"
    table = "run" if event.cell.role == "command" else "engine"
    took = rough_duration(event.seconds)
    return f"{words} ({took}); Ctrl-C stops the study, and timeout in [{table}] ends such a run"


def stopped_words(event: CellsStopped) -> str:
    """Describe a stopped run, and that it can be resumed."""
    cells = few([cell_words(cell.role, cell.labels) for cell in event.cells])
    of_commands = {cell.role == "command" for cell in event.cells}
    ways = {False: "it resumes from its checkpoint", True: "a command starts again"}
    then = " and ".join(way for is_command, way in ways.items() if is_command in of_commands)
    return f"stopped at the time limit: {cells}; with more minutes, {then}"


def shown_in_notebook(on_event: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return a progress callback: the caller's, or by default a line in a notebook.

    Args:
        on_event: The given callback; `ignore` for the default.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if on_event is not ignore or not hasattr(shell, "kernel"):  # a terminal has no kernel
        return on_event
    return _Line()


class _Line:
    """A progress bar with text, updated in place; failures stay below it."""

    def __init__(self) -> None:
        from IPython.display import HTML, DisplayHandle

        self._html, self._handle = HTML, DisplayHandle()
        self._shown, self._due = False, 0.0
        self._failures: list[str] = []

    def __call__(self, event: Event) -> None:
        if not isinstance(event, StudyProgress):
            if isinstance(event, CellFailed):
                words = f"{cell_words(event.cell.role, event.cell.labels)} failed: {event.failure.message}"
            else:
                words = slow_words(event) if isinstance(event, CellSlow) else stopped_words(event)
            self._failures.append(escape(words))
            self._due = 0.0
            return
        settled = event.done + event.failed
        if time.monotonic() < self._due and settled < event.total:
            return
        self._due = time.monotonic() + _SECONDS_BETWEEN
        bar = f'<progress value="{settled}" max="{max(event.total, 1)}"></progress> {progress_words(event)}'
        drawn = self._html("<br>".join([bar, *self._failures]))
        if self._shown:
            self._handle.update(drawn)
        else:
            self._handle.display(drawn)
            self._shown = True
