"""Progress of a running study: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from transferscope.analyses.notebook import progress_words, slow_words, stopped_words
from transferscope.cli.terminal import say, shown
from transferscope.study.run import CellSlow, CellsStopped, Event, StudyProgress
from transferscope.wording import cell_words

_SECONDS_BETWEEN_LINES, SHARE_BETWEEN_LINES = 10.0, 1 / 8
"""Interval between progress lines, and its share of the elapsed time, so that long logs stay short."""

_SECONDS_OF_SILENCE = 60.0
"""Seconds without news before a line says so; doubled each time."""


class View:
    """The display of a study's events: the first failure of each reason, stopped runs, and progress."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, StudyProgress):
            self.advance(event)
        elif isinstance(event, CellsStopped):
            self.show(stopped_words(event))
        elif isinstance(event, CellSlow):
            self.show(slow_words(event))
        elif event.failure.message not in self._met:  # the end of a run groups them all
            self._met.add(event.failure.message)
            self.show(f"{cell_words(event.cell.role, event.cell.labels)} failed: {event.failure.message}")

    def advance(self, event: StudyProgress) -> None:
        """Show the progress of the study."""
        raise NotImplementedError

    def show(self, lines: str) -> None:
        """Show permanent lines, also in quiet mode."""
        say(lines, err=True)

    def say(self, lines: str) -> None:
        """Show permanent lines."""
        self.show(lines)


@contextmanager
def study_view(name: str, *, quiet: bool) -> Iterator[View]:
    """Return a view of a running study on standard error; a quiet one shows failures only."""
    if quiet or not sys.stderr.isatty():
        yield Lines(name, quiet=quiet)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        yield Bar(progress, name)
    finally:
        progress.stop()


class Lines(View):
    """Lines for logs, at growing intervals: when runs end, otherwise after 1, 2, 4, ... minutes; failures only in quiet
    mode. The end of a study is said by its answer alone."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        super().__init__()
        self._name, self._quiet = name, quiet
        self._said, self._said_at, self._silence = (-1, -1), -_SECONDS_OF_SILENCE, _SECONDS_OF_SILENCE
        self._began: float | None = None

    def advance(self, event: StudyProgress) -> None:
        """See `View`."""
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        ended, since = (event.done, event.failed), now - self._said_at
        is_same, over = ended == self._said, sum(ended) == event.total and not event.is_race
        between = max(_SECONDS_BETWEEN_LINES, SHARE_BETWEEN_LINES * (now - self._began))
        if self._quiet or over or since < (self._silence if is_same else between):
            return
        self._silence = 2 * self._silence if is_same else _SECONDS_OF_SILENCE
        self._said, self._said_at = ended, now
        self.show(f"{self._name}: {progress_words(event)}")

    def say(self, lines: str) -> None:
        """See `View`."""
        if not self._quiet:
            self.show(lines)


class Bar(View):
    """A progress bar with the remaining time of the study."""

    def __init__(self, progress: Progress, name: str) -> None:
        super().__init__()
        self._progress = progress
        self._task = progress.add_task(escape(shown(name)), total=None, words="")

    def advance(self, event: StudyProgress) -> None:
        """See `View`."""
        self._progress.start()  # not before: until then there may be a question
        settled = event.done + event.failed
        self._progress.update(self._task, completed=settled, total=event.total, words=progress_words(event))

    def show(self, lines: str) -> None:
        """See `View`."""
        self._progress.console.print(shown(lines), markup=False, highlight=False)
