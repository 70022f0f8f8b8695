"""How long a whole study will still take, from what its cells took so far."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from transferscope.store import PlannedCell, Standing


@dataclass(frozen=True, slots=True)
class Kind:
    """Cells that take about the same time: pretraining longer than fine-tuning, a probe less than either."""

    role: str
    method: str


@dataclass(slots=True)
class _Tally:
    """What is known of a kind."""

    left: int = 0
    done: int = 0
    seconds: float = 0.0


class Forecast:
    """How many cells are left of each kind, and what one of a kind takes.

    Args:
        cells: The cells of the study.
        standings: Where they stand.

    Attributes:
        total: Number of cells.
        done: How many are done.
        failed: How many have failed.
    """

    def __init__(self, cells: Iterable[PlannedCell], standings: Iterable[Standing]) -> None:
        self._kinds = {cell.key: Kind(cell.role, str(cell.labels.get("method"))) for cell in cells}
        self._tallies = {kind: _Tally(left=n) for kind, n in Counter(self._kinds.values()).items()}
        self.total = len(self._kinds)
        self.done = 0
        self.failed = 0
        for standing in standings:
            if standing.state == "failed":
                self.count_failed(standing.key)
            elif standing.seconds is not None:
                self.count_done(standing.key, standing.seconds)

    def count_done(self, key: str, seconds: float) -> None:
        """Count a cell that took `seconds`."""
        tally = self._tallies[self._kinds[key]]
        tally.left -= 1
        tally.done += 1
        tally.seconds += seconds
        self.done += 1

    def count_failed(self, key: str) -> None:
        """Count a cell that will not be done."""
        self._tallies[self._kinds[key]].left -= 1
        self.failed += 1

    def seconds_left(self, shares: Mapping[str, float], *, workers: int) -> float | None:
        """Seconds until everything is done; kinds of which none is done yet count as the average cell.

        Args:
            shares: How much is done of each cell in work, in [0, 1].
            workers: How many cells are done at a time, at least 1.

        Returns:
            The estimate; None as long as no cell is done.
        """
        if self.done == 0:
            return None
        average = sum(tally.seconds for tally in self._tallies.values()) / self.done
        each = {kind: tally.seconds / tally.done if tally.done else average for kind, tally in self._tallies.items()}
        work = sum(tally.left * each[kind] for kind, tally in self._tallies.items())
        work -= sum(share * each[self._kinds[key]] for key, share in shares.items())
        return max(work, 0.0) / workers
