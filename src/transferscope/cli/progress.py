"""How a running study looks: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from transferscope.analyses.notebook import progress_words, stopped_words
from transferscope.study.run import CellFailed, CellsStopped, Event
from transferscope.wording import cell_words

_SECONDS_BETWEEN_LINES, _SECONDS_OF_SILENCE = 10.0, 60.0


@runtime_checkable
class View(Protocol):
    """Something that shows events."""

    def __call__(self, event: Event) -> None:
        """Show an event."""
        ...

    def say(self, lines: str) -> None:
        """Show lines that stay."""
        ...


@contextmanager
def study_view(name: str, *, quiet: bool) -> Iterator[View]:
    """A view of a running study on the standard error stream; a quiet one shows failures only."""
    if quiet or not sys.stderr.isatty():
        yield Lines(name, quiet=quiet)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        yield Bar(progress, name)
    finally:
        progress.stop()


class _Failures:
    """The first failure of each reason; the end of a run groups them all."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def line(self, event: CellFailed) -> str:
        """What to say of it; empty for a reason that was said."""
        message = event.failure.message
        if message in self._met:
            return ""
        self._met.add(message)
        return f"{cell_words(event.cell.role, event.cell.labels)} failed: {message}"


class Lines:
    """A line now and then, for logs, the same one once a minute; failures only where it is quiet."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        self._name = name
        self._quiet = quiet
        self._said, self._said_at = "", -_SECONDS_OF_SILENCE
        self._failures = _Failures()

    def __call__(self, event: Event) -> None:
        """See `View`."""
        if isinstance(event, CellFailed):
            if line := self._failures.line(event):
                print(line, file=sys.stderr, flush=True)
            return
        if isinstance(event, CellsStopped):
            print(stopped_words(event), file=sys.stderr, flush=True)
            return
        words, since = progress_words(event), time.monotonic() - self._said_at
        over = event.done + event.failed == event.total
        wait = _SECONDS_OF_SILENCE if words == self._said else _SECONDS_BETWEEN_LINES
        if self._quiet or (since < wait and (words == self._said or not over)):
            return
        self._said, self._said_at = words, time.monotonic()
        print(f"{self._name}: {words}", file=sys.stderr, flush=True)

    def say(self, lines: str) -> None:
        """See `View`."""
        if not self._quiet:
            print(lines, file=sys.stderr, flush=True)


class Bar:
    """A bar with the time left for the whole study."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(escape(name), total=None, words="")
        self._failures = _Failures()

    def __call__(self, event: Event) -> None:
        """See `View`."""
        if isinstance(event, CellFailed):
            if line := self._failures.line(event):
                self.say(line)
            return
        if isinstance(event, CellsStopped):
            self.say(stopped_words(event))
            return
        self._progress.start()  # not before: until then there may be a question
        settled = event.done + event.failed
        self._progress.update(self._task, completed=settled, total=event.total, words=progress_words(event))

    def say(self, lines: str) -> None:
        """See `View`."""
        self._progress.console.print(lines, markup=False, highlight=False)
