"""The state of a study and its race, and the expected remaining time."""

import contextlib
import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from transferscope.store import PlannedCell, Standing, Store, StoredCell, StudyCounts

if TYPE_CHECKING:
    from transferscope.settings.engine import Keep
    from transferscope.study.planners import AnySpec


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """The state of a study; its `store` is a path or URL without a password."""

    name: str
    store: str
    counts: StudyCounts
    failed: tuple[StoredCell, ...]


@dataclass(frozen=True, slots=True)
class EditedPlan:
    """The changes that an edited study file requests.

    Attributes:
        counts: Number of requested cells by state.
        added: Cells that were not part of the last run.
        dropped: Cells of the last run that the file no longer requests; they stay stored.
    """

    counts: StudyCounts
    added: int
    dropped: int


def study_status(store: Store, name: str) -> StudyStatus:
    """Return the state of a study; raises UnknownNameError if the store has none of that name."""
    counts = store.counts(name)
    failed = tuple(store.failed_cells(name)) if counts.failed else ()
    return StudyStatus(name, store.place, counts, failed)


def stamp_of(study: Path) -> str:
    """Return a stamp of a study file and the code that reads it, stored in the facts of a plan."""
    package = Path(__file__).parents[1]
    stamp = hashlib.sha256(bytes(study.absolute()) + study.read_bytes())  # paths in it are meant from its folder
    for path in sorted(package.rglob("*.py")):
        at = path.stat()
        stamp.update(f"{path.relative_to(package)} {at.st_size} {at.st_mtime_ns}".encode())
    return stamp.hexdigest()


def edited_plan(spec: "AnySpec", store: Store | None) -> EditedPlan | None:
    """Compare the plan of a study file with that of its last run; None if both have the same cells.

    Raises like `plan.plan_study`.
    """
    row = None if store is None else next((row for row in store.studies() if row.name == spec.name), None)
    from transferscope.study.planners import as_planned_before, cells_of  # with torch, which the rest does not need
    from transferscope.study.spec import StudySpec

    spec = as_planned_before(spec, {} if row is None else row.facts)
    is_as_it_was = row is not None and _of_plan(row.spec) == _of_plan(json.loads(json.dumps(spec.as_json())))
    if is_as_it_was and isinstance(spec, StudySpec):
        return None
    cells = cells_of(spec)
    before = {} if store is None or row is None else {one.key: one.state for one in store.standings(spec.name)}
    done = set() if store is None else store.done(cell.key for cell in cells)
    failed = {cell.key for cell in cells if before.get(cell.key) == "failed"}
    running = {cell.key for cell in cells if before.get(cell.key) == "running"}
    settled, hopeless = done | failed | running, set(failed)
    for cell in cells:  # what a cell needs comes before it
        if cell.key not in settled and not hopeless.isdisjoint(cell.needs):
            hopeless.add(cell.key)
    n_blocked = len(hopeless) - len(failed)
    planned = len(cells) - len(settled) - n_blocked
    counts = StudyCounts(planned, len(running), len(done), len(failed), n_blocked)
    keys = {cell.key for cell in cells}
    of_race = is_as_it_was and spec.race is not None  # which has not begun all
    if row is not None and (keys == before.keys() or (of_race and keys >= before.keys())):
        return None
    return EditedPlan(counts, added=len(keys - before.keys()), dropped=len(before.keys() - keys))


def _of_plan(spec: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in spec.items() if key not in ("engine", "store", "files")}


def keep_of(spec: Mapping[str, object]) -> "Keep":
    """Return which networks a stored study keeps."""
    engine = spec.get("engine")
    asked = engine.get("keep") if isinstance(engine, Mapping) else None
    return "winners" if asked == "winners" else "none" if asked == "none" else "all"


@dataclass(frozen=True, slots=True)
class KeptNetworks:
    """The networks on disk: `n_runs` of `n_done` runs have one; sizes include snapshots."""

    keep: "Keep"
    n_done: int
    n_runs: int
    run_bytes: int
    n_pretrained: int
    pretrained_bytes: int


def kept_networks(store: Store, study: str) -> KeptNetworks:
    """Return the networks of a study on disk."""
    sizes: dict[str, int] = defaultdict(int)
    for file in store.files.glob("*.safetensors"):
        with contextlib.suppress(FileNotFoundError):
            sizes[file.name.partition(".")[0]] += file.stat().st_size
    cells = store.cells(study) if sizes else []
    done = [stored.cell for stored in cells if stored.state == "done"]
    runs, pretrained = ([sizes[cell.key] for cell in done if cell.role == role] for role in ("method", "pretrain"))
    there, here = ([size for size in of_role if size] for of_role in (runs, pretrained))
    keep = keep_of(store.study(study).spec)
    return KeptNetworks(keep, len(runs), len(there), sum(there), len(here), sum(here))


_SPREAD, _BY_90 = 0.3, 1.645
"""Standard deviation of a run's time beside its mean where no kind has two finished runs, and the normal quantile of
intervals of 90 %."""


class Forecast:
    """The number of remaining cells of each kind, and the time of one.

    Cells planned later by another runner do not count.
    """

    def __init__(self, cells: Iterable[PlannedCell], standings: Iterable[Standing]) -> None:
        # pretraining takes longer than fine-tuning, a probe less than either
        self._kinds = {cell.key: (cell.role, str(cell.labels.get("method"))) for cell in cells}
        self._left = Counter(self._kinds.values())
        self._seconds = defaultdict[tuple[str, str], list[float]](list)  # of those that are done
        self.total = len(self._kinds)
        self.done = 0
        self.failed = 0
        for standing in standings:
            if standing.state == "failed":
                self.count_failed(standing.key)
            elif standing.seconds is not None:
                self.count_done(standing.key, standing.seconds)

    def count_done(self, key: str, seconds: float) -> None:
        """Count a finished cell that took `seconds`."""
        if key not in self._kinds:
            return
        self._left[self._kinds[key]] -= 1
        self._seconds[self._kinds[key]].append(seconds)
        self.done += 1

    def count_failed(self, key: str) -> None:
        """Count a cell that will not be executed."""
        if key not in self._kinds:
            return
        self._left[self._kinds[key]] -= 1
        self.failed += 1

    def seconds_left(self, shares: Mapping[str, float], *, workers: int) -> tuple[float, float] | None:
        """Return the least and the most seconds until the end; None until a cell is done.

        The remaining cells of a kind take the mean of its finished ones, with a 90 % prediction interval of their sum.
        A kind with a single finished cell varies like the others. A kind without one takes the average of all cells,
        and the upper end is infinite.

        Args:
            shares: Finished share of each running cell, in [0, 1].
        workers: Number of cells executed at a time, at least 1.
        """
        if not self.done:
            return None
        average = sum(map(sum, self._seconds.values())) / self.done
        spreads = [stdev(took) / max(fmean(took), 1e-9) for took in self._seconds.values() if len(took) > 1]
        usual = fmean(spreads) if spreads else _SPREAD
        work = variance = 0.0
        is_partial = False
        for kind, left in self._left.items():
            took = self._seconds.get(kind, [])
            each, n = (fmean(took), len(took)) if took else (average, 1)
            spread = stdev(took) if n > 1 else usual * each
            work += left * each
            variance += spread**2 * (left + left**2 / n)
            is_partial |= bool(left) and not took
            work -= sum(share * each for key, share in shares.items() if self._kinds.get(key) == kind)
        within = _BY_90 * math.sqrt(variance)
        most = math.inf if is_partial else work + within
        return max(work if is_partial else work - within, 0.0) / workers, max(most, 0.0) / workers
