"""What an exactly solvable model says of the pairs of a finished study, beside what was measured."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pandas as pd

from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.result import AnalysisResult
from transferscope.report.blocks import Section, Table
from transferscope.report.page import Verdict
from transferscope.report.placements import description_in_words, placement_rows, signs_in_words
from transferscope.report.sections.placements import placements_evidence, placements_table
from transferscope.study.context import no_progress
from transferscope.study.keep_placements import as_kept, keep_placements
from transferscope.study.place import place_study
from transferscope.study.placed_source import PlacedSource
from transferscope.study.places import keep_for_report, one_study, open_existing
from transferscope.theory.placement_document import KeptPlacements


@dataclass(frozen=True)
class PlacementResult(AnalysisResult):
    """Where the pairs of a study lie on the linear-transfer diagram.

    Attributes:
        placed: Every source with the parameters of its pair and its points.
        placements: The points with their sentences, as they are kept with the study.
        summary: The study.
        kept: Whether the report of the study shows this, in a sentence.
    """

    kind: ClassVar[str] = "place"

    placed: tuple[PlacedSource, ...]
    placements: KeptPlacements
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
        """One row per quantity of each case; see `report.placements.placement_rows`."""
        return placement_rows(self.placements.points)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every case: what the model says and what was measured."""
        return (placements_table(self.placements.points),)

    def sections(self) -> list[Section]:
        """Figure, table, every case in words, and limits."""
        return [Section("What it rests on", "placements", placements_evidence(self.summary, self.placements))]


def place(
    finished: str | Path,
    *,
    examples: int = 2000,
    input_dimension: float | None = None,
    study: str | None = None,
    on_progress: Callable[[int, int], None] = no_progress,
) -> PlacementResult:
    """Put every source of a finished study on the linear-transfer diagram.

    The placements are kept with the study, whose report shows them from then on.

    Args:
        finished: A finished study: its file, or the path or URL of its store.
        examples: Labelled target examples to estimate from, at least `study.target_examples.LEAST_EXAMPLES`.
        input_dimension: Directions of the inputs d, at least 1; None to estimate it.
        study: Which study, when a store holds several.
        on_progress: Called with (parts done, parts in all).

    Returns:
        The placements.

    Raises:
        TransferscopeError: As `study.place.place_study`.

    Example:
        >>> print(place("usps.toml").verdict)  # doctest: +SKIP
    """
    address = str(finished)
    with open_existing(address) as store:
        chosen = one_study(store, address, study)
        placed = place_study(
            store, chosen, examples=examples, input_dimension=input_dimension, keep=False, on_progress=on_progress
        )
        kept = keep_for_report(
            store, address, lambda: keep_placements(store, chosen, placed, input_dimension=input_dimension)
        )
        placements = as_kept(store, chosen, placed, input_dimension)
        return PlacementResult(placed, placements, summarise(store, chosen), kept)
