"""Common parts of methods that choose settings on a held-out part of the target's training data."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from transferscope.data.splits import Fold, folds
from transferscope.data.task import UNLABELLED, LabelledSet
from transferscope.methods.method import FitOptions
from transferscope.models.network import Network
from transferscope.numerics.average_precision import macro_average_precision
from transferscope.numerics.class_measures import example_contributions
from transferscope.records import Cost
from transferscope.training import Batch, batch_loss, check_targets, example_weights

PARTS = 4
"""Number of parts of the training examples, of which one is held out."""


def held_out_part(train: LabelledSet, *, seed: int) -> Fold | None:
    """Split off a stratified quarter of the training examples for validation.

    Returns:
        The two parts; None with fewer than four examples per class (or 16 in all), or if groups cannot be kept apart.
    """
    if len(train) < labels_needed(train, PARTS):
        return None
    return next(iter(stratified_folds(train, PARTS, seed=seed)), None)


def labels_needed(train: LabelledSet, n_folds: int) -> int:
    """Return the minimum number of examples for a number of folds: one of each class per fold, and four in all."""
    return n_folds * max(4, len(train.classes or ()))


def stratified_folds(train: LabelledSet, n_folds: int, *, seed: int) -> tuple[Fold, ...]:
    """Return folds; the only example of a class is in every fitting part and no validation part.

    With groups see `folds`: there may be none.
    """
    if train.groups is not None:
        return folds(train, n_folds, seed=seed)
    of_classes = train.kind == "classification"
    single = np.flatnonzero(train.class_counts()[train.labels] == 1) if of_classes else np.arange(0)
    others = np.setdiff1d(np.arange(len(train)), single)
    if not len(single) or len(others) < n_folds:
        return folds(train, n_folds, seed=seed)
    dealt = folds(train.take(others), n_folds, seed=seed)
    return tuple(Fold(np.union1d(single, others[fold.fit]), others[fold.validate]) for fold in dealt)


def risk(outputs: Tensor, labels: Tensor, *, balanced: bool = False) -> float:
    """Return the risk of outputs, by the type of the labels; infinite if an output is not finite.

    Args:
        outputs: Logits or regression values, shape (N, K), or (N, K, h, w) on a grid.
        labels: int64 classes (N,) or (N, h, w): the error rate; booleans (N, K): one minus the average
            precision, as mean over the labels that occur; float targets of the outputs' shape: the mean squared error.
        balanced: For classes (N,), whether to average the error rates of the classes that occur.
    """
    outputs = outputs.cpu()
    if not torch.isfinite(outputs).all():
        return math.inf
    if labels.dtype == torch.bool:
        precision = macro_average_precision(outputs.numpy(), labels.numpy())
        return 0.0 if math.isnan(precision) else 1.0 - precision  # without any label in the fold all settings tie
    if labels.is_floating_point():
        check_targets(labels, tuple(outputs.shape))
        return float(F.mse_loss(outputs.double(), labels.double()))
    if balanced and labels.ndim == 1:
        shares = example_contributions("balanced_accuracy", outputs.argmax(dim=1).numpy(), labels.numpy())
        return 1.0 - float(shares.mean())
    known = labels != UNLABELLED
    return float((outputs.argmax(dim=1) != labels)[known].double().mean())


def harm(outputs: Tensor, labels: Tensor, weights: Tensor | None = None) -> tuple[float, float]:
    """Return the validation criterion: the risk, and for ties the loss.

    Args:
        outputs: Logits or regression values, shape (N, K).
        labels: As in `risk`.
        weights: Class weights in the error rate and in the loss; None for none.
    """
    loss = float(batch_loss(outputs, Batch(outputs, labels, weights=weights)))
    if weights is None or labels.dtype != torch.int64 or not torch.isfinite(outputs).all():
        return risk(outputs, labels.cpu()), loss
    wrong = (outputs.argmax(dim=1) != labels).double() * example_weights(labels, weights)
    return float(wrong.mean()), loss


def blend(networks: Sequence[Network], weights: Sequence[float]) -> Network:
    """Return a copy of the first network with the weighted mean of all weights.

    Statistics of batch normalisation are averaged like weights, and its counters are those of the last network. A
    network of weight 1 is returned unchanged, bit for bit.

    Args:
        networks: Networks of one architecture.
        weights: A weight for each, which sum to 1.
    """
    mean = networks[0].copy()
    if 1.0 in weights:
        mean.load_state_dict(networks[list(weights).index(1.0)].state_dict())
        return mean
    states = [network.state_dict() for network in networks]
    with torch.no_grad():
        for name, tensor in mean.state_dict().items():
            if tensor.is_floating_point():
                terms = [weight * state[name] for weight, state in zip(weights, states, strict=True)]
                tensor.copy_(torch.stack(terms).sum(dim=0))
            else:
                tensor.copy_(states[-1][name])
    return mean


def one_of_several(options: FitOptions, run: int, n_runs: int) -> FitOptions:
    """Return the options of one of several runs of a method (from 0): its own checkpoint, its part of the progress."""
    tell = options.on_progress
    return replace(
        options,
        checkpoint=None if options.checkpoint is None else _checkpoint(options.checkpoint, run),
        on_progress=None if tell is None else lambda done, steps: tell(run * steps + done, n_runs * steps),
    )


def forget_runs(options: FitOptions, n_runs: int) -> None:
    """Delete the checkpoints of several runs once the last is done; that of the first is the caller's."""
    if options.checkpoint is not None:
        for run in range(1, n_runs):
            _checkpoint(options.checkpoint, run).unlink(missing_ok=True)


def _checkpoint(first: Path, run: int) -> Path:
    return first if run == 0 else first.with_suffix(f".run{run}")


def total_cost(costs: Sequence[Cost]) -> Cost:
    """Return the total cost of several runs."""
    return Cost(
        seconds=sum((cost.seconds for cost in costs), 0.0),
        peak_memory=max((cost.peak_memory for cost in costs), default=0),
        trained_parameters=max((cost.trained_parameters for cost in costs), default=0),
        examples_seen=sum(cost.examples_seen for cost in costs),
        steps=sum(cost.steps for cost in costs),
    )
