"""What diagnostics say of a trained network from a file, beside where it started: verdict, tables, figures, files."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isnan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.diagnose.figures import (
    draw_density,
    draw_descent,
    draw_feature_map,
    draw_gradients,
    draw_interpolation,
    draw_landscape,
)
from transferscope.analyses.diagnose.subject import FileQuestion, FileSubject
from transferscope.analyses.diagnose.words import Implication, implication_of, implied, left_out_words
from transferscope.analyses.result import AnalysisResult
from transferscope.diagnostics import (
    Diagnostic,
    Findings,
    GradientStability,
    Landscape,
    Spread,
    features_of,
    spread_of,
    tsne_of_features,
)
from transferscope.errors import DataError, TransferscopeError
from transferscope.estimate import Estimate
from transferscope.records import Record
from transferscope.report.blocks import Block, Cell, Column, Figure, Section, Table, Text
from transferscope.report.figures.style import drawing, new_figure
from transferscope.report.page import Verdict
from transferscope.report.save import save_figure, write_table
from transferscope.wording import counted

INCHES = (4.6, 3.6)
WIDE = (7.6, 3.4)
TWO_PANELS = ("gradient-stability",)
LEAST_MAPPED = 8
"""Examples below which there is no map of the features."""
PERPLEXITY = 30.0


@dataclass(frozen=True)
class Measured:
    """A diagnostic that was measured.

    Attributes:
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
    def limits(self) -> str:
        """What it cannot tell; empty where its author does not say."""
        return _words_of(self.diagnostic).limits

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


@dataclass(frozen=True)
class DiagnosisResult(AnalysisResult):
    """What the diagnostics say of a network.

    Attributes:
        left_out: What was not measured, as "NAME: why" each.
        refused: Why a diagnostic that was asked for could not be measured, the first of them; None where all could.
    """

    kind: ClassVar[str] = "diagnose"

    question: FileQuestion
    looked_at: FileSubject
    measured: tuple[Measured, ...]
    left_out: tuple[str, ...]
    refused: TransferscopeError | None = None

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
            (Cell(one.diagnostic.name), Cell(one.value, one.diagnostic.headline), Cell(one.limits))
            for one in self.measured
        )
        return (Table(columns, rows, "The headline of every diagnostic, with its standard error"),)

    def sections(self) -> list[Section]:
        """The table, figures, and what was left out."""
        notes = [
            Text(f"{one.diagnostic.name}: {left_out_words(one.findings.left_out)}", "note")
            for one in self.measured
            if one.findings.left_out
        ]
        notes += [Text(f"Left out: {words}", "note") for words in self.left_out]
        blocks: list[Block] = [*self.shown_tables(), *self.figures(), *notes]
        return [Section("What it rests on", "diagnostics", tuple(blocks))]

    def figures(self) -> list[Figure]:
        """A figure for each diagnostic that saw more than numbers."""
        return [_figure(one) for one in self.measured if one.has_figure]

    def write(self, folder: Path, *, feature_map: bool = False) -> list[str]:
        """Write records as CSV, arrays as npz, figures as SVG and PDF.

        Args:
            folder: Made if it does not exist.
            feature_map: Whether to add a t-SNE map of the examples by their features; the seed is that of the question.

        Raises:
            DataError: A map of the features was asked for, and there are next to no examples.
        """
        folder.mkdir(parents=True, exist_ok=True)
        write_table(self.table(), folder / "records.csv")
        written = ["records.csv", self._write_settings(folder)]
        for one in self.measured:
            name, arrays = one.diagnostic.name, one.findings.arrays
            if arrays:  # names that can be files of an archive
                named = {key.replace("/", "."): array for key, array in arrays.items()}
                np.savez(folder / f"{name}.npz", allow_pickle=False, **named)
                written.append(f"{name}.npz")
            if one.has_figure:
                written += write_figure(_figure(one), folder)
        if feature_map:
            figure = self._feature_map()
            written += write_figure(figure, folder)
            write_table(figure.data, folder / "feature-map.csv")
            written.append("feature-map.csv")
        return written

    def _write_settings(self, folder: Path) -> str:
        question, looked_at, scale = self.question, self.looked_at, self.looked_at.scale
        said = {
            "checkpoint": str(question.checkpoint),
            "against": None if question.against is None else str(question.against),
            "network": asdict(question.network),
            "data": asdict(question.data),
            "source": None if question.source is None else asdict(question.source),
            "part": looked_at.subject.part,
            "examples": len(looked_at.subject.examples),
            "labels": question.labels,
            "seed": question.seed,
            "scaling": {"from": looked_at.scale_from, "mean": scale.mean.tolist(), "std": scale.std.tolist()},
        }
        (folder / "measured_on.json").write_text(json.dumps(said, indent=2, default=str) + "\n", encoding="utf-8")
        return "measured_on.json"

    def _feature_map(self) -> Figure:
        subject, classes = self.looked_at.subject, self.looked_at.classes
        if classes is None or len(subject.examples) < LEAST_MAPPED:
            raise DataError(
                f"a map of the features needs at least {LEAST_MAPPED} examples with class labels and there are "
                f"{len(subject.examples)} with {'numbers or several labels' if classes is None else 'class labels'}; "
                "leave out --feature-map"
            )
        features = features_of(subject.network, subject.examples, head=subject.head).numpy()
        perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
        positions = tsne_of_features(features, perplexity=perplexity, seed=self.question.seed)
        labels = subject.examples.labels.cpu().numpy()
        table = pd.DataFrame(
            {"x": positions[:, 0], "y": positions[:, 1], "label": [classes[label] for label in labels]}
        )
        with drawing():
            canvas = new_figure(*INCHES)
            draw_feature_map(canvas, positions, labels, classes)
        return Figure("feature-map", canvas, table, "The examples by their features (t-SNE).")


def _figure(one: Measured) -> Figure:
    name = one.diagnostic.name
    with drawing():
        canvas = new_figure(*(WIDE if name in TWO_PANELS else INCHES))
        one.draw(canvas)
    arrays = one.findings.arrays
    long = [pd.DataFrame({"array": key, "value": np.ravel(array)}) for key, array in arrays.items()]
    return Figure(name, canvas, pd.concat(long), f"{name}. {one.limits}")


def write_figure(figure: Figure, folder: Path) -> list[str]:
    """Write a figure as SVG and PDF; the names of the files."""
    return [path.name for path in save_figure(figure.canvas, figure.svg, folder, figure.name)]


def _words_of(diagnostic: Diagnostic) -> Implication:
    own = {name: getattr(diagnostic, name, "") for name in ("title", "limits")}
    return implication_of(diagnostic.headline, **own)


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


def explain(diagnostic: Diagnostic, records: Sequence[Record], at_start: Sequence[Record] = ()) -> str:
    """What a measurement implies for its network, with a warning where its number is not settled or does not exist.

    Args:
        at_start: What it measured on the network as training began; empty where it was not measured.
    """
    headline = next(record.estimate for record in records if record.name == diagnostic.headline)
    if isnan(headline.value):
        return f"{diagnostic.headline} does not exist here ({headline.status}), so it says nothing about this network."
    values, before = ({r.name: r.estimate.value for r in some} for some in (records, at_start))
    settings = {field.name: getattr(diagnostic, field.name) for field in fields(diagnostic)}  # type: ignore[arg-type]
    sentence = implied(diagnostic.headline, values, before, settings, title=getattr(diagnostic, "title", ""))
    if headline.usable:
        return sentence
    return f"{sentence.removesuffix('.')}; but this number is not settled ({headline.status}), so read it with care."


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
    who = {"file": "as the file says", "network": "as the network's input says", "given": "as --scaling says"}
    return f"inputs scaled {who[looked_at.scale_from]}: {numbers}"


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
