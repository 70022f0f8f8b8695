"""Measures of predicted classes that are no mean over examples, with the share that each example has in them.

With P_kj the share of the examples of class k that are predicted to be of class j, t_k = sum_j P_kj, p_j = sum_k P_kj
and c = sum_k P_kk, over the K classes that occur among the labels,

    balanced accuracy   (1 / K) sum_k P_kk / t_k
    macro F1            (1 / K) sum_k 2 P_kk / (t_k + p_k)
    Matthews            (c - sum_k t_k p_k) / sqrt((1 - sum_k p_k^2)(1 - sum_k t_k^2)), 0 where the denominator is 0

(Brodersen et al., "The balanced accuracy and its posterior distribution", ICPR 2010; Gorodkin, "Comparing two
K-category assignments by a K-category correlation coefficient", 2004, which is Matthews' correlation for K = 2). They
are those of scikit-learn, `f1_score` with `labels` those that occur in the test set, so that all predictions are judged
by the same classes. All are functions of P that do not change when P is multiplied by a number (1 stands for its sum),
and their linearisation says what an example contributes: f + df/dP_kj for one of class k that is predicted to be of
class j. The mean of the contributions is f, their standard deviation over sqrt(N) is its standard error over test
examples, and differences between two sets of predictions of the same examples are paired example by example.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeGuard, get_args

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy import special

from transferscope.estimate import Estimate, Interval
from transferscope.numerics.intervals import t_interval, wilson_ends

ClassMeasure = Literal["balanced_accuracy", "macro_f1", "matthews"]
CLASS_MEASURES: tuple[ClassMeasure, ...] = get_args(ClassMeasure)


def is_class_measure(record: str) -> TypeGuard[ClassMeasure]:
    """Whether a record is one of these measures."""
    return record in CLASS_MEASURES


def class_measure(
    name: ClassMeasure, predictions: Shaped[np.ndarray, " N"], labels: Shaped[np.ndarray, " N"]
) -> Estimate:
    """A measure with its standard error over examples; none for a single example.

    Args:
        name: Which.
        predictions: Classes that were predicted.
        labels: The true ones; at least one example.
    """
    shares, n = example_contributions(name, predictions, labels), len(labels)
    return Estimate(float(shares.mean()), float(shares.std(ddof=1)) / n**0.5 if n > 1 else None, n)


def example_contributions(
    name: ClassMeasure, predictions: Shaped[np.ndarray, " N"], labels: Shaped[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """One number for each example, whose mean is the measure and whose spread is its error over examples.

    Args:
        name: Which measure.
        predictions: Classes that were predicted.
        labels: The true ones; at least one example.

    Returns:
        Shape (N,).
    """
    classes, true, (predicted,) = _places([predictions], labels)
    value, slope = _MEASURES[name](_shares(true, predicted, len(classes)))
    return np.asarray(value + slope[true, predicted], dtype=np.float64)


def interval_over_examples(
    name: ClassMeasure,
    runs: Sequence[Shaped[np.ndarray, " N"]],
    labels: Shaped[np.ndarray, " N"],
    *,
    level: float = 0.95,
) -> Interval | None:
    """Interval of a measure over other test sets of the same size.

    A t-interval of the contributions takes a class of which all examples are right for one without an error, however
    few they are. On either side the end is therefore at least as far away as

        sqrt(sum_k d_k^2 + z^2 v)

    with d_k the distance from the share of class k that is right to the end of its Wilson interval, times the slope of
    the measure along it (Zou and Donner, "Construction of confidence limits about effect measures", Statistics in
    Medicine 27, 2008), and v the variance of what the wrong examples are taken for and of how many examples of each
    class there are. Where a single class is predicted, or occurs, Matthews' correlation has no slope; z / sqrt(N) is an
    upper bound of its error there, that of two independent sequences of classes. In simulated test sets of 100 to 500
    examples the coverage of nominal 95 % is 95 to 100 %; that of the t-interval alone goes down to 60 %, where the
    rarest class has five examples or all but one in a hundred are right.

    Args:
        name: Which measure.
        runs: Classes that were predicted, by run; at least one run. Of several the mean is meant, and the interval is
            on the wide side.
        labels: The true ones.
        level: Nominal coverage, in (0, 1).

    Returns:
        The interval, not cut to the range of the measure; None for a single example.
    """
    contributions = np.mean([example_contributions(name, run, labels) for run in runs], axis=0)
    spread = t_interval(contributions, level=level)
    if spread.interval is None:
        return None
    classes, true, predicted = _places(runs, labels)
    shares = np.mean([_shares(true, run, len(classes)) for run in predicted], axis=0)
    down, up = _distances(name, shares, len(labels), level)
    low, high = min(spread.interval.low, spread.value - down), max(spread.interval.high, spread.value + up)
    return Interval(low, high, level)


def _places(
    runs: Sequence[Shaped[np.ndarray, " N"]], labels: Shaped[np.ndarray, " N"]
) -> tuple[Shaped[np.ndarray, " C"], Int[np.ndarray, " N"], Int[np.ndarray, "R N"]]:
    """All classes, and the places among them of the true ones and of those that each run predicts."""
    classes, places = np.unique(np.concatenate([labels, *runs]), return_inverse=True)
    of_all = places.reshape(-1, len(labels))
    return classes, of_all[0], of_all[1:]


def _shares(true: Int[np.ndarray, " N"], predicted: Int[np.ndarray, " N"], n_classes: int) -> Float[np.ndarray, "C C"]:
    """P: the share of the examples that are of one class and predicted to be of another."""
    counts = np.bincount(true * n_classes + predicted, minlength=n_classes**2)
    return np.asarray(counts.reshape(n_classes, n_classes) / len(true), dtype=np.float64)


def _distances(name: ClassMeasure, shares: Float[np.ndarray, "C C"], n: int, level: float) -> tuple[float, float]:
    """How far the ends lie below and above the measure by the Wilson intervals of the classes."""
    z = float(special.ndtri((1 + level) / 2))
    if name == "matthews" and max((shares.sum(axis=0) ** 2).sum(), (shares.sum(axis=1) ** 2).sum()) > 1 - 1e-12:
        return z / n**0.5, z / n**0.5
    occurs = shares.sum(axis=1) > 0
    of_class = shares.sum(axis=1)[occurs]
    slope = _MEASURES[name](shares)[1][occurs]
    given = shares[occurs] / of_class[:, None]  # how the examples of a class are predicted
    is_right = np.eye(len(shares), dtype=bool)[occurs]
    right, wrong = given[is_right], np.where(is_right, 0.0, given)
    others = np.where(wrong.sum(axis=1, keepdims=True) > 0, wrong, ~is_right)
    of_wrong = (others * slope).sum(axis=1) / np.maximum(others.sum(axis=1), np.finfo(np.float64).tiny)

    low, high = wilson_ends(right, n * of_class, level=level)
    along = of_class * (slope[is_right] - of_wrong)
    ends = np.stack([along * (right - low), along * (right - high)])  # how much the measure falls
    by_wrong = of_class * (wrong * (slope - of_wrong[:, None]) ** 2).sum(axis=1)
    by_class = of_class * (given * slope).sum(axis=1) ** 2
    rest = z**2 * float((by_wrong + by_class).sum()) / n
    down, up = (float((np.maximum(side, 0.0).max(axis=0) ** 2).sum()) for side in (ends, -ends))
    return (down + rest) ** 0.5, (up + rest) ** 0.5


_Sloped = tuple[float, Float[np.ndarray, "C C"]]
"""A measure at P, and its derivatives along the entries of P."""


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
