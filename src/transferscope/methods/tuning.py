"""Hyperparameter search of a method by cross-validation on target training data."""

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope.files import written_whole
from transferscope.methods.held_out import labels_needed, risk, stratified_folds, total_cost
from transferscope.methods.method import FitOptions, Method, Value
from transferscope.models.network import Network
from transferscope.records import Cost
from transferscope.training import TrainingSettings, stream_seed

FOLDS = 3
TRIAL_STEPS = 1 / 3
"""Share of the training steps in a trial; docs/results/tuning.md compares with full trials."""


@dataclass(frozen=True)
class Trial:
    """One combination of settings with its risk.

    Attributes:
        risk: Mean of `held_out.risk` over the folds it was tried on, with its standard error over folds; infinite with
            status "non_finite" when a fold diverged.
    """

    settings: Mapping[str, Value]
    risk: Estimate


@dataclass(frozen=True)
class Tuned:
    """The best settings, ready to fit on all target training data.

    Attributes:
        trials: All trials, best first; empty without a choice.
        labels_needed: Number of labels that a search needs, if there were too few; else 0.
        diverged: Better settings whose training on all labels diverged; see `next_best`.
    """

    method: Method
    options: FitOptions
    chosen: Mapping[str, Value]
    trials: tuple[Trial, ...]
    cost: Cost
    labels_needed: int = 0
    diverged: tuple[Mapping[str, Value], ...] = ()

    def next_best(self, spent: Cost) -> "Tuned | None":
        """Return the next best settings, if training on all labels with the chosen ones diverged.

        Returns:
            The next best settings; None if all others diverged in their trials.
        """
        diverged = (*self.diverged, self.chosen)
        left = [trial for trial in self.trials if trial.risk.status != "non_finite" and trial.settings not in diverged]
        if not left:
            return None
        chosen = left[0].settings
        method, options = with_chosen_settings(self.method, self.options, chosen)
        cost = total_cost([self.cost, spent])
        return replace(self, method=method, options=options, chosen=chosen, cost=cost, diverged=diverged)


def search_grid(method: Method, training: TrainingSettings, *, rates: bool = True) -> dict[str, tuple[Value, ...]]:
    """Return the search grid of `compare` for a method: at most six combinations of a learning rate and one further
    setting.

    Args:
        rates: Whether to search the learning rate.

    Returns:
        Values by setting, the given ones first; empty for a method with its own search or without settings to search.
    """
    own = method.searched(training)
    return {**method.searched_rates(training), **own} if rates else own


def combinations(
    grid: Mapping[str, Sequence[Value]], method: Method, training: TrainingSettings
) -> list[dict[str, Value]]:
    """Return all valid combinations of a grid, in order.

    Combinations that the method or the training settings refuse are left out, since a setting may apply only with some
    values of another, such as hidden units with a random head.

    Args:
        grid: Values to try by setting; an empty grid has one combination, the unchanged settings.
    """
    chosen = []
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        with suppress(SettingsError):
            with_settings(method, training, settings)
            chosen.append(settings)
    return chosen


def with_settings(
    method: Method, training: TrainingSettings, settings: Mapping[str, Value]
) -> tuple[Method, TrainingSettings]:
    """Return a method with its own settings of a combination, and the recipe with the others."""
    names = {field.name for field in fields(method)}  # type: ignore[arg-type]
    own = {name: value for name, value in settings.items() if name in names}
    others = {name: value for name, value in settings.items() if name not in names}
    return replace(method, **own), replace(training, **others)  # type: ignore[type-var, arg-type]


def with_chosen_settings(
    method: Method, options: FitOptions, settings: Mapping[str, Value]
) -> tuple[Method, FitOptions]:
    """Return the options with the recipe."""
    method, training = with_settings(method, options.training, settings)
    return method, replace(options, training=training)


def trials_by_fold(n_settings: int) -> tuple[int, ...]:
    """Return the number of trials on each fold: after each the better half, rounded up; empty for one combination."""
    return tuple(-(-n_settings // 2**fold) for fold in range(FOLDS)) if n_settings > 1 else ()


def runs_of_a_search(n_settings: int) -> float:
    """Return the cost of a search, in runs with all training steps."""
    return sum(trials_by_fold(n_settings)) * TRIAL_STEPS


def tune(
    method: Method, task: TransferTask, network: Network, options: FitOptions, *, grid: Mapping[str, Sequence[Value]]
) -> Tuned:
    """Choose settings by the mean validation risk over FOLDS folds of `task.target.train`, by halving.

    All combinations are tried on the first fold, with TRIAL_STEPS of the steps; the better half is tried on the next
    fold. Ties go to the combination that comes first in the grid, with settings in alphabetical order. A single
    combination needs no trial; with fewer labels than folds times classes (four for numeric labels, or for fewer
    classes) settings are unchanged. With `options.checkpoint` the trials are stored next to it and reused after an
    interruption. Class weights of the training settings apply to the risk, too. Test data are never read.

    Args:
        grid: Values to try for settings of the method or of the training.
    """
    grid = dict(sorted(grid.items()))  # ties are decided by order, and stored tables come back in this one
    tried = combinations(grid, method, options.training)
    if not tried:
        raise SettingsError(f"{method.name} accepts no combination of {dict(grid)}; give other values")
    train = task.target.train
    needed = labels_needed(train, FOLDS)
    if len(tried) == 1:
        return Tuned(*with_chosen_settings(method, options, tried[0]), tried[0], (), Cost())
    parts = stratified_folds(train, FOLDS, seed=stream_seed(options.seed, "folds")) if len(train) >= needed else ()
    if not parts:  # too few examples, or groups that cannot be kept apart
        return Tuned(method, options, {}, (), Cost(), needed)
    counts = trials_by_fold(len(tried))
    log = _TrialLog(options, f"{method} {options.training} {options.seed} {grid}")
    balanced = options.training.class_weights == "balanced"
    quiet = replace(options, curve_examples=0, checkpoint=None, snapshots=None)
    shown = partial(_part_of_progress, options, whole=runs_of_a_search(len(tried)) + 1.0)
    risks: list[list[float]] = [[] for _ in tried]
    going_on = list(range(len(tried)))
    for place, fold in enumerate(parts):
        going_on = sorted(sorted(going_on, key=lambda i: _mean(risks[i]).value)[: counts[place]])
        held_out = train.take(fold.validate)
        fold_task = task.with_target_train(train.take(fold.fit))
        for i in going_on:
            if not log.has(i, place):
                progress = shown(begun=sum(map(len, risks)) * TRIAL_STEPS, weight=TRIAL_STEPS)
                own, given = with_chosen_settings(method, quiet, tried[i])
                fitted = own.fit(fold_task, network, replace(_shortened(given), on_progress=progress))
                labels = torch.from_numpy(held_out.labels)
                log.add(i, place, risk(fitted.outputs(held_out), labels, balanced=balanced), fitted.cost)
            risks[i].append(log.risk(i, place))
    ranked = sorted(range(len(tried)), key=lambda i: (-len(risks[i]), _mean(risks[i]).value))
    best = tried[ranked[0]]
    chosen, final = with_chosen_settings(method, options, best)
    final = replace(final, on_progress=shown(begun=sum(counts) * TRIAL_STEPS, weight=1.0))
    return Tuned(chosen, final, best, tuple(Trial(tried[i], _mean(risks[i])) for i in ranked), log.cost)


def _shortened(options: FitOptions) -> FitOptions:
    """Return the options with TRIAL_STEPS of their training, at least one step."""
    training = options.training
    if training.steps is not None:
        return replace(options, training=replace(training, steps=max(1, round(TRIAL_STEPS * training.steps))))
    assert training.epochs is not None
    return replace(options, training=replace(training, epochs=TRIAL_STEPS * training.epochs))


def _part_of_progress(
    options: FitOptions, *, begun: float, weight: float, whole: float
) -> Callable[[int, int], None] | None:
    """Return the progress of one run as that of the search with the final run, in runs with all training steps."""
    tell = options.on_progress
    if tell is None:
        return None
    return lambda done, steps: tell(round(1000 * (begun + weight * done / steps)), round(1000 * whole))


class _TrialLog:
    """Results of the trials of a search by combination and fold, stored next to the checkpoint of the run."""

    def __init__(self, options: FitOptions, tag: str) -> None:
        self._file = None if options.checkpoint is None else trials_file(options.checkpoint)
        self._tag = tag
        self._made: dict[str, tuple[float, Cost]] = {}
        if self._file is not None and self._file.exists():
            with suppress(OSError, ValueError, TypeError, KeyError):  # a damaged file is made again
                kept = json.loads(self._file.read_text(encoding="utf-8"))
                made = {key: (float(risk), Cost(**cost)) for key, (risk, cost) in kept["trials"].items()}
                self._made = made if kept["tag"] == tag else {}

    def has(self, i: int, fold: int) -> bool:
        return f"{i} {fold}" in self._made

    def risk(self, i: int, fold: int) -> float:
        return self._made[f"{i} {fold}"][0]

    def add(self, i: int, fold: int, risk: float, cost: Cost) -> None:
        self._made[f"{i} {fold}"] = (risk, cost)
        if self._file is not None:
            trials = {key: (risk, asdict(cost)) for key, (risk, cost) in self._made.items()}
            with written_whole(self._file) as path:
                path.write_text(json.dumps({"tag": self._tag, "trials": trials}), encoding="utf-8")

    @property
    def cost(self) -> Cost:
        return total_cost([cost for _, cost in self._made.values()])


def trials_file(checkpoint: Path) -> Path:
    """Return the file that keeps the trials of a run, beside its checkpoint."""
    return checkpoint.with_suffix(".trials")


def _mean(risks: Sequence[float]) -> Estimate:
    """Return the mean over folds; equal for all before the first fold."""
    if not np.isfinite(risks).all():
        return Estimate(math.inf, None, len(risks), "non_finite")
    if len(risks) < 2:
        return Estimate(risks[0] if risks else 0.0, None, len(risks))
    return Estimate(float(np.mean(risks)), float(np.std(risks, ddof=1) / len(risks) ** 0.5), len(risks))
