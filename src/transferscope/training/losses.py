"""Losses by kind of label."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transferscope.data.task import UNLABELLED, LabelledSet
from transferscope.errors import DataError, wrong_shape
from transferscope.settings.training import TrainingSettings
from transferscope.training.tensors import Batch, TensorSet


def check_data(settings: TrainingSettings, train: LabelledSet) -> None:
    """Refuse settings that do not apply to this kind of training examples.

    Raises:
        DataError: Class weights are requested for examples without classes.
    """
    weighs = f'class_weights = "{settings.class_weights}" weighs'
    if settings.class_weights != "none" and train.kind == "regression":
        raise DataError(f"{weighs} classes, but the labels are numbers; leave class_weights out")
    if settings.class_weights != "none" and train.grid is not None:
        raise DataError(f"{weighs} examples by class, but each image has a grid of labels; leave class_weights out")


def task_loss(
    outputs: Float[Tensor, "n K ..."], labels: Tensor, weights: Float[Tensor, "..."] | None = None
) -> Float[Tensor, ""]:
    """Return the mean loss of a batch, by the type of its labels.

    Cross-entropy for classes, binary cross-entropy of each label on its own for several labels of each input, mean
    squared error for regression targets. On a grid, the same of each cell; cells without a label are left out.

    Args:
        outputs: Logits, or regression values; (n, K, h, w) on a grid.
        labels: int64 classes (n,) or (n, h, w), booleans (n, K), or float targets (n, K) or (n, K, h, w).
        weights: Weights from `class_weights`, for classes (n,) and booleans only; None for equal weights.

    Returns:
        The mean over examples and cells (and over outputs, for several labels and in regression).

    Raises:
        DataError: Booleans or regression targets are not of the shape of the outputs.
    """
    each = None if weights is None else example_weights(labels, weights).to(outputs.dtype)
    if labels.dtype == torch.bool:
        check_targets(labels, tuple(outputs.shape))
        return F.binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype), weight=each)
    if labels.ndim == 3:
        n_labelled = (labels != UNLABELLED).sum()
        return F.cross_entropy(outputs, labels.long(), ignore_index=UNLABELLED, reduction="sum") / n_labelled
    if not labels.is_floating_point():
        if each is None:
            return F.cross_entropy(outputs, labels.long())
        return (each * F.cross_entropy(outputs, labels.long(), reduction="none")).mean()
    check_targets(labels, tuple(outputs.shape))
    return F.mse_loss(outputs, labels)


def batch_loss(outputs: Float[Tensor, "n K ..."], batch: Batch) -> Float[Tensor, ""]:
    """Return the mean loss of a batch, with class weights.

    Args:
        outputs: Logits, or regression values; (n, K, h, w) on a grid.

    Raises:
        DataError: As in `task_loss`.
    """
    return task_loss(outputs, batch.drawn, batch.weights)


def class_weights(labels: Tensor, n_outputs: int) -> Float[Tensor, "..."]:
    """Return weights that give every class the same total over all training examples.

    Args:
        labels: All training labels: int64 classes (N,), or booleans (N, K).

    Returns:
        N / (K n_c) for each class, with the K classes that occur, and 0 for others, shape (n_outputs,); or, for several
        labels, N / (2 n) for its absence and its presence, shape (2, n_outputs), and 1 for a label that all examples
        have, or none. The weights of all examples have mean 1.

    Raises:
        DataError: The labels are numbers.
    """
    if labels.is_floating_point():
        raise wrong_shape(
            "labels for class weights", labels, "whole numbers for classes, or booleans for several labels"
        )
    n = len(labels)
    if labels.dtype == torch.bool:
        counts = torch.stack([(~labels).sum(dim=0), labels.sum(dim=0)])
        return torch.where((counts == 0).any(dim=0), 1.0, n / (2 * counts.clamp(min=1)))
    counts = torch.bincount(labels, minlength=n_outputs)
    occur = int((counts > 0).sum())
    return torch.where(counts > 0, n / (occur * counts.clamp(min=1)), 0.0)


def weights_in(training: TrainingSettings, data: TensorSet) -> Float[Tensor, "..."] | None:
    """Return the class weights of a data set; None if unused, and for numeric labels."""
    if training.class_weights == "none" or data.labels.is_floating_point():
        return None
    return class_weights(data.labels, data.n_outputs)


def example_weights(labels: Tensor, weights: Float[Tensor, "..."]) -> Float[Tensor, "n ..."]:
    """Return the weight of each example, (n,), or of each of its several labels, (n, K), from `class_weights`."""
    return torch.where(labels, weights[1], weights[0]) if labels.dtype == torch.bool else weights[labels.long()]


def check_targets(targets: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse targets of another shape, since (n,) and (n, 1) would be broadcast.

    Raises:
        DataError: The shapes differ.
    """
    if tuple(targets.shape) != shape:
        raise wrong_shape("targets", targets, f"numbers of the outputs' shape {shape}")


def encode(labels: Tensor, n_outputs: int) -> Float[Tensor, "n K"]:
    """Return labels as float32 targets of a squared loss.

    Classes become e_c - 1/K, the natural form for K classes of the code "e_c - 0.1" that MeRLin (Liu et al. 2020,
    section A.3) uses for ten, and several labels y - 1/2, its form for two classes, so that an output above 0 says that
    an input has the label; regression targets stay as they are.

    Args:
        labels: int64 classes (n,), booleans (n, K), or float targets (n, K).

    Raises:
        DataError: Booleans or regression targets are not of shape (n, K).
    """
    if labels.dtype == torch.bool:
        check_targets(labels, (len(labels), n_outputs))
        return labels.to(torch.float32) - 0.5
    if not labels.is_floating_point():
        return F.one_hot(labels.long(), n_outputs).to(torch.float32) - 1.0 / n_outputs
    check_targets(labels, (len(labels), n_outputs))
    return labels
