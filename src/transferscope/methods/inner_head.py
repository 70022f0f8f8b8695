"""The inner problem of MeRLin: a target head as a differentiable function of features."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def ridge_head(features: Float[Tensor, "n m"], targets: Float[Tensor, "n K"], ridge: float) -> Float[Tensor, "m K"]:
    """The head theta = H^T (H H^T + lambda I)^-1 Y, which minimises ||H theta - Y||^2 + lambda ||theta||^2.

    Equation 7 and Algorithm 2 of "Meta-learning Transferable Representations with a Single Target Domain" (Liu et al.
    2020), with the factor H^T that is missing there. When m < n the equal form (H^T H + lambda I)^-1 H^T Y is solved.
    Differentiable in features and targets; solved by Cholesky factorisation in at least float32.

    Args:
        features: H.
        targets: Y.
        ridge: lambda, above 0.

    Returns:
        theta; NaN where the factorisation fails (features that are not finite, or lambda too small for them).
    """
    features = features.float() if features.dtype != torch.float64 else features
    n, m = features.shape
    if n <= m:
        return features.T @ _solve(features @ features.T, targets, ridge)
    return _solve(features.T @ features, features.T @ targets, ridge)


def _solve(gram: Float[Tensor, "k k"], right: Float[Tensor, "k K"], ridge: float) -> Float[Tensor, "k K"]:
    factor, failed = torch.linalg.cholesky_ex(gram + ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
    solution = torch.cholesky_solve(right.to(gram.dtype), factor)
    return torch.where(failed > 0, torch.nan, solution)


def unrolled_head(
    features: Float[Tensor, "n m"],
    labels: Tensor,
    targets: Float[Tensor, "n K"],
    *,
    ridge: float,
    steps: int,
    lr: float | None,
) -> Float[Tensor, "m K"]:
    """The head after some steps of gradient descent from zero, with the steps differentiated through.

    Algorithm 1 of Liu et al. (2020). Cross-entropy (mean) plus (lambda / 2n) ||theta||^2 for classes; for regression
    (1/2n) ||H theta - Y||^2 plus the same penalty, whose minimiser is `ridge_head`.

    Args:
        features: H.
        labels: int64 classes (n,): cross-entropy; float targets: squared loss.
        targets: Y of the squared loss; gives K.
        ridge: lambda, above 0.
        steps: Gradient steps, at least 1.
        lr: Step size; None for the inverse of the loss's largest curvature, at which descent cannot diverge.

    Returns:
        theta.
    """
    n = len(features)
    is_classes = labels.dtype == torch.int64
    if lr is None:
        lr = _safe_step(features.detach(), ridge, 0.5 if is_classes else 1.0)
    theta = features.new_zeros(features.shape[1], targets.shape[1])
    for _ in range(steps):
        outputs = features @ theta
        residual = outputs.softmax(dim=1) - F.one_hot(labels, targets.shape[1]) if is_classes else outputs - targets
        theta = theta - lr * (features.T @ residual + ridge * theta) / n
    return theta


def _safe_step(features: Float[Tensor, "n m"], ridge: float, curvature: float) -> float:
    n, m = features.shape
    gram = features @ features.T if n <= m else features.T @ features
    if not torch.isfinite(gram).all():
        return float("nan")  # the loss will say so
    largest = float(torch.linalg.eigvalsh(gram)[-1])
    return n / (curvature * largest + ridge)
