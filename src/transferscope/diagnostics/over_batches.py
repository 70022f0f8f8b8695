"""Means over batches of examples, with the standard error that the spread over batches implies."""

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.estimate import Estimate


def batch_shares(n: int, batch_size: int) -> Float[Tensor, " B"]:
    """Share of n examples that lies in each of the consecutive batches of `batch_size`, float64."""
    starts = torch.arange(0, n, batch_size)
    return (n - starts).clamp_max(batch_size).double() / n


def mean_over_batches(samples: Float[Tensor, " B"], weights: Float[Tensor, " B"], n: int) -> Estimate:
    """Weighted mean over batches, with the standard error that their spread implies.

        m = sum_b w_b s_b,    stderr^2 = sum_b w_b (s_b - m)^2 / (B - 1)

    The value of a batch of n_b examples varies by sigma^2 / n_b, so this is an unbiased estimate of the variance of m
    whatever the sizes, and m +- t_{B - 1} stderr covers as a t-interval does; a short last batch counts as it should.

    Args:
        samples: One value per batch, shape (B,).
        weights: Shares of the examples, shape (B,), sum 1.
        n: Number of examples behind all of it.

    Returns:
        The estimate; stderr None for one batch, status "non_finite" if a sample is.
    """
    if not torch.isfinite(samples).all():
        return Estimate(float("nan"), None, n, "non_finite")
    mean = (weights * samples).sum()
    if len(samples) == 1:
        return Estimate(float(mean), None, n)
    variance = (weights * (samples - mean).square()).sum() / (len(samples) - 1)
    return Estimate(float(mean), float(variance.sqrt()), n)
