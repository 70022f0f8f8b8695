"""Losses by kind of label."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transferscope.errors import DataError


def task_loss(outputs: Float[Tensor, "n K"], labels: Tensor) -> Float[Tensor, ""]:
    """Mean loss of a batch: cross-entropy for class labels, mean squared error for regression targets.

    Args:
        outputs: Logits, or regression values.
        labels: int64 classes (n,), or float targets (n, K).

    Returns:
        The mean over examples (and over outputs, in regression).

    Raises:
        DataError: Regression targets are not of the shape of the outputs.
    """
    if not labels.is_floating_point():
        return F.cross_entropy(outputs, labels.long())
    check_targets(labels, tuple(outputs.shape))
    return F.mse_loss(outputs, labels)


def check_targets(targets: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse regression targets of another shape: (n,) against (n, 1) would be compared each with each.

    Args:
        targets: What outputs are compared with.
        shape: Of the outputs.

    Raises:
        DataError: The shapes differ.
    """
    if tuple(targets.shape) != shape:
        raise DataError(
            f"regression targets have shape {tuple(targets.shape)} and outputs {shape}; give one target for each "
            "example and output, as in labels of shape (n, 1) for one output"
        )


def encode(labels: Tensor, n_outputs: int) -> Float[Tensor, "n K"]:
    """Labels as targets of a squared loss.

    Classes become e_c - 1/K, the natural form for K classes of the code "e_c - 0.1" that MeRLin (Liu et al. 2020,
    section A.3) uses for ten; regression targets stay as they are.

    Args:
        labels: int64 classes (n,), or float targets (n, K).
        n_outputs: K.

    Returns:
        float32 targets.

    Raises:
        DataError: Regression targets are not of shape (n, K).
    """
    if not labels.is_floating_point():
        return F.one_hot(labels.long(), n_outputs).to(torch.float32) - 1.0 / n_outputs
    check_targets(labels, (len(labels), n_outputs))
    return labels
