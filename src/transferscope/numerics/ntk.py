"""Kernel of infinitely wide two-layer ReLU networks, and its predictions for transfer between two labelled sets.

Source: "Towards Understanding the Transferability of Deep Representations", section 6 (Theorems 1 and 2). The network
is f(x) = a' relu(W' x) / sqrt(m) with a fixed random signs and W trained; the width m tends to infinity.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transferscope.errors import DataError
from transferscope.estimate import Estimate

RIDGE = 1e-6
"""Default ridge, relative to the mean of the diagonal of the Gram matrix."""

CHECK_RIDGE = 1e-4
"""Second ridge at which every value is computed, to test whether it depends on the choice."""

TOLERATED_CHANGE = 0.05
"""Relative change between the two ridges above which a value counts as not identified."""


@dataclass(frozen=True)
class KernelExamples:
    """Distinct unit-norm inputs with their labels.

    Attributes:
        inputs: Shape (n, d), distinct rows of norm 1.
        labels: Shape (n, K); the mean over the examples that share an input.
    """

    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, "n K"]


@dataclass(frozen=True)
class KernelTransfer:
    """Predictions of the infinite-width kernel about transfer from P to Q.

    All estimates are exact values of a closed form (stderr 0, n 0) unless their status says otherwise: "not_identified"
    when they change by more than 5 % between the two ridges (conflicting duplicates, antipodal inputs), "undefined"
    when a Gram matrix is singular and no ridge was allowed.

    Attributes:
        transformed_labels: y_PQ = H_PQ' H_P^-1 y_P, shape (n_Q, K), in the order of `target.inputs`.
        task_distance: ||y_Q - y_PQ||, in the unit of the labels.
        gradient_change: ||y_Q - y_PQ||^2 - ||y_Q||^2: change of the squared norm of the loss's gradient with respect to
            the activations that pretraining brings (Theorem 1); negative is smoother.
        deviation_transfer: sqrt((y_Q - y_PQ)' H_Q^-1 (y_Q - y_PQ)), the bound of Theorem 2 on ||W(Q) - W(P)||_F.
        deviation_scratch: sqrt(y_Q' H_Q^-1 y_Q), the same bound from random initialisation.
    """

    transformed_labels: Float[np.ndarray, "n_Q K"]
    task_distance: Estimate
    gradient_change: Estimate
    deviation_transfer: Estimate
    deviation_scratch: Estimate
    target: KernelExamples


def relu_gram(
    inputs: Float[np.ndarray, "n d"], others: Float[np.ndarray, "p d"] | None = None
) -> Float[np.ndarray, "n _"]:
    """Return the infinite-width Gram matrix of a two-layer ReLU network.

        H_ij = x_i.x'_j (pi - arccos u_ij) / (2 pi),    u_ij = x_i.x'_j / (||x_i|| ||x'_j||)

    Args:
        inputs: Shape (n, d), float64. On unit-norm rows this is the paper's H (section 6.1).
        others: Shape (p, d); None for the symmetric matrix of `inputs` with themselves.

    Returns:
        H, shape (n, p), float64. Its symmetric form is positive semi-definite, and singular with equal rows or with
        more than d antipodal pairs.
    """
    products = inputs @ (inputs if others is None else others).T
    norms = np.linalg.norm(inputs, axis=1)
    other_norms = norms if others is None else np.linalg.norm(others, axis=1)
    scale = np.outer(norms, other_norms)
    cosines = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0).clip(-1.0, 1.0)
    gram: np.ndarray = products * (np.pi - np.arccos(cosines)) / (2 * np.pi)
    if others is None:
        np.fill_diagonal(gram, norms**2 / 2)
    return gram


def solve_gram(
    gram: Float[np.ndarray, "n n"], labels: Float[np.ndarray, "n K"], *, ridge: float
) -> Float[np.ndarray, "n K"]:
    """Solve (H + ridge (tr H / n) I) x = y by Cholesky decomposition; NaN if the matrix is not positive definite."""
    from scipy import linalg  # takes long, and a study without this diagnostic needs none

    shifted = gram + ridge * gram.trace() / len(gram) * np.eye(len(gram))
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(shifted, lower=True), labels))
    except linalg.LinAlgError:
        return np.full_like(labels, np.nan)


def kernel_examples(inputs: Float[np.ndarray, "N ..."], labels: Float[np.ndarray, "N K"]) -> KernelExamples:
    """Return unit-norm inputs with exact duplicates merged, as the theorems require.

    Args:
        inputs: Shape (N, ...), flattened to (N, d); rows must not be zero.
        labels: Shape (N, K); the theorems assume entries in [-1, 1].

    Returns:
        The distinct examples, in order of their first appearance.

    Raises:
        DataError: An input is zero, so that it has no direction.
    """
    rows = inputs.reshape(len(inputs), -1).astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if (norms == 0).any():
        zero = np.flatnonzero(norms[:, 0] == 0)
        raise DataError(
            f"{len(zero)} of {len(rows)} inputs are zero (first: {zero[0]}), for which the kernel is undefined; drop "
            "them"
        )
    rows, labels = rows / norms, labels.astype(np.float64)
    _, first, group = np.unique(rows.round(12), axis=0, return_index=True, return_inverse=True)
    group = first.argsort().argsort()[group.reshape(-1)]  # groups numbered by first appearance
    sums = np.zeros((len(first), labels.shape[1]))
    np.add.at(sums, group, labels)
    return KernelExamples(rows[np.sort(first)], sums / np.bincount(group)[:, None])


def kernel_transfer(source: KernelExamples, target: KernelExamples, *, ridge: float = RIDGE) -> KernelTransfer:
    """Return transformed labels, task distance and the leading terms of Theorems 1 and 2.

    The theorems hold for wide networks from small symmetric initialisation, trained by gradient descent on half the
    sum of squares; several outputs are summed over (Frobenius norms).

    Args:
        ridge: Relative ridge of every solve, at least 0; values are computed at `CHECK_RIDGE` too, and marked
            "not_identified" if that moves them by more than 5 % (skipped when `ridge` is 0).

    Raises:
        DataError: Inputs or labels of the two have different widths.
    """
    if source.inputs.shape[1] != target.inputs.shape[1] or source.labels.shape[1] != target.labels.shape[1]:
        raise DataError(
            f"source inputs and labels have widths {source.inputs.shape[1]} and {source.labels.shape[1]}, but those "
            f"of the target {target.inputs.shape[1]} and {target.labels.shape[1]}; expected the same"
        )
    of_source, of_target = relu_gram(source.inputs), relu_gram(target.inputs)
    cross = relu_gram(source.inputs, target.inputs)

    def leading_terms(ridge: float) -> tuple[Float[np.ndarray, "n_Q K"], dict[str, float]]:
        transformed = cross.T @ solve_gram(of_source, source.labels, ridge=ridge)
        residual = target.labels - transformed
        return transformed, {
            "task_distance": float(np.linalg.norm(residual)),
            "gradient_change": float((residual**2).sum() - (target.labels**2).sum()),
            "deviation_transfer": _kernel_norm(of_target, residual, ridge),
            "deviation_scratch": _kernel_norm(of_target, target.labels, ridge),
        }

    transformed, terms = leading_terms(ridge)
    _, checks = leading_terms(CHECK_RIDGE if ridge > 0 else ridge)
    estimates = {name: _exact(value, checks[name]) for name, value in terms.items()}
    return KernelTransfer(transformed, **estimates, target=target)


def _kernel_norm(gram: np.ndarray, labels: np.ndarray, ridge: float) -> float:
    return float(np.sqrt(np.sum(labels * solve_gram(gram, labels, ridge=ridge)).clip(min=0.0)))


def _exact(value: float, check: float) -> Estimate:
    if not np.isfinite(value):
        return Estimate.missing("undefined", 0)
    changes = abs(value - check) > TOLERATED_CHANGE * max(abs(value), abs(check))
    return Estimate(value, 0.0, 0, "not_identified" if changes else "ok")
