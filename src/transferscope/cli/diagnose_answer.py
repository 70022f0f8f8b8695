"""The work behind `transferscope diagnose --checkpoint`: choose, estimate, measure, say and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from transferscope.analyses.diagnose import Measured, in_digits, measure_choice, scale_in_words
from transferscope.cli.diagnose_files import write_all
from transferscope.cli.diagnose_progress import measuring
from transferscope.errors import TransferscopeError
from transferscope.study.diagnose_file import FileQuestion, FileSubject, subject_of
from transferscope.study.diagnostic_choice import Choice, choose, make_diagnostics, read_changes
from transferscope.wording import rough_duration

_UNFINISHED = "landscape.unfinished.npz"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader wants to know about a network.

    Attributes:
        diagnostics: By name; empty for all that apply and take little time.
        changes: Settings as in "curvature.k=5".
        feature_map: Whether to draw a map of the features.
    """

    diagnostics: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    feature_map: bool = False

    @property
    def names(self) -> set[str]:
        """The diagnostics that were asked for by name, or by one of their settings."""
        return {*self.diagnostics, *(change.partition(".")[0] for change in self.changes)}


def answer(question: FileQuestion, wanted: Wanted, *, out: Path | None, quiet: bool) -> None:
    """Print what the diagnostics say, and write it to a folder.

    Args:
        question: Network and data.
        wanted: What to measure.
        out: Folder for tables, arrays and figures, made if it does not exist; None to write nothing.
        quiet: Show no progress.

    Raises:
        TransferscopeError: As `subject_of` and `choose`; or a diagnostic that was asked for cannot look at this, once
            the others are printed and written.
    """
    changes = read_changes(wanted.changes)
    make_diagnostics(wanted.diagnostics, changes)  # mistakes in settings are said before anything is read
    looked_at = subject_of(question)
    typer.echo(_introduction(question, looked_at))
    choices = choose(wanted.diagnostics, changes, looked_at)
    typer.echo(f"\n{_costs(choices)}\n")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    measured, refused = _measure(choices, looked_at, wanted, out=out, quiet=quiet)
    if out is not None:
        typer.echo(f"written: {write_all(measured, looked_at, question, out, feature_map=wanted.feature_map)}")
    if refused is not None:
        raise refused


def _measure(
    choices: Sequence[Choice], looked_at: FileSubject, wanted: Wanted, *, out: Path | None, quiet: bool
) -> tuple[list[Measured], TransferscopeError | None]:
    """What was measured, and the first refusal of a diagnostic that was asked for."""
    measured: list[Measured] = []
    refused: TransferscopeError | None = None
    chosen = [choice for choice in choices if not choice.left_out]
    for choice, progress in measuring(chosen, quiet=quiet):
        diagnostic = choice.diagnostic
        file = None if out is None else out / _UNFINISHED
        try:
            one = measure_choice(choice, looked_at, file=file, progress=progress)
        except TransferscopeError as error:
            typer.echo(f"{diagnostic.name} cannot be measured: {error}\n")
            refused = refused or (error if diagnostic.name in wanted.names else None)
            continue
        if one.start_refused:
            typer.echo(f"{diagnostic.name} cannot be measured at the start: {one.start_refused}")
        measured.append(one)
        typer.echo(f"{_said(one)}\n")
        if file is not None and diagnostic.name == "landscape":
            file.unlink(missing_ok=True)
    return measured, refused


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
            "how far the head moved, and the start is looked at under the head of the checkpoint."
        )
    return "\n".join(lines)


def _costs(choices: Sequence[Choice]) -> str:
    width = max(len(choice.diagnostic.name) for choice in choices)
    lines = ["estimated time and memory:"]
    for choice in choices:
        words = f"  {choice.diagnostic.name:{width}}  "
        if choice.cost is not None:
            words += f"{_short(choice.cost.seconds):>12}  {_bytes(choice.cost.memory):>9}"
        lines.append(f"{words}  left out: {choice.left_out}" if choice.left_out else words)
    chosen = [choice.cost for choice in choices if choice.cost is not None and not choice.left_out]
    total = sum(cost.seconds for cost in chosen)
    if len(chosen) > 1:
        lines.append(f"  {'in all':{width}}  {_short(total):>12}  {_bytes(max(cost.memory for cost in chosen)):>9}")
    return "\n".join(lines)


def _said(measured: Measured) -> str:
    diagnostic = measured.diagnostic
    return "\n".join(
        (
            f"{diagnostic.name}: {diagnostic.headline} = {measured.value}",
            f"  {measured.meaning}",
            *([f"  {measured.findings.note}"] if measured.findings.note else []),
            f"  What it cannot tell: {diagnostic.limits}",
        )
    )


def _short(seconds: float) -> str:
    return "under 1 s" if seconds < 1 else rough_duration(seconds)


def _bytes(n: int) -> str:
    mebibytes = n / 2**20
    if mebibytes < 1:
        return "under 1 MiB"
    return f"{mebibytes:.0f} MiB" if mebibytes < 1024 else f"{mebibytes / 1024:.1f} GiB"
