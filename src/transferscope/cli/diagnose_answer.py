"""What `transferscope diagnose` shows of a network as it measures: files, progress, each diagnostic."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from transferscope.analyses.diagnose.choice import Choice, choose, make_diagnostics, read_changes
from transferscope.analyses.diagnose.question import Refused, measure_all, without_progress
from transferscope.analyses.diagnose.result import Measured, in_digits, scale_in_words
from transferscope.analyses.diagnose.subject import FileQuestion, FileSubject, subject_of
from transferscope.analyses.diagnose.words import left_out_words
from transferscope.cli.answer import in_a_line
from transferscope.cli.as_json import print_analysis
from transferscope.diagnostics.grid import Progress as Report


def answer(
    question: FileQuestion,
    names: Sequence[str],
    changes: Sequence[str],
    *,
    out: Path | None,
    feature_map: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print what the diagnostics say, and write it to a folder.

    Args:
        names: Diagnostics by name; empty for those of `choose`.
        changes: Settings as in "curvature.k=5".
        out: Folder for tables, arrays and figures, made if it does not exist; None to write nothing.

    Raises:
        TransferscopeError: As `subject_of` and `choose`; or a diagnostic that was asked for cannot be measured, once
            the others are printed and written.
    """
    say: Callable[[str], None] = (lambda text: None) if as_json else typer.echo
    changed = read_changes(changes)
    make_diagnostics(names, changed)  # mistakes in settings are said before anything is read
    looked_at = subject_of(question)
    say(_introduction(question, looked_at))
    choices = choose(names, changed, looked_at, of_others=":" in question.network.name)
    left_out = [f"left out: {one.left_out}\n" for one in choices if one.left_out]
    say("\n" + "".join(left_out))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    result = measure_all(
        question,
        looked_at,
        choices,
        folder=out,
        go_through=partial(_measuring, quiet=quiet),
        on_result=lambda one: say(f"{_said(one)}\n"),
    )
    files = [] if out is None else [out / file for file in result.write(out, feature_map=feature_map)]
    if files:
        say(f"written: {in_a_line(files)}")
    if as_json:
        print_analysis("diagnose", result, files)
    if result.refused is not None:
        raise result.refused


def _introduction(question: FileQuestion, looked_at: FileSubject) -> str:
    subject = looked_at.subject
    size = sum(parameter.numel() for parameter in subject.network.parameters())
    values = ", ".join(f"{record.name} {in_digits(record.estimate)}" for record in looked_at.performance)
    lines = [
        f"{question.checkpoint}: {question.network.name} with {size:,} parameters",
        f"on {len(subject.examples):,} examples of {question.data.data} ({subject.part}): {values}",
    ]
    lines.append(scale_in_words(looked_at))
    if subject.source is not None and question.source is not None:
        lines.append(f"source: {len(subject.source):,} examples of {question.source.data}")
    if subject.start is not None and not looked_at.backbone_only:
        lines.append(f"start: {question.against}")
    if looked_at.backbone_only:
        lines.append(
            f"start: {question.against} has another head, so only the backbones are compared: nothing is said about "
            "how far the head moved, and the start is measured under the head of the checkpoint."
        )
    return "\n".join(lines)


def _said(measured: Measured | Refused) -> str:
    if isinstance(measured, Refused):
        return f"{measured.choice.diagnostic.name} cannot be measured: {measured.error}"
    diagnostic = measured.diagnostic
    refused = measured.start_refused
    return "\n".join(
        (
            *([f"{diagnostic.name} cannot be measured at the start: {refused}"] if refused else []),
            f"{diagnostic.name}: {diagnostic.headline} = {measured.value}",
            f"  {measured.meaning}",
            *([f"  {left_out_words(measured.findings.left_out)}"] if measured.findings.left_out else []),
            *([f"  What it cannot tell: {measured.limits}"] if measured.limits else []),
        )
    )


def _measuring(choices: Sequence[Choice], *, quiet: bool) -> Iterator[tuple[Choice, Report | None]]:
    """Each choice, and what its measurement may call with the values done and to do; shown on the error stream."""
    if quiet or not sys.stderr.isatty():
        yield from without_progress(choices)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("", total=len(choices))
        for done, choice in enumerate(choices):
            bar.update(task, description=choice.diagnostic.name, completed=done)
            yield choice, partial(_report, bar, task, done)


def _report(bar: Progress, task: TaskID, done: int, values: int, of: int) -> None:
    bar.update(task, completed=done + values / max(1, of))
