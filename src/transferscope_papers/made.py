"""What came of a figure, whatever it was made from: drawings, what they show in words, and the paper's claims."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from transferscope.report.blocks import Figure


@dataclass(frozen=True)
class ClaimSeen:
    """What a paper says that a figure shows, with what came of it.

    Attributes:
        source: Where it is made: paper, and section or figure.
        holds: Whether it holds on what is drawn; None where that cannot be told.
        exception: Why it need not hold, or cannot be told, in a sentence; "" where it has to hold.
        seen: The numbers that decide it.
    """

    sentence: str
    source: str
    holds: bool | None
    exception: str = ""
    seen: str = ""

    @property
    def words(self) -> str:
        """Whether it holds, what it says and where it stands, the numbers, and why not where that is known."""
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "undecided"}[self.holds]
        numbers = f"; {self.seen}" if self.seen else ""
        reason = f". {self.exception}" if self.exception and self.holds is not True else ""
        return f"{verdict}: {self.sentence} ({self.source}){numbers}{reason}"


@dataclass(frozen=True)
class FigureMade:
    """What came of a figure that is computed and simulated, of one from the authors' rows or from a finished study.

    Attributes:
        sentences: What it shows: how theory and simulation agree, what can be concluded.
        claims: What the paper says of it.
        tables: Numbers to print, by title.
        runs: The study, or the file of the authors' rows; "" where it is simulated.
        points: Points that were to be simulated.
        points_failed: Those that could not be.
    """

    drawings: tuple[Figure, ...]
    sentences: tuple[str, ...] = ()
    claims: tuple[ClaimSeen, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    runs: str = ""
    points: int = 0
    points_failed: int = 0
