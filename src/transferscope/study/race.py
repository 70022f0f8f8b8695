"""A race over the cells of a study: only those runs that can still decide whether transfer helps, and which way.

Where the race stands is a function of what the store holds, so it can be interrupted, resumed and shared like any
other study, and cells of an earlier study under the same settings count.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from transferscope.errors import SettingsError, unknown_name
from transferscope.numerics.racing import RaceRule, Standing, next_runs, standing
from transferscope.records import HEADLINES
from transferscope.store import PlannedCell, Store
from transferscope.study.judged import judged_records


@dataclass(frozen=True, slots=True)
class RaceSettings:
    """A race: only runs that can still decide the question are made, of those that the study file allows.

    Attributes:
        question: "whether" transfer helps, or "which" way is best, which settles whether as well.
        risk: Wanted probability of any false "better than training from scratch", above 0 and up to 0.5.
        margin: Differences up to this are of no interest, above 0: points of accuracy, of average precision for several
            labels of each input, or of R² for numbers.
        cells: Most runs to make, at least 2; None for no such limit.
        minutes: Most computing time of all cells together, above 0; None for no such limit.
        first: Arms whose first runs come before those of others, as "METHOD from SOURCE", the most promising first.
    """

    question: Literal["whether", "which"] = "which"
    risk: float = 0.05
    margin: float = 1.0
    cells: int | None = None
    minutes: float | None = None
    first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.risk <= 0.5:
            raise SettingsError(f"risk = {self.risk} is out of range; expected a probability above 0 and up to 0.5")
        if not 0 < self.margin < math.inf:
            raise SettingsError(f"margin = {self.margin} is out of range; expected points above 0")
        if self.cells is not None and self.cells < 2:
            raise SettingsError(f"cells = {self.cells} is out of range; expected at least 2 runs")
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise SettingsError(f"minutes = {self.minutes} is out of range; expected minutes above 0")


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to transfer from one source, or training from scratch.

    Attributes:
        method: Name in the study.
        source: Name in the study; None for what depends on no source.
    """

    method: str
    source: str | None

    def __str__(self) -> str:
        return self.method if self.source is None else f"{self.method} from {self.source}"


@dataclass(frozen=True)
class RaceScores:
    """What the runs of a race have given.

    Attributes:
        arms: Row 0 is training from scratch.
        controls: Rows of the other arms that are no transfer.
        seeds: The seeds that may be run.
        scores: The measure in percent; NaN where nothing is, shape (n_arms, n_seeds).
        failed: Runs that failed, shape (n_arms, n_seeds).
        seconds: Mean time of a run of each arm with its pre-training; NaN where nothing is known, shape (n_arms,).
        spent: Time of all cells that are done.
        n_done: Runs that are done.
        measure: Which of HEADLINES the scores are.
    """

    arms: tuple[Arm, ...]
    controls: tuple[int, ...]
    seeds: tuple[int, ...]
    scores: Float[np.ndarray, "n_arms n_seeds"]
    failed: Bool[np.ndarray, "n_arms n_seeds"]
    seconds: Float[np.ndarray, " n_arms"]
    spent: float
    n_done: int
    measure: str

    def standing(self, settings: RaceSettings) -> Standing:
        """Where the race stands."""
        return standing(self.scores, rule_of(settings), controls=self.controls)


def rule_of(settings: RaceSettings) -> RaceRule:
    """The rule of a race; what is expected of the noise before any run is in points of accuracy."""
    return RaceRule(settings.risk, settings.margin)


class Race:
    """Which cells of a study are done next.

    Args:
        study: Name of the study.
        cells: Its cells: all that it allows, or those that a store has of it.
        seeds: The seeds that it allows.
        settings: The question, the risk, the margin and the budget.
        baseline: Name of the method that is training from scratch.
        controls: Names of methods that are controls beside it. So is every arm without a source.

    Attributes:
        arms: Training from scratch first.
        controls: Rows of the arms that are controls.
        keys: The cell of every arm and seed; None where there is none.

    Raises:
        SettingsError: The study is no race: several numbers of labels or pre-training sizes, no transfer, no baseline.
    """

    def __init__(
        self,
        study: str,
        cells: Sequence[PlannedCell],
        *,
        seeds: Sequence[int],
        settings: RaceSettings,
        baseline: str = "scratch",
        controls: Collection[str] = (),
    ) -> None:
        self.study = study
        self.seeds = tuple(seeds)
        self.settings = settings
        runs = [cell for cell in cells if cell.role == "method"]
        self.arms = _arms(runs, baseline)
        self.controls = tuple(
            row for row, arm in enumerate(self.arms) if row and (arm.source is None or arm.method in controls)
        )
        if len(self.controls) == len(self.arms) - 1:
            raise SettingsError("there is nothing to race against training from scratch; add a method of transfer")
        strange = sorted(set(settings.first) - set(map(str, self.arms)))
        if strange:
            raise unknown_name("arm in [race] first", strange[0], map(str, self.arms[1:]))
        self.n_target = runs[0].labels["n_target"]
        keys = {(arm_of(cell), cell.labels["seed"]): cell.key for cell in runs}
        self.keys = tuple(tuple(keys.get((arm, seed)) for seed in self.seeds) for arm in self.arms)
        self._cells = tuple(cells)
        self._needs = {cell.key: cell.needs for cell in cells}

    def scores(self, store: Store) -> RaceScores:
        """What the store holds of the race's runs."""
        shape = (len(self.arms), len(self.seeds))
        scores, failed = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        place = {key: (i, j) for i, keys in enumerate(self.keys) for j, key in enumerate(keys) if key is not None}
        stored = {cell.cell.key: cell for cell in store.cells(self.study)}
        records = judged_records(store, self.study)
        final = [
            (key, name, value)
            for key, name, part, step, value in zip(
                records.key, records.name, records.part, records.step, records.value, strict=True
            )
            if key in place and part == "target_test" and step is None
        ]
        measured = {name for _, name, _ in final}
        measure = next((name for name in HEADLINES if name in measured), "accuracy")
        for key, name, value in final:
            if name == measure:
                scores[place[key]] = 100.0 * value
        seconds = np.full(shape, np.nan)
        for key, (i, j) in place.items():
            cell = stored.get(key)
            failed[i, j] = cell is not None and cell.state in ("failed", "blocked")
            if cell is not None and cell.cost is not None:
                needs = [stored[need].cost for need in cell.cell.needs if need in stored]
                seconds[i, j] = cell.cost.seconds + sum(cost.seconds for cost in needs if cost is not None)
        known = np.isfinite(seconds)
        mean = np.where(known, seconds, 0.0).sum(axis=1) / np.where(known.any(axis=1), known.sum(axis=1), np.nan)
        spent = sum(cell.cost.seconds for cell in stored.values() if cell.cost is not None)
        n_done = int(np.isfinite(scores).sum())
        return RaceScores(self.arms, self.controls, self.seeds, scores, failed, mean, spent, n_done, measure)

    def next_cells(self, store: Store, *, at_once: int = 1) -> tuple[tuple[PlannedCell, ...], bool]:
        """The cells of all runs so far and of those to make next, with what they need.

        Args:
            store: What was done so far.
            at_once: How many runs can be done at the same time.

        Returns:
            The cells in the order of the study, and whether there are any to make next.
        """
        now = self.scores(store)
        runs = [] if self._over(now) else self._next_runs(now, at_once)
        made = np.argwhere(np.isfinite(now.scores) | now.failed).tolist()
        kept = {key for i, j in (*made, *runs) if (key := self.keys[i][j]) is not None}
        kept |= {need for key in kept for need in self._needs[key]}
        return tuple(cell for cell in self._cells if cell.key in kept), bool(runs)

    def budget_spent(self, now: RaceScores) -> bool:
        """Whether as many runs were made, or as much time was used, as the race may."""
        cells, minutes = self.settings.cells, self.settings.minutes
        return (cells is not None and now.n_done >= cells) or (minutes is not None and now.spent >= 60.0 * minutes)

    def _over(self, now: RaceScores) -> bool:
        return self.budget_spent(now) or now.standing(self.settings).settles(self.settings.question)

    def _next_runs(self, now: RaceScores, at_once: int) -> list[tuple[int, int]]:
        """As many runs as can be made at once; later ones are chosen as if the earlier ones gave nothing.

        First runs are made all together unless time is limited.
        """
        costs = np.where(np.isfinite(now.seconds), now.seconds, np.nanmean(now.seconds) if now.n_done else 1.0)
        favourites = [list(map(str, self.arms)).index(name) for name in self.settings.first]
        taken = now.failed.copy()
        runs: list[tuple[int, int]] = []
        while len(runs) < at_once:
            found = next_runs(
                now.scores,
                rule_of(self.settings),
                costs=costs,
                failed=taken,
                controls=self.controls,
                question=self.settings.question,
                favourites=favourites,
            )
            if not found:
                break
            runs += found
            taken[tuple(np.transpose(found))] = True
        room = len(runs) if self.settings.minutes is None else max(at_once, 2)
        return runs[: room if self.settings.cells is None else min(room, self.settings.cells - now.n_done)]


def _arms(cells: Sequence[PlannedCell], baseline: str) -> tuple[Arm, ...]:
    """The arms in the order of the plan, training from scratch first."""
    for label, words in (("n_target", "numbers of labels"), ("pretrain_step", "pre-training steps")):
        found = {cell.labels.get(label) for cell in cells}
        if len(found) > 1:
            raise SettingsError(
                f"a race is about one question, and the study has {len(found)} {words}; give one, or drop [race]"
            )
    sizes: dict[object, set[object]] = {}
    for cell in cells:
        sizes.setdefault(cell.labels["source"], set()).add(cell.labels.get("n_source"))
    if any(len(found) > 1 for found in sizes.values()):
        raise SettingsError(
            "a race is about one question, and the study has several pre-training sizes; give one, or drop [race]"
        )
    arms = tuple(dict.fromkeys(arm_of(cell) for cell in cells))
    control = [arm for arm in arms if arm.method == baseline]
    if len(control) != 1:
        raise SettingsError(f"a race compares with training from scratch; add [methods.{baseline}] to the study")
    return (*control, *(arm for arm in arms if arm.method != baseline))


def arm_of(cell: PlannedCell) -> Arm:
    """The arm that a cell of a method is a run of."""
    source = cell.labels["source"]
    return Arm(str(cell.labels["method"]), None if source is None else str(source))
