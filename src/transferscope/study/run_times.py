"""What the cells of a study take: as those that are done, and where none of a kind is, by the examples that pass."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transferscope.methods.tuning import combinations, runs_of_a_search
from transferscope.store import PlannedCell
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.fitting import number
from transferscope.training import TrainingSettings

_TIMED = ("pretrain", "method", "command")
"""Roles of cells whose time is told by others."""

STEP = 3.0
"""A step of training takes as long as reading its examples so many times: forward, and twice as long backward."""

_GUESSES = ((1.0, 0.0), (10.0, 0.0), (20.0, 1e-4), (100.0, 1e-2))
"""By kind of work, seconds that order what nothing is known of: of a run, and of each example that passes."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a cell does, by its plan alone.

    Attributes:
        kind: 0 for what reads inputs as they are, 1 for what reads the features of a network, 2 for what trains one of
            the package's own networks or needs one that is pretrained here, 3 for what trains another network.
        network: Which network examples pass through; "" for none.
        passes: Examples that pass through it, those of a training step counted `STEP` times; 0 where they take no time
            to speak of, as reading for one of the own networks.
    """

    kind: int
    network: str
    passes: float

    @property
    def guess(self) -> float:
        """Seconds by which to order what nothing is known of; no estimate."""
        fixed, each = _GUESSES[self.kind]
        return fixed + each * self.passes


class RunTimes:
    """What cells take, from the `seconds` of those that are done, by key."""

    def __init__(self, cells: Sequence[PlannedCell], seconds: Mapping[str, float]) -> None:
        self._recipes: dict[int, PretrainRecipe | MethodRecipe] = {}
        self._methods = {cell.key for cell in cells if cell.role == "method"}
        alike: dict[tuple[str, str, str, bool], list[float]] = defaultdict(list)
        paces: dict[tuple[str, bool], list[float]] = defaultdict(list)
        for cell in cells:
            if cell.key not in seconds or cell.role not in _TIMED:
                continue
            taken, work = seconds[cell.key], self.work(cell)
            alike[self._alike(cell, work)].append(taken)
            if work.passes:
                paces[work.network, work.kind >= 2].append(taken / work.passes)
        self._seconds = {key: float(np.mean(of_kind)) for key, of_kind in alike.items()}
        self._pace = {key: _slow(of_kind) if not key[1] else float(np.mean(of_kind)) for key, of_kind in paces.items()}

    def work(self, cell: PlannedCell) -> Work:
        """What a cell of role "pretrain", "method" or "command" does; of a command nothing is known beforehand."""
        if cell.role == "command":
            return Work(3, str(cell.labels.get("source")), 0.0)
        recipe = self._recipes.get(id(cell.payload))
        if recipe is None:
            made = PretrainRecipe if cell.role == "pretrain" else MethodRecipe
            recipe = self._recipes[id(cell.payload)] = made.from_payload(cell.payload)
        network = repr(recipe.network)
        trained = 3 if ":" in recipe.network.name else 2
        if isinstance(recipe, PretrainRecipe):
            return Work(trained, network, STEP * _read_in_steps(recipe.pretraining, number(cell, "n_source")))
        method, n_target = recipe.method, number(cell, "n_target")
        if method.takes_steps:
            read = _read_in_steps(recipe.training, n_target) * (2 if method.uses_source else 1)
            runs = method.most_runs * (1 if self._takes_over(cell) else 1 + _searched(recipe))
            if not method.uses_network:  # it trains one of its own, which is small
                trained, network = 2, method.name
            return Work(trained, network, STEP * read * runs)
        if not recipe.method.uses_network:
            return Work(0, "", 0.0)
        if trained == 2:
            return Work(2 if cell.needs else 1, network, 0.0)
        return Work(1, network, n_target + (number(cell, "n_source") if method.uses_source else 0))

    def _takes_over(self, cell: PlannedCell) -> bool:
        return any(need in self._methods for need in cell.needs)

    def _alike(self, cell: PlannedCell, work: Work) -> tuple[str, str, str, bool]:
        """Cells of which this is the same take about as long."""
        return cell.role, str(cell.labels.get("method")), work.network, self._takes_over(cell)

    def expected(self, cell: PlannedCell) -> float | None:
        """Seconds of a cell without those that it needs; None where nothing tells.

        As long as the mean of the same method with the same network, else in proportion to the examples that pass, at
        the pace of what trained that network, or of what read it slowly.
        """
        if cell.role not in _TIMED:
            return None
        work = self.work(cell)
        if (known := self._seconds.get(self._alike(cell, work))) is not None:
            return known
        pace = self._pace.get((work.network, True), self._pace.get((work.network, False)))
        return work.passes * pace if pace is not None and work.passes else None


def _slow(paces: Sequence[float]) -> float:
    """The slowest, for features are kept on the disk; but for the first, which imports what reads the network."""
    return sorted(paces)[-2:][0]


def _read_in_steps(training: TrainingSettings, n_train: int) -> float:
    return float(training.n_steps(n_train) * min(training.batch_size, n_train))


def _searched(recipe: MethodRecipe) -> float:
    tuning = recipe.tuning
    if tuning is None or not tuning.grid:
        return 0.0
    n_settings = min(tuning.trials, len(combinations(tuning.grid, recipe.method, recipe.training)))
    return runs_of_a_search(n_settings, tuning.folds, tuning.search)
