"""The answer so far of a study that runs: a line for each number of labels, said anew as runs end."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from transferscope.analyses.compare.statements import short
from transferscope.analyses.compare.study_page import build_report
from transferscope.errors import TransferscopeError
from transferscope.store import Store
from transferscope.study.decisions import decisions
from transferscope.study.frames import read_study
from transferscope.study.run import Event, StudyProgress

LEAST_SECONDS = 5.0
"""Between two looks at the answer, which take a twentieth of the time at most."""

REFRESHED_EVERY = 5
"""Seconds between two readings of the page by a browser."""


class AnswerSoFar:
    """Says the answer after runs have ended, where it has changed.

    Args:
        page: A page to write anew each time; None for none.
    """

    def __init__(self, store: Store, study: str, say: Callable[[str], None], *, page: Path | None = None) -> None:
        self._store, self._study, self._say, self._page = store, study, say, page
        self._done, self._due, self._said = 0, time.monotonic() + LEAST_SECONDS, ""

    def __call__(self, event: Event) -> None:
        """Look where it is time to."""
        began = time.monotonic()
        if not isinstance(event, StudyProgress) or event.done == self._done or began < self._due:
            return
        self._done = event.done
        with suppress(TransferscopeError):  # the study goes on, and its end says what is wrong
            answer = so_far(self._store, self._study)
            if answer and answer != self._said:
                self._said = answer
                self._say(answer)
            if answer and self._page is not None:
                build_report(self._store, self._study, self._page, refreshed_every=REFRESHED_EVERY)
        now = time.monotonic()
        self._due = now + max(LEAST_SECONDS, 20 * (now - began))


def so_far(store: Store, study: str) -> str:
    """The answer so far, a line for each number of labels; empty without a run."""
    frames = read_study(store, study)
    return "\n".join(f"so far, {line}" for line in short(frames, decisions(frames)))
