"""Why did it transfer? How diagnostics of a trained network are asked for, and measured one after the other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from transferscope.analyses.diagnose.choice import Changes, Choice, choose, make_diagnostics
from transferscope.analyses.diagnose.result import DiagnosisResult, Measured
from transferscope.analyses.diagnose.subject import FileQuestion, FileSubject, subject_of
from transferscope.diagnostics.grid import Progress
from transferscope.errors import TransferscopeError
from transferscope.models import NetworkSettings
from transferscope.study.settings import DataSettings

UNFINISHED = "landscape.unfinished.npz"
"""Where a landscape keeps what is done, to go on from after an interruption."""


@dataclass(frozen=True)
class Refused:
    """A diagnostic that could not be measured, and why."""

    choice: Choice
    error: TransferscopeError


Chosen = Iterable[tuple[Choice, Progress | None]]
"""Diagnostics to measure, each with what is called now and then with what is done and what there is to do."""


def without_progress(choices: Sequence[Choice]) -> Chosen:
    """The diagnostics, of whose progress nothing is shown."""
    return ((choice, None) for choice in choices)


def diagnose(
    checkpoint: str | Path,
    data: str | DataSettings,
    *,
    network: str | NetworkSettings = "lenet",
    against: str | Path | None = None,
    source: str | DataSettings | None = None,
    diagnostics: Sequence[str] = (),
    changes: Changes | None = None,
    labels: int | None = None,
    seed: int = 0,
    examples: int = 600,
    part: Literal["target_train", "target_test"] = "target_train",
    scaling: str | None = None,
    head: str = "head",
    device: str = "auto",
) -> DiagnosisResult:
    """Say what a trained network looks like, beside where it started, and what that implies for the transfer.

    Args:
        checkpoint: Weights of the trained network: safetensors, or a state dict written by `torch.save`.
        data: The data to measure on, by name or with transformations.
        network: The architecture of the weights.
        against: Weights that the training started from.
        source: Source data, for what compares two tasks.
        diagnostics: By name, with their own settings; empty for all that apply, with settings that are quick, but for
            those of many passes through a network of others.
        changes: Settings to change, as in {"curvature": {"k": 5}}.
        labels: Training examples that the network was trained on, drawn by `seed` as in a study; None for all.
        seed: Seed of that subset; at least 0.
        examples: Examples to measure on, at least 1.
        part: Which of the data they are taken from.
        scaling: How inputs are scaled, as for `FileQuestion`; None for what the file says, else by training statistics.
        head: Name of the submodule whose input is "the features".
        device: "auto", "cpu", "cuda" or "mps".

    Returns:
        What was measured. Of diagnostics that nobody named, those that cannot be measured are left out and named.

    Raises:
        TransferscopeError: Files, data, names or settings that cannot be used, or a diagnostic that was asked for
            cannot be measured.

    Example:
        >>> print(diagnose("net.safetensors", "usps", against="start.safetensors").verdict)  # doctest: +SKIP
    """
    question = FileQuestion(
        checkpoint=Path(checkpoint),
        data=data if isinstance(data, DataSettings) else DataSettings(data),
        network=network if isinstance(network, NetworkSettings) else NetworkSettings(network),
        against=None if against is None else Path(against),
        source=source if source is None or isinstance(source, DataSettings) else DataSettings(source),
        labels=labels,
        seed=seed,
        examples=examples,
        part=part,
        head=head,
        device=device,
        scaling=scaling,
    )
    changes = changes or {}
    make_diagnostics(diagnostics, changes)  # mistakes in settings are said before anything is read
    looked_at = subject_of(question)
    result = measure_all(
        question, looked_at, choose(diagnostics, changes, looked_at, of_others=":" in question.network.name)
    )
    if result.refused is not None:
        raise result.refused
    return result


def measure_all(
    question: FileQuestion,
    looked_at: FileSubject,
    choices: Sequence[Choice],
    *,
    folder: Path | None = None,
    go_through: Callable[[Sequence[Choice]], Chosen] = without_progress,
    on_result: Callable[[Measured | Refused], None] = lambda result: None,
) -> DiagnosisResult:
    """Measure diagnostics one after the other; one that cannot be measured does not keep the others from it.

    Args:
        choices: The diagnostics, those that are left out included.
        folder: Where an interrupted landscape is gone on with; None for nowhere.
        go_through: Yields the diagnostics to measure in their order, and may show their progress.

    Returns:
        What was measured, and the first refusal of a diagnostic that was asked for.
    """
    measured: list[Measured] = []
    left_out = [f"{choice.diagnostic.name}: {choice.left_out}" for choice in choices if choice.left_out]
    refused: TransferscopeError | None = None
    file = None if folder is None else folder / UNFINISHED
    for choice, progress in go_through([choice for choice in choices if not choice.left_out]):
        try:
            one = _measure(choice, looked_at, file=file, progress=progress)
        except TransferscopeError as error:
            on_result(Refused(choice, error))
            left_out.append(f"{choice.diagnostic.name}: {error}")
            refused = refused or (error if choice.wanted else None)
            continue
        measured.append(one)
        on_result(one)
        if file is not None and choice.diagnostic.name == "landscape":
            file.unlink(missing_ok=True)
    left_out += [f"{one.diagnostic.name} at the start: {one.start_refused}" for one in measured if one.start_refused]
    return DiagnosisResult(question, looked_at, tuple(measured), tuple(left_out), refused)


def _measure(choice: Choice, looked_at: FileSubject, *, file: Path | None, progress: Progress | None) -> Measured:
    measured = Measured(choice.diagnostic, looked_at.measure(choice.diagnostic, file=file, progress=progress))
    if looked_at.subject.start is None:
        return measured
    try:
        return replace(measured, at_start=looked_at.measure_start(choice.diagnostic))
    except TransferscopeError as error:
        return replace(measured, start_refused=str(error))
