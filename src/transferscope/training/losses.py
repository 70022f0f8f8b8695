"""Losses by kind of label."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transferscope.data.task import UNLABELLED
from transferscope.errors import DataError


def task_loss(outputs: Float[Tensor, "n K ..."], labels: Tensor) -> Float[Tensor, ""]:
    """Mean loss of a batch, by the type of its labels.

    Cross-entropy for classes, binary cross-entropy of each label on its own for several labels of each input, mean
    squared error for regression targets. On a grid, the same of each cell; cells without a label are left out.

    Args:
        outputs: Logits, or regression values; (n, K, h, w) on a grid.
        labels: int64 classes (n,) or (n, h, w), truth values (n, K), or float targets (n, K) or (n, K, h, w).

    Returns:
        The mean over examples and cells (and over outputs, for several labels and in regression).

    Raises:
        DataError: Truth values or regression targets are not of the shape of the outputs.
    """
    if labels.dtype == torch.bool:
        check_targets(labels, tuple(outputs.shape))
        return F.binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype))
    if labels.ndim == 3:
        n_labelled = (labels != UNLABELLED).sum()
        return F.cross_entropy(outputs, labels.long(), ignore_index=UNLABELLED, reduction="sum") / n_labelled
    if not labels.is_floating_point():
        return F.cross_entropy(outputs, labels.long())
    check_targets(labels, tuple(outputs.shape))
    return F.mse_loss(outputs, labels)


def check_targets(targets: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse targets of another shape: (n,) against (n, 1) would be compared each with each.

    Args:
        targets: What outputs are compared with.
        shape: Of the outputs.

    Raises:
        DataError: The shapes differ.
    """
    if tuple(targets.shape) != shape:
        raise DataError(
            f"targets have shape {tuple(targets.shape)} and outputs {shape}; give one target for each "
            "example and output, as in labels of shape (n, 1) for one output"
        )


def encode(labels: Tensor, n_outputs: int) -> Float[Tensor, "n K"]:
    """Labels as targets of a squared loss.

    Classes become e_c - 1/K, the natural form for K classes of the code "e_c - 0.1" that MeRLin (Liu et al. 2020,
    section A.3) uses for ten, and several labels y - 1/2, its form for two classes, so that an output above 0 says that
    an input has the label; regression targets stay as they are.

    Args:
        labels: int64 classes (n,), truth values (n, K), or float targets (n, K).
        n_outputs: K.

    Returns:
        float32 targets.

    Raises:
        DataError: Truth values or regression targets are not of shape (n, K).
    """
    if labels.dtype == torch.bool:
        check_targets(labels, (len(labels), n_outputs))
        return labels.to(torch.float32) - 0.5
    if not labels.is_floating_point():
        return F.one_hot(labels.long(), n_outputs).to(torch.float32) - 1.0 / n_outputs
    check_targets(labels, (len(labels), n_outputs))
    return labels
