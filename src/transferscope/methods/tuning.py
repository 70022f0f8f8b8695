"""Choosing a method's settings by cross-validation on target training data."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch.nn import functional as F

from transferscope.data.splits import folds
from transferscope.data.task import TransferTask
from transferscope.estimate import Estimate
from transferscope.methods.method import FitOptions, Method
from transferscope.models.network import Network
from transferscope.records import Cost
from transferscope.training import check_targets, stream_seed

Value = bool | int | float | str


@dataclass(frozen=True)
class Trial:
    """One combination of settings and how it did.

    Attributes:
        settings: The values tried, by name.
        risk: Mean validation risk over folds (share of errors, or mean squared error), with its standard error over
            folds; infinite with status "non_finite" when a fold diverged.
    """

    settings: Mapping[str, Value]
    risk: Estimate


@dataclass(frozen=True)
class Tuned:
    """The settings that did best, ready to fit on all target training data.

    Attributes:
        method: The method with them.
        options: The options with them.
        trials: All trials, the best first.
        cost: What the trials took together.
    """

    method: Method
    options: FitOptions
    trials: tuple[Trial, ...]
    cost: Cost


def candidates(grid: Mapping[str, Sequence[Value]], trials: int, *, seed: int) -> tuple[dict[str, Value], ...]:
    """Combinations from a grid: all of it when it is small enough, else a random choice without repetition.

    Args:
        grid: Values to try, by setting; an empty grid has one combination, the settings as they are.
        trials: How many at most, at least 1.
        seed: Seed of the choice.

    Returns:
        At most `trials` combinations.
    """
    names, axes = list(grid), [list(values) for values in grid.values()]
    n_all = math.prod(len(axis) for axis in axes)
    chosen = np.random.default_rng(seed).permutation(n_all)[:trials]
    everything = list(itertools.product(*axes))
    return tuple(dict(zip(names, everything[i], strict=True)) for i in sorted(int(i) for i in chosen))


def tune(
    method: Method,
    task: TransferTask,
    network: Network,
    options: FitOptions,
    *,
    grid: Mapping[str, Sequence[Value]],
    trials: int,
    n_folds: int,
) -> Tuned:
    """Choose settings by the mean validation risk over folds of `task.target.train`; test data are never read.

    A tie goes to the combination that comes first in the grid.

    Args:
        method: The method with its other settings.
        task: What to learn.
        network: The starting network.
        options: Budget and seed of each trial.
        grid: Values to try for settings of the method or of the training.
        trials: How many combinations at most.
        n_folds: Folds, from 2 to the number of target training examples.

    Returns:
        The best settings.

    Raises:
        DataError: There are too few examples for so many folds.
    """
    parts = folds(task.target.train, n_folds, seed=stream_seed(options.seed, "folds"))
    quiet = replace(options, curve_examples=0, checkpoint=None, on_progress=None, snapshots=None)
    tried: list[Trial] = []
    cost = Cost()
    for settings in candidates(grid, trials, seed=stream_seed(options.seed, "trials")):
        trial_method, trial_options = _method_with(method, settings), _options_with(method, quiet, settings)
        risks: list[float] = []
        for fold in parts:
            held_out = task.target.train.take(fold.validate)
            fold_task = task.with_target_train(task.target.train.take(fold.fit))
            fitted = trial_method.fit(fold_task, network, trial_options)
            risks.append(_risk(fitted.outputs(held_out), torch.from_numpy(held_out.labels)))
            cost = _add(cost, fitted.cost)
        tried.append(Trial(settings, _mean(risks)))
    ranked = sorted(tried, key=lambda trial: trial.risk.value)
    best = ranked[0].settings
    return Tuned(_method_with(method, best), _options_with(method, options, best), tuple(ranked), cost)


def _method_with(method: Method, settings: Mapping[str, Value]) -> Method:
    own = _setting_names(method)
    return replace(method, **{name: value for name, value in settings.items() if name in own})  # type: ignore[type-var]


def _options_with(method: Method, options: FitOptions, settings: Mapping[str, Value]) -> FitOptions:
    """The options with the settings that are not the method's own."""
    own = _setting_names(method)
    recipe = replace(options.training, **{name: value for name, value in settings.items() if name not in own})  # type: ignore[arg-type]
    return replace(options, training=recipe)


def _setting_names(method: Method) -> set[str]:
    return {field.name for field in fields(method)}  # type: ignore[arg-type]


def _risk(outputs: torch.Tensor, labels: torch.Tensor) -> float:
    outputs = outputs.cpu()
    if not torch.isfinite(outputs).all():
        return math.inf
    if labels.is_floating_point():
        check_targets(labels, tuple(outputs.shape))
        return float(F.mse_loss(outputs.double(), labels.double()))
    return float((outputs.argmax(dim=1) != labels).double().mean())


def _mean(risks: Sequence[float]) -> Estimate:
    if not np.isfinite(risks).all():
        return Estimate(math.inf, None, len(risks), "non_finite")
    return Estimate(float(np.mean(risks)), float(np.std(risks, ddof=1) / len(risks) ** 0.5), len(risks))


def _add(one: Cost, other: Cost) -> Cost:
    return Cost(
        one.seconds + other.seconds,
        max(one.peak_memory, other.peak_memory),
        max(one.trained_parameters, other.trained_parameters),
        one.examples_seen + other.examples_seen,
        one.steps + other.steps,
    )
