"""Result of a figure: drawings, summary, and claims of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from transferscope.report.blocks import Figure


@dataclass(frozen=True)
class ClaimSeen:
    """A claim of a paper, and whether it holds.

    Attributes:
        source: Paper, and section or figure, of the claim.
        holds: Whether it holds in the figure; None if the figure cannot decide it.
        exception: Reason why it need not hold, or cannot be checked, in a sentence; "" if it must hold.
        seen: The numbers that decide it.
    """

    sentence: str
    source: str
    holds: bool | None
    exception: str = ""
    seen: str = ""

    @property
    def words(self) -> str:
        """The verdict, the claim with its source, the numbers, and the known reason for a failure."""
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "undecided"}[self.holds]
        numbers = f"; {self.seen}" if self.seen else ""
        reason = f". {self.exception}" if self.exception and self.holds is not True else ""
        return f"{verdict}: {self.sentence} ({self.source}){numbers}{reason}"


@dataclass(frozen=True)
class FigureMade:
    """Result of a figure from simulation, from the authors' rows or from a finished study.

    Attributes:
        sentences: Agreement of theory and simulation, and conclusions.
        claims: Claims of the paper.
        tables: Numbers to print, by title.
        runs: The study, or the file of the authors' rows; "" if it is simulated.
        points: Number of points to simulate.
        points_failed: Number of points that failed.
    """

    drawings: tuple[Figure, ...]
    sentences: tuple[str, ...] = ()
    claims: tuple[ClaimSeen, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    runs: str = ""
    points: int = 0
    points_failed: int = 0
