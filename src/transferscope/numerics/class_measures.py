"""Metrics of predicted classes that are not means over examples, with the contribution of each example.

With P_kj the share of the examples of class k that are predicted to be of class j, t_k = sum_j P_kj, p_j = sum_k P_kj
and c = sum_k P_kk, over the K classes that occur among the labels,

    balanced accuracy   (1 / K) sum_k P_kk / t_k
    macro F1            (1 / K) sum_k 2 P_kk / (t_k + p_k)
    Matthews            (c - sum_k t_k p_k) / sqrt((1 - sum_k p_k^2)(1 - sum_k t_k^2)), 0 where the denominator is 0

(Brodersen et al., "The balanced accuracy and its posterior distribution", ICPR 2010; Gorodkin, "Comparing two
K-category assignments by a K-category correlation coefficient", 2004, which is Matthews' correlation for K = 2). They
are those of scikit-learn, `f1_score` with `labels` those that occur in the test set, so that all predictions are judged
by the same classes. All are functions of P that do not change when P is multiplied by a number (1 stands for its sum),
and their linearisation gives the contribution of an example: f + df/dP_kj for one of class k that is predicted to be of
class j. The mean of the contributions is f, their standard deviation over sqrt(N) is its standard error over test
examples, and differences between two sets of predictions of the same examples are paired example by example.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeGuard, get_args

import numpy as np
from jaxtyping import Float, Int, Shaped

from transferscope.estimate import Estimate

ClassMeasure = Literal["balanced_accuracy", "macro_f1", "matthews"]
CLASS_MEASURES: tuple[ClassMeasure, ...] = get_args(ClassMeasure)


def is_class_measure(record: str) -> TypeGuard[ClassMeasure]:
    """Return whether a record is one of these metrics."""
    return record in CLASS_MEASURES


def class_measure(
    name: ClassMeasure, predictions: Shaped[np.ndarray, " N"], labels: Shaped[np.ndarray, " N"]
) -> Estimate:
    """Return a metric with its standard error over examples; no standard error for a single example.

    Args:
        labels: The true ones; at least one example.
    """
    shares, n = example_contributions(name, predictions, labels), len(labels)
    return Estimate(float(shares.mean()), float(shares.std(ddof=1)) / n**0.5 if n > 1 else None, n)


def example_contributions(
    name: ClassMeasure, predictions: Shaped[np.ndarray, " N"], labels: Shaped[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """Return one number per example: their mean is the metric, their sd / sqrt(N) its standard error.

    Args:
        labels: The true ones; at least one example.
    """
    (shares,), true, (predicted,) = confusion([predictions], labels)
    value, slope = value_and_slope(name, shares)
    return np.asarray(value + slope[true, predicted], dtype=np.float64)


def confusion(
    runs: Sequence[Shaped[np.ndarray, " N"]], labels: Shaped[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "R C C"], Int[np.ndarray, " N"], Int[np.ndarray, "R N"]]:
    """Return P of each run, and the class indices of the true and predicted labels.

    Args:
        runs: Predicted classes of each run; at least one run.
        labels: The true ones; at least one example.
    """
    classes, places = np.unique(np.concatenate([labels, *runs]), return_inverse=True)
    of_all, n = places.reshape(-1, len(labels)), len(classes)
    true, predicted = of_all[0], of_all[1:]
    counts = [np.bincount(true * n + of_run, minlength=n**2).reshape(n, n) for of_run in predicted]
    return np.stack(counts) / len(labels), true, predicted


def value_and_slope(name: ClassMeasure, shares: Float[np.ndarray, "C C"]) -> tuple[float, Float[np.ndarray, "C C"]]:
    """Return a metric at P, and its derivatives along the entries of P."""
    return _MEASURES[name](shares)


_Sloped = tuple[float, Float[np.ndarray, "C C"]]


def _balanced_accuracy(shares: Float[np.ndarray, "C C"]) -> _Sloped:
    true, occurs = shares.sum(axis=1), shares.sum(axis=1) > 0
    size = np.where(occurs, true, 1.0)
    recalls = np.diag(shares) / size
    slope = (np.eye(len(shares)) - recalls[:, None]) / size[:, None] / occurs.sum()
    return float(recalls[occurs].mean()), slope


def _macro_f1(shares: Float[np.ndarray, "C C"]) -> _Sloped:
    true, predicted = shares.sum(axis=1), shares.sum(axis=0)
    occurs = true > 0
    size = np.where(occurs, true + predicted, 1.0)
    each = np.where(occurs, 2 * np.diag(shares) / size, 0.0)
    fall = np.where(occurs, each / size, 0.0)  # an example of the class or predicted to be of it makes each fall so
    slope = 2 * np.diag(occurs / size) - fall[:, None] - fall[None, :]
    return float(each[occurs].mean()), slope / occurs.sum()


def _matthews(shares: Float[np.ndarray, "C C"]) -> _Sloped:
    true, predicted, right = shares.sum(axis=1), shares.sum(axis=0), float(np.trace(shares))
    among_true, among_predicted = 1 - float(true @ true), 1 - float(predicted @ predicted)
    if min(among_true, among_predicted) < 1e-12:  # one class alone
        return 0.0, np.zeros_like(shares)
    size = (among_true * among_predicted) ** 0.5
    value = (right - float(true @ predicted)) / size
    rise = np.eye(len(shares)) + right - predicted[:, None] - true[None, :]
    growth = (1 - true)[:, None] / among_true + (1 - predicted)[None, :] / among_predicted
    return value, rise / size - value * growth


_MEASURES: dict[str, Callable[[Float[np.ndarray, "C C"]], _Sloped]] = {
    "balanced_accuracy": _balanced_accuracy,
    "macro_f1": _macro_f1,
    "matthews": _matthews,
}
