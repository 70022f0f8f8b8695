"""Linear heads fitted to frozen features, in closed form or to convergence."""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import LabelledSet
from transferscope.errors import DataError, unsupported
from transferscope.methods.held_out import harm, labels_needed, stratified_folds
from transferscope.methods.ridge_fit import is_finite, ridge_fit
from transferscope.models.network import linear_of
from transferscope.numerics.leave_one_out import RIDGE_GRID
from transferscope.training import TensorSet, TrainingSettings, encode, example_weights, weights_in

LOGISTIC_PENALTIES, LOGISTIC_ITERATIONS = (1.0, 0.1), 1000
"""Penalties of logistic regression, on features at a mean squared distance of 1 from their mean, and its limit. With
weaker ones it is behind ridge regression on MRPC and RTE (docs/results/competence.md)."""

FOLDS, MOST_JUDGED = 5, 600
"""Folds for the choice among these, and most examples in them."""


Solver = Literal["ridge", "logistic"]


def probe_of(features: Float[Tensor, "N m"], train: TensorSet, training: TrainingSettings) -> nn.Linear:
    """Fit the ridge probe on features of all training examples, weighted as the training settings say."""
    weights = weights_in(training, train)
    each = None if weights is None else example_weights(train.labels, weights)
    return ridge_probe(features, train.labels, train.n_outputs, each)


def ridge_probe(
    features: Float[Tensor, "N m"], labels: Tensor, n_outputs: int, weights: Float[Tensor, "N ..."] | None = None
) -> nn.Linear:
    """Fit ridge regression on features, its penalty chosen by leave-one-out error in closed form.

    Args:
        labels: Classes (N,), regressed as e_c - 1/K, regression targets (N, K), or booleans (N, K) of several
            labels, regressed as y - 1/2.
        weights: Weights of the examples in the squared loss, (N,), or (N, K) for each of several labels, whose
            penalties are then chosen for each on its own; None for 1.
    """
    device, features = features.device, features.detach().cpu()
    if not is_finite(features):
        raise DataError(
            "the features of some examples are NaN or infinite, so no linear head can be fitted; check the network's "
            "weights and its input scaling"
        )
    targets = encode(labels, n_outputs).to("cpu", torch.float64).numpy()
    each = None if weights is None else weights.to("cpu", torch.float64).numpy()
    if each is None or each.ndim == 1:
        coefficients, intercepts = ridge_fit(features, targets, RIDGE_GRID, each)
    else:
        solutions = [ridge_fit(features, targets[:, k, None], RIDGE_GRID, each[:, k]) for k in range(n_outputs)]
        coefficients, intercepts = (np.concatenate(parts) for parts in zip(*solutions, strict=True))
    return linear_of(torch.from_numpy(coefficients), torch.from_numpy(intercepts), device=device)


def logistic_probe(
    features: Float[Tensor, "N m"], labels: Tensor, n_outputs: int, *, penalty: float, balanced: bool = False
) -> tuple[nn.Linear, bool]:
    """Fit multinomial logistic regression on features to convergence; one for each of several labels.

    Args:
        labels: Classes (N,); a class never seen gets the output -65504 (the lowest float16), so that it is never
            predicted. Or booleans (N, K) of several labels; one that all or no examples have gets the constant
            log((k + 1/2) / (N - k + 1/2)) of the k that have it.
        penalty: Strength of the L2 penalty on the weights, above 0, of features at a mean squared distance of 1 from
            their mean.
        balanced: Whether each class, or both values of each label, count the same, as in `class_weights`.

    Returns:
        The head, and whether the solver reached its tolerance.
    """
    several = labels.dtype == torch.bool
    present = torch.unique(labels).cpu().numpy()
    if not several and len(present) < 2:
        raise unsupported("logistic regression", "examples of at least 2 classes", f"there is {len(present)}")
    design = features.detach().to("cpu", torch.float64).numpy()
    mean = design.mean(axis=0)
    unit = np.sqrt(np.square(design - mean).sum(axis=1).mean()) or 1.0
    rows, basis = _in_their_span((design - mean) / unit)
    from sklearn.linear_model import LogisticRegression

    equal = "balanced" if balanced else None
    model = LogisticRegression(C=1.0 / penalty, max_iter=LOGISTIC_ITERATIONS, class_weight=equal)

    def solve(values: np.ndarray) -> np.ndarray:
        coefficients = model.fit(rows, values).coef_
        return np.asarray(coefficients if basis is None else coefficients @ basis) / unit

    weights = np.zeros((n_outputs, design.shape[1]))
    if several:
        biases, converged = np.zeros(n_outputs), True
        for k, column in enumerate(labels.cpu().numpy().T):
            if column.min() == column.max():
                biases[k] = np.log((column.sum() + 0.5) / ((~column).sum() + 0.5))
                continue
            weights[k] = solve(column)[0]
            biases[k] = model.intercept_[0] - weights[k] @ mean
            converged &= bool(model.n_iter_.max() < LOGISTIC_ITERATIONS)
        return linear_of(torch.from_numpy(weights), torch.from_numpy(biases), device=features.device), converged
    biases = np.full(n_outputs, float(np.finfo(np.float16).min))
    coefficients = solve(labels.cpu().numpy())
    intercepts = model.intercept_
    if len(present) == 2:
        coefficients = np.vstack([-coefficients, coefficients]) / 2
        intercepts = np.hstack([-intercepts, intercepts]) / 2
    weights[present] = coefficients
    biases[present] = intercepts - coefficients @ mean
    converged = bool(model.n_iter_.max() < LOGISTIC_ITERATIONS)
    return linear_of(torch.from_numpy(weights), torch.from_numpy(biases), device=features.device), converged


def _in_their_span(rows: Float[np.ndarray, "N m"]) -> tuple[Float[np.ndarray, "N r"], Float[np.ndarray, "r m"] | None]:
    """Return rows in an orthonormal basis of their span, and the basis; unchanged rows and None if that saves nothing.

    Weights under an L2 penalty lie in that span, so the fit is the same. The decomposition saves time with at most a
    third as many rows as columns.
    """
    if 3 * len(rows) > rows.shape[1] or not rows.any():
        return rows, None
    values, vectors = np.linalg.eigh(rows @ rows.T)
    lengths = np.sqrt(values.clip(min=0))
    nonzero = lengths > lengths[-1] * np.sqrt(len(rows) * np.finfo(np.float64).eps)
    lengths, vectors = lengths[nonzero], vectors[:, nonzero]
    return vectors * lengths, (vectors / lengths).T @ rows


@torch.no_grad()
def best_probe(
    features: Float[Tensor, "N m"],
    train: TensorSet,
    examples: LabelledSet,
    training: TrainingSettings,
    *,
    seed: int,
    usual: Solver = "ridge",
    standardises: bool = False,
    directions: bool = False,
) -> tuple[nn.Linear, Solver, bool]:
    """Fit ridge or logistic regression, whichever makes fewer errors over folds of the examples.

    Ridge regression has the penalty of least leave-one-out error, logistic regression one of LOGISTIC_PENALTIES.

    Args:
        usual: The model for ties, and with fewer labels than folds times classes; among logistic regressions, that with
            the largest penalty.
        standardises: Whether both are also tried on standardised features. On those of
            EfficientNet-lite0 and MiniLM it gains a quarter of a point (docs/results/competence.md).
        directions: Whether, with classes of which there are fewer labels than folds need, it is fitted to features
            scaled to length 1: logistic regression with the smallest penalty if each class has as many labels, else
            ridge regression. The head divides features by their mean length, so that it stays linear.

    Returns:
        The head; its kind, ridge regression for numbers and for a single class; and whether the solver converged.
    """
    weights = weights_in(training, train)
    several: list[tuple[bool, float | None]] = []  # standardised or not, and the penalty; None: ridge regression
    for standardised in (False, True)[: 1 + standardises]:
        of_logistic = [(standardised, penalty) for penalty in LOGISTIC_PENALTIES]
        several += [(standardised, None), *of_logistic] if usual == "ridge" else [*of_logistic, (standardised, None)]

    def fit(candidate: tuple[bool, float | None], rows: Int[Tensor, " n"]) -> tuple[nn.Linear, bool]:
        (standardised, penalty), seen, labels = candidate, features[rows], train.labels[rows]
        if standardised:
            mean, std = seen.mean(0), seen.std(0, correction=0)
            std[std == 0] = 1.0
            seen = (seen - mean) / std
        if penalty is None:
            each = None if weights is None else example_weights(labels, weights)
            head, converged = ridge_probe(seen, labels, train.n_outputs, each), True
        else:
            balanced = training.class_weights == "balanced"
            head, converged = logistic_probe(seen, labels, train.n_outputs, penalty=penalty, balanced=balanced)
        if standardised:
            head.weight.div_(std)
            head.bias.sub_(head.weight @ mean)
        return head, converged

    rows = np.unique(np.linspace(0, len(examples) - 1, min(len(examples), MOST_JUDGED)).round().astype(np.int64))
    few = examples.take(rows)
    of_classes = examples.kind == "multi-label" or (
        examples.classes is not None and few.labels.min() < few.labels.max()
    )
    best, length = several[0] if of_classes else (False, None), None
    if of_classes and len(few) >= labels_needed(few, FOLDS):
        errors = dict.fromkeys(several, 0.0)
        for fold in stratified_folds(few, FOLDS, seed=seed):
            left = torch.from_numpy(rows[fold.validate])
            for candidate in several:
                head, _ = fit(candidate, torch.from_numpy(rows[fold.fit]))
                errors[candidate] += len(left) * harm(head(features[left]), train.labels[left], weights)[0]
        best = min(several, key=lambda candidate: errors[candidate])
    elif directions and of_classes and examples.kind == "classification":
        length, features = features.norm(dim=1).mean(), F.normalize(features, dim=1)
        counts = examples.class_counts()
        if counts.min() == counts.max() and is_finite(features):  # of others ridge regression says what is wrong
            best = (False, LOGISTIC_PENALTIES[-1])
    head, converged = fit(best, torch.arange(len(train)))
    if length:
        head.weight.div_(length)
    return head, "ridge" if best[1] is None else "logistic", converged
