"""Why did it transfer? What the diagnostics say of a trained network from a file, beside where it started."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.result import AnalysisResult
from transferscope.diagnostics import (
    Diagnostic,
    Findings,
    GradientStability,
    Landscape,
    Spread,
    explain,
    spread_of,
)
from transferscope.diagnostics.grid import Progress
from transferscope.errors import TransferscopeError
from transferscope.estimate import Estimate
from transferscope.models import NetworkSettings
from transferscope.records import Record
from transferscope.report.blocks import Block, Cell, Column, Figure, Section, Table, Text
from transferscope.report.figures.diagnosed import draw_density, draw_descent, draw_gradients, draw_interpolation
from transferscope.report.figures.landscape import draw_landscape
from transferscope.report.figures.style import drawing, new_figure
from transferscope.report.page import Verdict
from transferscope.study.diagnose_file import FileQuestion, FileSubject, subject_of
from transferscope.study.diagnostic_choice import Changes, Choice, choose, make_diagnostics
from transferscope.study.settings import DataSettings
from transferscope.wording import counted

INCHES = (4.6, 3.6)
WIDE = (7.6, 3.4)
TWO_PANELS = ("gradient-stability",)


@dataclass(frozen=True)
class Measured:
    """A diagnostic that was measured.

    Attributes:
        diagnostic: With its settings.
        findings: What it saw.
        at_start: What it saw at the start of training; None where that was not measured.
        start_refused: Why it could not be measured at the start; empty when it was, or was not asked for.
    """

    diagnostic: Diagnostic
    findings: Findings
    at_start: Findings | None = None
    start_refused: str = ""

    @property
    def value(self) -> str:
        """The headline in digits, with its uncertainty."""
        records = self.findings.records
        headline = next(record for record in records if record.name == self.diagnostic.headline)
        return in_digits(headline.estimate, spread_of(self.diagnostic, headline.estimate))

    @property
    def meaning(self) -> str:
        """What it implies for the network."""
        before = () if self.at_start is None else self.at_start.records
        return explain(self.diagnostic, self.findings.records, before)

    @property
    def has_figure(self) -> bool:
        """Whether there is something to draw."""
        arrays = self.findings.arrays
        if self.diagnostic.name not in _FIGURES or not arrays:
            return False
        return bool(np.isfinite(np.concatenate([array.ravel() for array in arrays.values()])).any())

    def draw(self, canvas: Canvas) -> None:
        """Draw it on an empty figure; only where `has_figure`."""
        _FIGURES[self.diagnostic.name](self)(canvas)


def measure_choice(
    choice: Choice, looked_at: FileSubject, *, file: Path | None = None, progress: Progress | None = None
) -> Measured:
    """Measure a diagnostic at the end of training and, where there is time and a start, at its start.

    Args:
        choice: The diagnostic, one that is not left out.
        looked_at: Network and data.
        file: Where a landscape keeps what is done, to go on from after an interruption.
        progress: Called now and then with what is done and what there is to do.

    Raises:
        TransferscopeError: It cannot be measured at the end of training.
    """
    measured = Measured(choice.diagnostic, looked_at.measure(choice.diagnostic, file=file, progress=progress))
    if not choice.start_too or looked_at.subject.start is None:
        return measured
    try:
        return replace(measured, at_start=looked_at.measure_start(choice.diagnostic))
    except TransferscopeError as error:
        return replace(measured, start_refused=str(error))


def measured_rows(measured: Sequence[Measured]) -> pd.DataFrame:
    """Every record at the end of training and, where it was measured, at the start.

    Returns:
        One row for each: diagnostic, name, value, stderr, low and high (95 %), samples (what these are over), n,
        status, part, at ("end" or "start"), headline.
    """
    rows = [
        _row(one.diagnostic, record, at)
        for one in measured
        for at, findings in (("end", one.findings), ("start", one.at_start))
        for record in (() if findings is None else findings.records)
    ]
    return pd.DataFrame(rows)


def _row(diagnostic: Diagnostic, record: Record, at: str) -> dict[str, Any]:
    spread = spread_of(diagnostic, record.estimate)
    return {
        "diagnostic": diagnostic.name,
        "name": record.name,
        "value": record.estimate.value,
        "stderr": record.estimate.stderr,
        "low": None if spread.interval is None else spread.interval.low,
        "high": None if spread.interval is None else spread.interval.high,
        "samples": None if spread.interval is None else f"{spread.n} {spread.over}",
        "n": record.estimate.n,
        "status": record.estimate.status,
        "part": record.part,
        "at": at,
        "headline": record.name == diagnostic.headline,
    }


@dataclass(frozen=True)
class DiagnosisResult(AnalysisResult):
    """What the diagnostics say of a network.

    Attributes:
        question: Which files were looked at, and how.
        looked_at: What they hold.
        measured: What was measured.
        left_out: What was not measured, as "NAME: why" each.
    """

    kind: ClassVar[str] = "diagnose"

    question: FileQuestion
    looked_at: FileSubject
    measured: tuple[Measured, ...]
    left_out: tuple[str, ...]

    @property
    def title(self) -> str:
        """The network and the data."""
        return f"{self.question.checkpoint.name} on {self.question.data.data}"

    @property
    def verdict(self) -> Verdict:
        """How good the network is on these examples, and what each diagnostic implies."""
        subject = self.looked_at.subject
        values = ", ".join(f"{record.name} {in_digits(record.estimate)}" for record in self.looked_at.performance)
        n, data = counted(len(subject.examples), "example"), self.question.data.data
        headline = f"{self.question.checkpoint.name}: {values} on {n} of {data} ({subject.part})."
        sentences = [f"{scale_in_words(self.looked_at)}."]
        if self.looked_at.backbone_only:
            sentences.append("The start has another head, so only the backbones are compared.")
        sentences += [f"{one.diagnostic.name}: {one.meaning}" for one in self.measured]
        return Verdict({}, headline, tuple(sentences))

    def table(self) -> pd.DataFrame:
        """One row per record; see `measured_rows`."""
        return measured_rows(self.measured)

    def shown_tables(self) -> tuple[Table, ...]:
        """The headline of every diagnostic, and what it cannot tell."""
        columns = (
            Column("Diagnostic", numeric=False),
            Column("Headline", numeric=False),
            Column("What it cannot tell", numeric=False),
        )
        rows = tuple(
            (Cell(one.diagnostic.name), Cell(one.value, one.diagnostic.headline), Cell(one.diagnostic.limits))
            for one in self.measured
        )
        return (Table(columns, rows, "The headline of every diagnostic, with its standard error"),)

    def sections(self) -> list[Section]:
        """The table, figures, and what was left out."""
        notes = [
            Text(f"{one.diagnostic.name}: {one.findings.note}", "note") for one in self.measured if one.findings.note
        ]
        notes += [Text(f"Left out: {words}", "note") for words in self.left_out]
        blocks: list[Block] = [*self.shown_tables(), *(_figure(one) for one in self.measured if one.has_figure), *notes]
        return [Section("What it rests on", "diagnostics", tuple(blocks))]


def _figure(one: Measured) -> Figure:
    name = one.diagnostic.name
    with drawing():
        canvas = new_figure(*(WIDE if name in TWO_PANELS else INCHES))
        one.draw(canvas)
    arrays = one.findings.arrays
    long = [pd.DataFrame({"array": key, "value": np.ravel(array)}) for key, array in arrays.items()]
    return Figure(name, canvas, pd.concat(long), f"{name}. {one.diagnostic.limits}")


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
        diagnostics: By name, with their own settings; empty for all that apply and take under two minutes, with
            settings that are quick.
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
    measured, left_out = [], []
    for choice in choose(diagnostics, changes, looked_at):
        name = choice.diagnostic.name
        if choice.left_out:
            left_out.append(f"{name}: {choice.left_out}")
            continue
        try:
            measured.append(measure_choice(choice, looked_at))
        except TransferscopeError as error:
            if name in (*diagnostics, *changes):
                raise
            left_out.append(f"{name}: {error}")
    left_out += [f"{one.diagnostic.name} at the start: {one.start_refused}" for one in measured if one.start_refused]
    return DiagnosisResult(question, looked_at, tuple(measured), tuple(left_out))


def scale_in_words(looked_at: FileSubject) -> str:
    """How the inputs were scaled, and who said so."""
    numbers = looked_at.scale.words
    if looked_at.subject.examples.inputs.dim() == 4:
        numbers += " of pixels read as 0..1"
    if looked_at.scale_from == "own":
        return (
            f"inputs standardised by their own training statistics: {numbers}; if the network was trained otherwise, "
            "say how with --scaling (none for pixels as 0..1)"
        )
    who = "as the file says" if looked_at.scale_from == "file" else "as --scaling says"
    return f"inputs scaled {who}: {numbers}"


def in_digits(estimate: Estimate, spread: Spread | None = None) -> str:
    """An estimate in words, with the t-interval of the samples behind its standard error; or why there is none."""
    if isnan(estimate.value):
        return f"none ({estimate.status})"
    words = f"{estimate.value:.4g}"
    if estimate.stderr:
        words += f" ± {estimate.stderr:.2g} (standard error"
        if spread is not None and spread.interval is not None:
            low, high = spread.interval.low, spread.interval.high
            words += f" over {spread.n} {spread.over}; 95 %: {low:.4g} to {high:.4g}"
        words += ")"
    return words if estimate.usable else f"{words} ({estimate.status})"


def _arrays(one: Measured) -> Mapping[str, np.ndarray]:
    return one.findings.arrays


def _landscape(one: Measured) -> Callable[[Canvas], None]:
    sharpest = isinstance(one.diagnostic, Landscape) and one.diagnostic.directions == "eigenvectors"
    along = "weight norms along sharpest direction" if sharpest else "filter norms along random direction"
    return lambda canvas: draw_landscape(
        canvas, _arrays(one)["landscape_axis"], _arrays(one)["landscape_loss"], along=along
    )


def _interpolation(one: Measured) -> Callable[[Canvas], None]:
    return lambda canvas: draw_interpolation(
        canvas, _arrays(one)["interpolation_t"], _arrays(one)["interpolation_loss"]
    )


def _density(one: Measured) -> Callable[[Canvas], None]:
    return lambda canvas: draw_density(canvas, _arrays(one)["hessian_density_points"], _arrays(one)["hessian_density"])


def _descent(one: Measured) -> Callable[[Canvas], None]:
    scale = one.diagnostic.scale if isinstance(one.diagnostic, GradientStability) else 1.0
    return lambda canvas: draw_descent(
        canvas, _arrays(one)["descent_gradient_step"], _arrays(one)["descent_fixed_step"], scale
    )


def _gradients(one: Measured) -> Callable[[Canvas], None]:
    return lambda canvas: draw_gradients(canvas, _arrays(one))


_FIGURES: dict[str, Callable[[Measured], Callable[[Canvas], None]]] = {
    "landscape": _landscape,
    "interpolation": _interpolation,
    "curvature-density": _density,
    "gradient-stability": _descent,
    "gradient-scaling": _gradients,
}
