"""Running a study from a terminal: progress, interim answers, interruption, and the report."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

import torch
import typer

from transferscope.analyses.compare.statements import short
from transferscope.cli.progress import SHARE_BETWEEN_LINES, study_view
from transferscope.cli.status import failures, status_facts, summary, understood
from transferscope.cli.terminal import say
from transferscope.errors import TransferscopeError
from transferscope.models import input_of
from transferscope.store import Store
from transferscope.study.decisions import decisions
from transferscope.study.facts import reading_words
from transferscope.study.frames import read_study
from transferscope.study.places import open_new
from transferscope.study.plan import StudyPlan
from transferscope.study.planners import AnySpec
from transferscope.study.run import Event, StudyProgress, run_study
from transferscope.study.spec import StudySpec
from transferscope.study.status import StudyStatus, stamp_of


def execute(
    spec: AnySpec,
    *,
    retry_failed: bool = False,
    quiet: bool = False,
    study: Path | None = None,
    since: float | None = None,
) -> StudyStatus:
    """Execute the missing runs of a study and print interim answers.

    Args:
        study: The study file, if the study comes from it alone; None otherwise.
        since: As in `run_study`.
    """
    stamp = stamp_of(study) if study is not None and isinstance(spec, StudySpec) else ""  # commands name other files
    stopped: str = ""
    last: list[str] = []
    with open_new(spec.store, files=spec.files) as store:
        try:
            with study_view(spec.name, quiet=quiet) as view:
                answer = AnswerSoFar(store, spec.name, view.say)

                def show(event: Event) -> None:
                    view(event)
                    if len(spec.methods) > 1:  # one alone is a beginning, and no answer
                        answer(event)

                def tell(plan: StudyPlan) -> None:
                    if not quiet:
                        for line in (*understood(plan.study.facts), *before_it_begins(spec, plan.study.facts)):
                            say(line, err=True)

                return run_study(
                    spec, store, retry_failed=retry_failed, on_event=show, on_plan=tell, stamp=stamp, since=since
                )
        except KeyboardInterrupt as error:
            stopped = str(error) or "stopped before anything was done"
            with suppress(TransferscopeError):  # nothing was planned yet
                last = so_far(store, spec.name)
    say(f"transferscope: {stopped}", err=True)
    for line in last:
        say(line, err=True)
    raise typer.Exit(130)


LEAST_SECONDS = 5.0
"""Least seconds between interim answers, which take at most a twentieth of the time and become rarer."""


class AnswerSoFar:
    """Prints the lines of the answer that have changed, after runs have finished."""

    def __init__(self, store: Store, study: str, say: Callable[[str], None]) -> None:
        self._store, self._study, self._say = store, study, say
        self._began = time.monotonic()
        self._done, self._due = 0, self._began + LEAST_SECONDS
        self._said: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Print the answer if it is due and has changed."""
        began = time.monotonic()
        if not isinstance(event, StudyProgress) or event.done == self._done or began < self._due:
            return
        self._done = event.done
        with suppress(Exception):  # the study continues, whatever it is, and its end says what is wrong
            answer = so_far(self._store, self._study)
            for line in answer:
                if line not in self._said:
                    self._say(line)
            self._said = set(answer)
        now = time.monotonic()
        self._due = now + max(LEAST_SECONDS, 20 * (now - began), SHARE_BETWEEN_LINES * (now - self._began))


def so_far(store: Store, study: str) -> list[str]:
    """Return the answer so far, one line per number of labels; empty without a run."""
    frames = read_study(store, study)
    return [f"so far, {line[0].lower()}{line[1:]}" for line in short(frames, decisions(frames))]


def before_it_begins(spec: AnySpec, facts: Mapping[str, object]) -> Iterator[str]:
    """Yield hints that make a study with pretrained networks faster: an unused GPU, or smaller images."""
    if not isinstance(spec, StudySpec):
        return
    given = [name for name, source in spec.sources.items() if source.network is not None]
    if given and spec.engine.device == "auto" and torch.cuda.is_available():
        yield f"network {', '.join(given)}: this machine has a GPU; --device cuda uses it"
    target = facts.get("target")
    shape = list(target["input_shape"]) if isinstance(target, Mapping) else []
    if len(shape) != 3:
        return
    _, height, width = shape
    for name, source in spec.sources.items():
        if source.network is None:
            continue
        read = input_of(source.pretrained(spec.network).network)
        size = dict(target["provenance"] or {}).get("size") if isinstance(target, Mapping) else None
        if read is not None and (words := reading_words(read, size)) != str(read):
            yield f"network {name}: {words}"
        if read is not None and read.size is not None and read.size**2 > 1.5 * height * width:
            times = read.size**2 / (height * width)
            yield (
                f"network {name}: enlarges images of {height} x {width} to {read.size} x {read.size} pixels, about "
                f"{times:.2g} times the computation. --set sources.{name}.input.size=N is faster, but may be less "
                "accurate"
            )


def report_on(study: Path, status: StudyStatus, *, json_of: str | None = None) -> None:
    """Write the report of a study beside its file, and print its answer.

    Args:
        json_of: The command whose answer is printed as JSON instead; None to print it as text.
    """
    # here, because figures take a while to import, and runs need none
    from transferscope.analyses.compare.study_page import build_report
    from transferscope.analyses.stored import open_result
    from transferscope.cli.as_json import print_analysis
    from transferscope.cli.left_out import race_in_words
    from transferscope.cli.report import report_study

    page = study.with_suffix(".html")
    if json_of is None:
        say("\n".join([summary(status), *failures(status.failed), ""]))
        report_study(str(study), out=page)
        for line in race_in_words(study):
            say(line)
        say(f"To add seeds, labels or methods, edit {study}, then: transferscope run {quote(str(study))}")
    else:
        with open_new(status.store) as store:
            files = build_report(store, status.name, page)
        print_analysis(
            json_of, open_result(study), [files.html, *files.files], study=str(study), run=status_facts(status)
        )
    if status.counts.failed:
        raise typer.Exit(1)
