"""The result of `diagnose`: verdict, tables, figures and files."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.diagnose.figures import FIGURES
from transferscope.analyses.diagnose.reach import Reach
from transferscope.analyses.diagnose.reach_words import reach_rows, reach_table, what_follows
from transferscope.analyses.diagnose.statements import WORDS, limits, weights_left_out
from transferscope.analyses.diagnose.subject import FileQuestion, FileSubject, Lack
from transferscope.analyses.diagnose.tables import expected_cell, record_row
from transferscope.analyses.result import AnalysisResult
from transferscope.diagnostics import Diagnostic, Findings, spread_of
from transferscope.errors import TransferscopeError
from transferscope.estimate import Estimate
from transferscope.records import Record
from transferscope.report.blocks import Block, Cell, Column, Figure, Folded, Points, Section, Table, Text, Tone
from transferscope.report.figures.style import drawing, new_figure
from transferscope.report.page import Verdict
from transferscope.report.save import save_figure, write_table
from transferscope.statements import Statement, state
from transferscope.wording import capitalised, number_words


@dataclass(frozen=True)
class Measured:
    """A measured diagnostic, with its value on the other network, and whether it was requested by name."""

    diagnostic: Diagnostic
    findings: Findings
    others: Findings | None = None
    wanted: bool = False

    @property
    def value(self) -> Estimate:
        """The headline value."""
        return self.findings[self.diagnostic.headline]

    @property
    def other(self) -> Estimate | None:
        """The headline of the other network; None if not measured."""
        return None if self.others is None else self.others[self.diagnostic.headline]

    @property
    def side(self) -> Literal["lower", "higher", ""]:
        """Whether the headline is significantly above or below that of the other network (disjoint 95 % CIs)."""
        other = self.other
        if other is None or not (other.usable and self.value.usable):
            return ""
        (low, high), (other_low, other_high) = (self._ends(one) for one in (self.value, other))
        return "lower" if high < other_low else "higher" if low > other_high else ""

    def _ends(self, estimate: Estimate) -> tuple[float, float]:
        interval = spread_of(self.diagnostic, estimate).interval
        return (interval.low, interval.high) if interval else (estimate.value, estimate.value)

    @property
    def has_figure(self) -> bool:
        """Whether there is something to draw."""
        arrays = self.findings.arrays
        if self.diagnostic.name not in FIGURES or not arrays:
            return False
        return bool(np.isfinite(np.concatenate([array.ravel() for array in arrays.values()])).any())

    def figure(self) -> Figure:
        """Return its figure; only if `has_figure`."""
        name, arrays = self.diagnostic.name, self.findings.arrays
        caption, draw, (natural, height) = FIGURES[name]

        def drawn(width: float) -> Canvas:
            canvas = new_figure(width, height)
            draw(canvas, arrays)
            return canvas

        with drawing():
            canvas = drawn(natural)
        long = [pd.DataFrame({"array": key, "value": np.ravel(array)}) for key, array in arrays.items()]
        return Figure(name, canvas, pd.concat(long), caption, narrow=drawn)


@dataclass(frozen=True)
class Refused:
    """A diagnostic that could not be measured on one of the networks, and whether it was requested."""

    name: str
    error: TransferscopeError
    beside: bool = False
    wanted: bool = False


@dataclass(frozen=True, repr=False)
class DiagnosisResult(AnalysisResult):
    """The diagnostics of a network.

    Attributes:
        lacking: Diagnostics that were neither requested nor measured, with the reason.
        refusals: Diagnostics that could not be measured, with their errors.
        reach: Scores of a linear model on the features; None without a network to compare with.
    """

    kind: ClassVar[str] = "diagnose"

    question: FileQuestion
    looked_at: FileSubject
    measured: tuple[Measured, ...]
    lacking: tuple[tuple[str, Lack], ...] = ()
    refusals: tuple[Refused, ...] = ()
    reach: Reach | None = None

    @property
    def refused(self) -> TransferscopeError | None:
        """The first reason why a requested diagnostic could not be measured; None if all could."""
        return next((one.error for one in self.refusals if one.wanted), None)

    @property
    def title(self) -> str:
        """The network and the data."""
        return f"{self.looked_at.names['end']} on {self.question.data.data}"

    @property
    def verdict(self) -> Verdict:
        """Conclusions for transfer, accuracy of the network, input scaling, and what was not measured."""
        headline, *sentences = WORDS.all_of(self.said())
        return Verdict({}, headline, tuple(sentences))

    def said(self) -> Iterator[Statement]:
        """Return the statements of the verdict, in order."""
        looked_at, subject = self.looked_at, self.looked_at.subject
        if self.reach is not None:
            yield from what_follows(self.reach, looked_at.names, self.question.data.data)
        yield state(
            "network",
            n=len(subject.examples),
            data=self.question.data.data,
            part=subject.part,
            file=looked_at.names["end"],
            values=[(one.name, one.estimate.value, one.estimate.stderr) for one in looked_at.performance],
        )
        pixels = subject.examples.inputs.dim() == 4
        yield state("scaled", by=looked_at.scale_from, scale=looked_at.scale.words, pixels=pixels)
        if looked_at.backbone_only:
            yield state("other head")
        for one in self.measured:
            if one.findings.left_out:
                yield weights_left_out(one.diagnostic.meaning, one.findings.left_out)
        for reason, group in groupby(sorted(self.lacking, key=lambda one: one[1]), key=lambda one: one[1]):
            yield state("not measured", names=[name for name, _ in group], reason=reason)
        for refusal in self.refusals:
            yield state(
                "refused", name=refusal.name, why=str(refusal.error), beside=looked_at.beside if refusal.beside else ""
            )

    def table(self) -> pd.DataFrame:
        """Return one row per record; see `measured_rows`. Rows of "linear-model" are those on the features."""
        rows = measured_rows(self.measured, self.looked_at.beside)
        return rows if self.reach is None else pd.concat([rows, reach_rows(self.reach)], ignore_index=True)

    def shown_tables(self) -> tuple[Table, ...]:
        """Return the headline of every diagnostic with that of the initial or random weights, the expectation, and the
        features.
        """
        beside = self.looked_at.beside
        with_other = any(one.other is not None for one in self.measured)
        columns = (
            Column("Diagnostic", numeric=False),
            Column("Value"),
            *([Column(_BESIDE[beside][0]), Column(_BESIDE[beside][1], _SIDE, numeric=False)] if with_other else []),
            Column("Expected of good transfer", numeric=False),
        )
        rows = tuple(
            (
                Cell(capitalised(one.diagnostic.meaning.heading)),
                _cell(one.diagnostic, one.value),
                *([_cell(one.diagnostic, one.other), _side(one)] if with_other else []),
                expected_cell(one.diagnostic.meaning),
            )
            for one in self.measured
        )
        measured = (Table(columns, rows, "The headline of every diagnostic, with its 95 % interval"),) if rows else ()
        return (*measured, *([reach_table(self.reach)] if self.reach else []))

    def answer(self) -> tuple[Block, ...]:
        """Return the output of the command: the network, the table, notes, and limitations of requested diagnostics."""
        verdict = self.verdict
        unable = WORDS.all_of(limits([one.diagnostic.meaning for one in self.measured if one.wanted]))
        paragraphs = ("\n".join(verdict.sentences), "\n".join(unable))
        return (Text(verdict.headline), *self.shown_tables(), *(Text(text) for text in paragraphs if text))

    def sections(self) -> list[Section]:
        """Return the table, the figures, and the limitations of the diagnostics."""
        unable = WORDS.all_of(limits([one.diagnostic.meaning for one in self.measured]))
        blocks: tuple[Block, ...] = (*self.shown_tables(), Folded("What they cannot tell", (Points(unable),)))
        pictures = Section("In pictures", "pictures", tuple(self.figures()))
        return [Section("Evidence", "diagnostics", blocks, sections=(pictures,) if pictures.blocks else ())]

    def figures(self) -> list[Figure]:
        """Return one figure for each diagnostic with arrays."""
        return [one.figure() for one in self.measured if one.has_figure]

    def write(self, folder: Path) -> list[str]:
        """Write records as CSV, arrays as npz, figures as SVG and PDF, and the subject; return their names."""
        folder.mkdir(parents=True, exist_ok=True)
        write_table(self.table(), folder / "records.csv")
        question, looked_at, scale = self.question, self.looked_at, self.looked_at.scale
        measured_on = {
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
        text = json.dumps(measured_on, indent=2, default=str)
        (folder / "measured_on.json").write_text(f"{text}\n", encoding="utf-8")
        written = ["records.csv", "measured_on.json"]
        for one in self.measured:
            name, arrays = one.diagnostic.name, one.findings.arrays
            if arrays:  # names that can be files of an archive
                named = {key.replace("/", "."): array for key, array in arrays.items()}
                np.savez(folder / f"{name}.npz", allow_pickle=False, **named)
                written.append(f"{name}.npz")
            if one.has_figure:
                figure = one.figure()
                written += [path.name for path in save_figure(figure.canvas, figure.svg, folder, figure.name)]
        return written


def measured_rows(measured: Sequence[Measured], beside: Literal["start", "random"] = "start") -> pd.DataFrame:
    """Return every record at the end of training and, if measured, of the other network.

    Returns:
        One row for each: diagnostic, name, value, stderr, low and high (95 %), samples (what these are over), n,
        status, part, at ("end", "start" or "random"), headline.
    """
    rows = [
        _row(one.diagnostic, record, at)
        for one in measured
        for at, findings in (("end", one.findings), (beside, one.others))
        for record in (() if findings is None else findings.records)
    ]
    return pd.DataFrame(rows)


def _row(diagnostic: Diagnostic, record: Record, at: str) -> dict[str, Any]:
    spread = spread_of(diagnostic, record.estimate)
    known = replace(record, estimate=replace(record.estimate, interval=spread.interval))
    is_headline = record.name == diagnostic.headline
    return record_row(diagnostic.name, known, f"{spread.n} {spread.over}", at, headline=is_headline)


_SIDE = "Where the two 95 % intervals do not meet"

_BESIDE = {"start": ("At the start", "Since then"), "random": ("Random weights", "Than random")}


def _side(one: Measured) -> Cell:
    if not one.side:
        return Cell("–")
    expected = one.diagnostic.meaning.expected
    tone: Tone = "" if not expected else "positive" if one.side == expected else "negative"
    return Cell(capitalised(one.side), tone=tone)


def _cell(diagnostic: Diagnostic, estimate: Estimate | None) -> Cell:
    """Return a headline with its CI; the status if there is no final number."""
    if estimate is None:
        return Cell("–")
    if isnan(estimate.value):
        return Cell("none", estimate.status)
    share = diagnostic.meaning.share
    text, spread = number_words(estimate.value, share=share), spread_of(diagnostic, estimate)
    notes = [] if estimate.usable else [f"undecided: {estimate.status}"]
    if spread.interval is not None:
        ends = [number_words(end, share=share) for end in (spread.interval.low, spread.interval.high)]
        notes += [" to ".join(ends)] if ends != [text, text] else []
    return Cell(text, "; ".join(notes))
