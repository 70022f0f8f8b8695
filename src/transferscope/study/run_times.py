"""Expected run times of cells: from finished cells of the same kind, or else from the number of processed examples."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from transferscope.methods.method import FitOptions
from transferscope.methods.tuning import combinations, runs_of_a_search
from transferscope.store import PlannedCell
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.fitting import number
from transferscope.study.passes import Passes
from transferscope.study.tables import settings_of
from transferscope.training import TrainingSettings
from transferscope.training.curve import curve_plan

_TIMED = ("pretrain", "method", "command")
"""Roles of cells whose time is estimated from other cells."""

_GUESSES = ((1.0, 0.0), (10.0, 0.0), (20.0, 1e-4), (100.0, 1e-2))
"""By kind of work, seconds that order what nothing is known of: of a run, and of each example that passes."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a cell according to its plan.

    Attributes:
        kind: 0 for work on inputs, or on features of a network pretrained here; 1 on features of another network; 2 for
            training a network of this package; 3 for training another.
        network: The network that examples pass through; "" for none.
        passes: Number of forward passes of examples; a training step counts by the relative time of its forward and
            backward pass. 0 if the time is negligible.
        seconds: Time of one pass, measured at planning; 0 if unknown.
    """

    kind: int
    network: str
    passes: float
    seconds: float = 0.0

    @property
    def guess(self) -> float:
        """Seconds to order cells without other information; not an estimate."""
        fixed, each = _GUESSES[self.kind]
        return fixed + each * self.passes


class RunTimes:
    """Run times estimated from the `seconds` of finished cells, by key, and the `facts` of their study."""

    def __init__(self, cells: Sequence[PlannedCell], facts: Mapping[str, Any], seconds: Mapping[str, float]) -> None:
        self._recipes: dict[int, PretrainRecipe | MethodRecipe] = {}
        self._methods = {cell.key for cell in cells if cell.role == "method"}
        self._passes = {name: settings_of(Passes, one) for name, one in facts.get("passes", {}).items()}
        self._facts = facts
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
        # of what reads alone the slowest: features that are kept on the disk take no pass
        self._pace = {key: float(np.mean(of_kind) if key[1] else max(of_kind)) for key, of_kind in paces.items()}

    def work(self, cell: PlannedCell) -> Work:
        """Return the work of a cell of role "pretrain", "method" or "command", which is unknown for a command."""
        if cell.role == "command":
            return Work(3, str(cell.labels.get("source")), 0.0)
        recipe = self._recipes.get(id(cell.payload))
        if recipe is None:
            made = PretrainRecipe if cell.role == "pretrain" else MethodRecipe
            recipe = self._recipes[id(cell.payload)] = made.from_payload(cell.payload)
        network, passes = repr(recipe.network), self._passes.get(recipe.network.name, Passes())
        trained = 3 if ":" in recipe.network.name else 2
        seconds = passes.seconds
        if isinstance(recipe, PretrainRecipe):
            facts = self._facts.get("sources", {}).get(str(cell.labels["source"]), {})
            n_passes = _in_training(recipe.pretraining, passes, number(cell, "n_source"), facts.get("n_test", 0))
            return Work(trained, network, n_passes, seconds)
        method, n_target = recipe.method, number(cell, "n_target")
        if method.takes_steps:
            if not method.uses_network:  # it trains one of its own, which is small
                passes = self._passes.get(method.name, Passes())
                trained, network, seconds = 2, method.name, passes.seconds
            name = str(cell.labels["method"])
            fixed, passes = passes.fixed.get(name, 0.0), replace(passes, step=passes.steps.get(name, passes.step))
            runs = method.most_runs * (1 if self._takes_over(cell) else 1 + _searched(recipe))
            n_test = self._facts.get("target", {}).get("n_test", 0)
            n_passes = _in_training(recipe.training, passes, n_target, n_test, fixed, runs, of_both=method.uses_source)
            return Work(trained, network, n_passes, seconds)
        if not method.uses_network:
            return Work(0, "", 0.0)
        if trained == 2:
            return Work(0 if cell.needs else 1, network, 0.0)  # the pretraining is a cell with a time of its own
        n_passes = n_target + (number(cell, "n_source") if method.uses_source else 0)
        return Work(1, network, passes.reading * n_passes, seconds)

    def usual(self, cell: PlannedCell) -> float:
        """Return seconds to order cells: expected ones, or a guess by kind without similar runs.

        For the package's small networks, timed passes are not used, since other costs dominate.
        """
        work = self.work(cell)
        is_timed = self._alike(cell, work) in self._seconds or (work.network, True) in self._pace or work.kind == 3
        expected = self.expected(cell) if is_timed else None
        return work.guess if expected is None else expected

    def _takes_over(self, cell: PlannedCell) -> bool:
        return any(need in self._methods for need in cell.needs)

    def _alike(self, cell: PlannedCell, work: Work) -> tuple[str, str, str, bool]:
        """Return the group of cells with similar times."""
        return cell.role, str(cell.labels.get("method")), work.network, self._takes_over(cell)

    def expected(self, cell: PlannedCell) -> float | None:
        """Return the expected seconds of a cell without its needs; None if unknown.

        The mean of the same method with the same network, or else in proportion to the number of passes: at the speed
        of trainings of that network, of a pass timed at planning, or of runs on its features.
        """
        if cell.role not in _TIMED:
            return None
        work = self.work(cell)
        if (known := self._seconds.get(self._alike(cell, work))) is not None:
            return known
        pace = self._pace.get((work.network, True), work.seconds or self._pace.get((work.network, False)))
        return work.passes * pace if pace is not None and work.passes else None


def _in_training(
    training: TrainingSettings,
    passes: Passes,
    n_train: int,
    n_test: int,
    fixed: float = 0.0,
    runs: float = 1.0,
    *,
    of_both: bool = False,
) -> float:
    """Return the passes of a training: its steps, passes through fixed blocks once, and its curve.

    Args:
        runs: Number of repetitions of the steps.
        of_both: Whether a step also processes as many source examples.
    """
    n_steps = training.n_steps(n_train)
    read = float(n_steps * min(training.batch_size, n_train) * (2 if of_both else 1))
    views = {"none": 1, "flip": 2}.get(training.augment)  # of each example, which fixed blocks read once
    once = min(read, views * n_train) if views else read
    most, weights = FitOptions.curve_examples, passes.weights
    plan = curve_plan(training, n_steps=n_steps, n_train=n_train, n_test=n_test, n_parameters=weights, examples=most)
    shown = math.ceil(n_steps / plan.every) * (min(plan.examples, n_train) + min(plan.examples, n_test))
    return runs * ((1 - fixed) * passes.step * read + fixed * once) + passes.reading * shown


def _searched(recipe: MethodRecipe) -> float:
    tuning = recipe.tuning
    if tuning is None or not tuning.grid:
        return 0.0
    return runs_of_a_search(len(combinations(tuning.grid, recipe.method, recipe.training)))
