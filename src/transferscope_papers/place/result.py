"""What `place` returns, and its part of a study's page: words, tables and figures together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.kept_document import change_in_words
from transferscope.analyses.result import AnalysisResult
from transferscope.errors import StoreError
from transferscope.report.blocks import Block, Figure, Folded, Section, Table, Text
from transferscope.report.page import Part, Verdict, unreadable_part
from transferscope.report.save import file_name
from transferscope_papers.place.figures import draw_diagram, draw_placements
from transferscope_papers.place.placement import DOCUMENT, KEPT, Placements
from transferscope_papers.place.tables import placement_rows, placements_table
from transferscope_papers.place.words import (
    comparison_in_words,
    description_in_words,
    in_words,
    limits,
    signs_in_words,
)
from transferscope_papers.theory.placement import Pair


@dataclass(frozen=True)
class PlacementResult(AnalysisResult):
    """Where the pairs of a study lie on the linear-transfer diagram.

    Attributes:
        placements: Every source at every number of labels.
        pairs: Point estimates of the model's parameters by the name of the source.
        summary: The study.
        kept: Whether the report of the study shows this, in a sentence.
    """

    kind: ClassVar[str] = "place"

    placements: Placements
    pairs: Mapping[str, Pair]
    summary: Summary
    kept: str

    @property
    def title(self) -> str:
        """The study."""
        return f"What the linear model says: {self.summary.frames.study.name}"

    @property
    def verdict(self) -> Verdict:
        """Whether the model describes the pairs, and how often its sign is the measured one."""
        points = self.placements.points
        return Verdict({}, description_in_words(points), (signs_in_words(points),))

    def table(self) -> pd.DataFrame:
        """One row per quantity of each case; see `placement_rows`."""
        return placement_rows(self.placements.points)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every case: what the model says and what was measured."""
        return (placements_table(self.placements.points),)

    def sections(self) -> list[Section]:
        """Figure, table, every case in words, and limits."""
        return [Section("What it rests on", "placements", _evidence(self.summary, self.placements))]

    def answer(self) -> tuple[Block, ...]:
        """What the command prints: every case in words, and limits."""
        points = self.placements.points
        return (*(Text(in_words(point)) for point in points), Text(limits(points)))

    def figures(self) -> dict[str, Figure]:
        """The pairs on the diagram, by the name of its files."""
        name = f"{file_name(self.summary.frames.study.name)}-placement"
        return {name: draw_diagram(self.pairs, self.placements.points)}


def study_part(summary: Summary) -> Part | None:
    """The part of a study's page; None for a study that was not placed by `transferscope theory place`."""
    document = summary.frames.documents.get(DOCUMENT)
    if document is None:
        return None
    title, slug = "What the linear model says", "placements"
    try:
        placements = KEPT.from_document(document)
    except StoreError as error:  # of another version of the package
        return unreadable_part("why", title, slug, "The placements that were kept", error)
    changed = change_in_words(summary.frames, placements.runs, since="it was placed", again="theory place")
    blocks: list[Block] = [
        *([Text(changed, "warning")] if changed else []),
        Text(signs_in_words(placements.points)),
        *_evidence(summary, placements),
    ]
    return Part("why", description_in_words(placements.points), (Section(title, slug, tuple(blocks)),))


def _evidence(summary: Summary, placements: Placements) -> tuple[Block, ...]:
    """What the sentences on placements rest on: figure, table, every case in words, limits."""
    points = placements.points
    return (
        Text(comparison_in_words(placements)),
        draw_placements(summary, points),
        placements_table(points),
        Folded("Every case in words", tuple(Text(in_words(point)) for point in points)),
        Text(limits(points), "note"),
    )
