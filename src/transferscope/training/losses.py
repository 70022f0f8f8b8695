"""Losses by kind of label."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def task_loss(outputs: Float[Tensor, "n K"], labels: Tensor) -> Float[Tensor, ""]:
    """Mean loss of a batch: cross-entropy for class labels, mean squared error for regression targets.

    Args:
        outputs: Logits, or regression values.
        labels: int64 classes (n,), or float targets (n, K).

    Returns:
        The mean over examples (and over outputs, in regression).
    """
    if labels.dtype == torch.int64:
        return F.cross_entropy(outputs, labels)
    return F.mse_loss(outputs, labels)


def encode(labels: Tensor, n_outputs: int) -> Float[Tensor, "n K"]:
    """Labels as targets of a squared loss.

    Classes become e_c - 1/K, the natural form for K classes of the code "e_c - 0.1" that MeRLin (Liu et al. 2020,
    section A.3) uses for ten; regression targets stay as they are.

    Args:
        labels: int64 classes (n,), or float targets (n, K).
        n_outputs: K.

    Returns:
        float32 targets.
    """
    if labels.dtype == torch.int64:
        return F.one_hot(labels, n_outputs).to(torch.float32) - 1.0 / n_outputs
    return labels
