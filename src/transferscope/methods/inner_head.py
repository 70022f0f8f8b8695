"""The inner problem of MeRLin: a target head as a differentiable function of features.

Everything here is computed in at least float32, whatever mixed precision the caller trains in: under bfloat16 products
theta is off by 10 to 25 %, and its factorisation fails.
"""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transferscope.training import Batch, encode, example_weights, task_loss
from transferscope.training.tensors import sent

RIDGE_GRID = tuple(10.0 ** (step / 2 - 3) for step in range(10))
"""Values of lambda that `choose_ridge` tries, in units of trace(X X^T) / n."""


@dataclass(frozen=True)
class InnerHead:
    """A linear head fitted to some examples.

    Attributes:
        theta: Weights (m, K).
        bias: (K,); None for a head without one.
        risk: Leave-one-out risk relative to that of predicting the mean target: near 0 if the head generalises, 1 or
            above if it does not. NaN if not computed or undefined.
    """

    theta: Float[Tensor, "m K"]
    bias: Float[Tensor, " K"] | None
    risk: Float[Tensor, ""]

    def __call__(self, features: Float[Tensor, "n m"]) -> Float[Tensor, "n K"]:
        """Return outputs, in the precision of theta."""
        with _full_precision(features):
            outputs = features.to(self.theta.dtype) @ self.theta
            return outputs if self.bias is None else outputs + self.bias


@dataclass(frozen=True)
class Goal:
    """The target of a head's fit or evaluation.

    Attributes:
        labels: int64 classes (n,), booleans (n, K) or float targets (n, K).
        targets: The same as targets of a squared loss, (n, K).
        weights: Weights of the squares, (n, 1), or (n, K) for several labels; None for 1.
    """

    labels: Tensor
    targets: Float[Tensor, "n K"]
    weights: Float[Tensor, "n L"] | None = None

    @classmethod
    def of(cls, batch: Batch, n_outputs: int) -> Self:
        """Return the goal of a batch."""
        targets = encode(batch.drawn, n_outputs)
        if batch.weights is None:
            return cls(batch.drawn, targets)
        weights = example_weights(batch.drawn, batch.weights).to(targets).reshape(len(targets), -1)
        return cls(batch.drawn, targets, weights)

    def part(self, where: slice) -> "Goal":
        """Return the goal of some of the examples."""
        weights = None if self.weights is None else self.weights[where]
        return Goal(self.labels[where], self.targets[where], weights)

    def squared_loss(self, outputs: Float[Tensor, "n K"]) -> Float[Tensor, ""]:
        """Return the squared error, summed over outputs and averaged over examples."""
        squares = (outputs - self.targets).square()
        return (squares if self.weights is None else self.weights * squares).sum(dim=1).mean()


def choose_ridge(
    centred: Float[Tensor, "n m"], targets: Float[Tensor, "n K"], parts: Float[Tensor, " n"] | None = None
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Choose lambda of `RIDGE_GRID` by leave-one-out error in closed form, the mean taken without the example left out.

    With X X^T = V diag(w) V^T and s_j = lambda / (w_j + lambda), the residuals R = V diag(s) V^T T and
    d_i = sum_j V_ij^2 s_j - 1/n give the error R_i / d_i of the head that was fitted without example i. Computed in
    float64 from the smaller of X X^T and X^T X; nothing is differentiated. The eigenvalues alone wait for a GPU.

    Args:
        centred: X, features less their mean.
        targets: T, targets less their mean.
        parts: Share of each example in the mean; None for 1/n, where nothing is weighted. Of a weighted problem X and T
            are less the weighted means, and their rows times the root of the weight.

    Returns:
        lambda, NaN where the features are not finite; and the risk as in `InnerHead`, NaN for fewer than 2 examples and
        for targets that are all the same.
    """
    exact = torch.device("cpu") if centred.device.type == "mps" else centred.device  # which has no float64
    x, t = centred.detach().to(exact, torch.float64), targets.detach().to(exact, torch.float64)
    n, m = x.shape
    gram = x @ x.T if n <= m else x.T @ x
    trace = gram.trace()
    fallback = torch.where(torch.isfinite(trace), 1.0, torch.nan)
    if n < 2:
        return fallback.to(centred), torch.full_like(fallback, torch.nan).to(centred)
    known = torch.isfinite(gram).all() & torch.isfinite(t).all() & (trace > 0)
    w, v = torch.linalg.eigh(torch.where(known, gram, torch.eye(len(gram), dtype=gram.dtype, device=exact)))
    w = w.clamp(min=0)
    p = v * w.sqrt() if n <= m else x @ v  # (n, min(n, m)), X X^T = P P^T
    grid = sent(torch.tensor(RIDGE_GRID, dtype=torch.float64), exact) * trace / n  # (g,)
    shrunk = 1 / (w + grid[:, None])  # (g, min(n, m))
    residuals = t - p @ (shrunk[:, :, None] * (p.T @ t))  # (g, n, K)
    part = torch.full((n,), 1 / n, dtype=torch.float64, device=exact) if parts is None else parts.to(x)
    d = 1 - part - shrunk @ p.square().T  # (g, n)
    risks = (residuals / d[:, :, None]).square().sum(dim=2).mean(dim=1)  # (g,)
    best = risks.argmin(dim=0, keepdim=True)
    of_the_mean = (t / (1 - part)[:, None]).square().sum(dim=1).mean()
    ridge, risk = grid.gather(0, best)[0], risks.gather(0, best)[0] / of_the_mean
    return torch.where(known, ridge, fallback).to(centred), torch.where(known, risk, torch.nan).to(centred)


def leave_one_out_head(
    features: Float[Tensor, "n m"], targets: Float[Tensor, "n K"], weights: Float[Tensor, "n L"] | None = None
) -> InnerHead:
    """Return the ridge head with a bias on centred features, its lambda chosen by leave-one-out error.

    X = H - 1 mu^T and T = Y - 1 ybar^T; theta = X^T (X X^T + lambda I)^-1 T, bias = ybar - theta^T mu. Differentiable
    in features and targets with lambda held constant; computed in float64 (in float32 on a device without it). Of a
    weighted problem the means are weighted, and the rows of X and T are multiplied by the root of the weight.

    Args:
        weights: Weights of the squares, (n, 1), or (n, K) for a problem of its own for each output; None for 1.

    Returns:
        The head; NaN where the features are not finite. Of one example it is that target, of none zero.
    """
    with _full_precision(features):
        exact = _exact(features)
        features, targets = features.to(exact), targets.to(exact)
        if weights is not None and weights.shape[1] > 1:
            columns = zip(targets.T, weights.T, strict=True)
            heads = [leave_one_out_head(features, t[:, None], w[:, None]) for t, w in columns]
            biases = torch.cat([head.bias for head in heads if head.bias is not None])
            risk = torch.stack([head.risk for head in heads]).mean()
            return InnerHead(torch.cat([head.theta for head in heads], dim=1), biases, risk)
        if weights is not None:
            weights = weights.to(exact)
            parts = weights / weights.sum()
            mu, ybar = ((parts * rows).sum(dim=0) for rows in (features, targets))
            x, t = (weights.sqrt() * rows for rows in (features - mu, targets - ybar))
            ridge, risk = choose_ridge(x, t, parts[:, 0])
        else:
            mu, ybar = (rows.sum(dim=0) / max(len(rows), 1) for rows in (features, targets))
            x, t = features - mu, targets - ybar
            ridge, risk = choose_ridge(x, t)
        theta = ridge_head(x, t, ridge)
        return InnerHead(theta, ybar - mu @ theta, risk)


def ridge_head(
    features: Float[Tensor, "n m"], targets: Float[Tensor, "n K"], ridge: float | Float[Tensor, ""]
) -> Float[Tensor, "m K"]:
    """Return the head theta = H^T (H H^T + lambda I)^-1 Y, lambda > 0, which minimises ||H theta - Y||^2 + lambda
    ||theta||^2.

    Equation 7 and Algorithm 2 of "Meta-learning Transferable Representations with a Single Target Domain" (Liu et al.
    2020), with the factor H^T that is missing there. When m < n the equal form (H^T H + lambda I)^-1 H^T Y is solved.
    Differentiable in features and targets; solved by Cholesky factorisation in at least float32.

    Returns:
        theta; NaN where the factorisation fails (features that are not finite, or lambda too small for them).
    """
    with _full_precision(features):
        features = features.float() if features.dtype != torch.float64 else features
        n, m = features.shape
        if n <= m:
            return features.T @ _solve(features @ features.T, targets, ridge)
        return _solve(features.T @ features, features.T @ targets.to(features.dtype), ridge)


def weighted_ridge_head(
    features: Float[Tensor, "n m"],
    targets: Float[Tensor, "n K"],
    ridge: float,
    weights: Float[Tensor, "n L"] | None = None,
) -> Float[Tensor, "m K"]:
    """Return the `ridge_head` of a weighted squared error; arguments as there and in `leave_one_out_head`."""
    if weights is None:
        return ridge_head(features, targets, ridge)
    roots = weights.sqrt()
    if roots.shape[1] == 1:
        return ridge_head(roots * features, roots * targets, ridge)
    columns = zip(roots.T, targets.T, strict=True)
    return torch.cat([ridge_head(r[:, None] * features, (r * t)[:, None], ridge) for r, t in columns], dim=1)


def _solve(
    gram: Float[Tensor, "k k"], right: Float[Tensor, "k K"], ridge: float | Float[Tensor, ""]
) -> Float[Tensor, "k K"]:
    factor, failed = torch.linalg.cholesky_ex(gram + ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
    solution = torch.cholesky_solve(right.to(gram.dtype), factor)
    return torch.where(failed > 0, torch.nan, solution)


def unrolled_head(
    features: Float[Tensor, "n m"], labels: Tensor, targets: Float[Tensor, "n K"], *, ridge: float, steps: int
) -> Float[Tensor, "m K"]:
    """Return the head after some differentiable steps of gradient descent from zero.

    Algorithm 1 of Liu et al. (2020). Cross-entropy (mean over examples, and summed over labels where an input has
    several) plus (lambda / 2n) ||theta||^2 for classes; for regression (1/2n) ||H theta - Y||^2 plus the same penalty,
    whose minimiser is `ridge_head`. Steps have the size of the inverse of the loss's largest curvature, at which
    descent cannot diverge.

    Args:
        labels: int64 classes (n,): cross-entropy; booleans (n, K): binary cross-entropy; float targets: squared
            loss.
        targets: Y of the squared loss; gives K.
        ridge: lambda, above 0.
    """
    with _full_precision(features):
        features = features.float() if features.dtype != torch.float64 else features
        n = len(features)
        is_classes = labels.dtype == torch.int64
        several = labels.dtype == torch.bool
        lr = _safe_step(features.detach(), ridge, 0.5 if is_classes else 0.25 if several else 1.0)
        theta = features.new_zeros(features.shape[1], targets.shape[1])
        for _ in range(steps):
            outputs = features @ theta
            if is_classes:
                residual = outputs.softmax(dim=1) - F.one_hot(labels, targets.shape[1])
            else:
                residual = outputs.sigmoid() - labels.to(outputs.dtype) if several else outputs - targets
            theta = theta - lr * (features.T @ residual + ridge * theta) / n
        return theta


def finished_head(
    features: Float[Tensor, "n m"], labels: Tensor, targets: Float[Tensor, "n K"], *, ridge: float
) -> Float[Tensor, "m K"]:
    """Return the limit of `unrolled_head` with more steps: the minimiser of its loss, by L-BFGS, as a constant."""
    if labels.dtype not in (torch.int64, torch.bool):
        return ridge_head(features, targets, ridge)
    summed = targets.shape[1] if labels.dtype == torch.bool else 1
    place = "cpu" if features.device.type == "mps" else features.device  # once, and in float64, which MPS has not
    with _full_precision(features), torch.enable_grad():
        own, wanted = features.detach().to(place).double(), labels.to(place)
        theta = own.new_zeros(own.shape[1], targets.shape[1], requires_grad=True)
        descent = torch.optim.LBFGS(
            [theta], max_iter=1000, tolerance_grad=1e-6, tolerance_change=1e-12, line_search_fn="strong_wolfe"
        )

        def loss() -> Tensor:
            descent.zero_grad()
            value = summed * task_loss(own @ theta, wanted) + ridge / (2 * len(own)) * theta.square().sum()
            value.backward()  # type: ignore[no-untyped-call]
            return value

        descent.step(loss)  # type: ignore[no-untyped-call]
        return theta.detach().to(_exact(features)).to(features.device)


def _exact(features: Tensor) -> torch.dtype:
    return torch.float32 if features.device.type == "mps" else torch.float64


def _safe_step(features: Float[Tensor, "n m"], ridge: float, curvature: float) -> float:
    n, m = features.shape
    gram = features @ features.T if n <= m else features.T @ features
    if not torch.isfinite(gram).all():
        return float("nan")  # the loss will say so
    largest = float(torch.linalg.eigvalsh(gram)[-1])
    return n / (curvature * largest + ridge)


def _full_precision(features: Tensor) -> torch.autocast:
    return torch.autocast(features.device.type, enabled=False)
