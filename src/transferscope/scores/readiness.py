"""What every score checks before it computes, and how it reads labels."""

from math import nan

import numpy as np
from jaxtyping import Float64, Int64

from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope.scores.score import Score, TargetView


def without_value(score: Score, view: TargetView, *, at_least: int = 3) -> Estimate | None:
    """Why there is no value: an estimate that says so, or None when the score can be computed.

    Args:
        score: Who asks.
        view: Labelled examples.
        at_least: Number of examples that it takes.

    Returns:
        NaN with status "too_few" (fewer examples than `at_least`) or "undefined" (one class or labels that do not
        vary, features that do not vary); else None.

    Raises:
        DataError: The labels are of a kind that the score does not rate, or it needs source probabilities and there
            are none.
    """
    kind = "classification" if view.is_classification else "regression"
    if kind not in score.kinds:
        raise DataError(f"{score.name} rates {' and '.join(score.kinds)} and the labels are of {kind}; leave it out")
    if score.needs == "source_probabilities" and view.source_probabilities is None:
        raise DataError(
            f"{score.name} reads what the source head says and no source_probabilities were given; give the softmax of "
            "a head of classes or leave it out"
        )
    if len(view) < at_least:
        return Estimate(nan, None, len(view), "too_few")
    still = score.needs == "features" and not varies(view.features).any()
    return Estimate(nan, None, len(view), "undefined") if still or not varies(view.labels).any() else None


def varies(array: np.ndarray) -> np.ndarray:
    """Which columns hold more than one value (shape (K,), or () for one column), up to rounding."""
    lowest, highest = array.min(axis=0), array.max(axis=0)
    varying: np.ndarray = np.asarray(highest - lowest > 1e-13 * np.maximum(np.abs(lowest), np.abs(highest)))
    return varying


def class_indices(view: TargetView) -> Int64[np.ndarray, "n"]:
    """Labels as 0 ... C - 1 of the C classes that occur, in the order of their indices."""
    indices: np.ndarray = np.unique(view.labels, return_inverse=True)[1]
    return indices.astype(np.int64)


def indicators(view: TargetView) -> Float64[np.ndarray, "n C"]:
    """One column of 0 and 1 for each class that occurs."""
    classes = class_indices(view)
    return np.asarray(classes[:, None] == np.arange(classes.max() + 1), dtype=np.float64)


def outputs(view: TargetView) -> Float64[np.ndarray, "n K"]:
    """What a linear model of the labels regresses on: class indicators, or the regression outputs that vary."""
    return indicators(view) if view.is_classification else view.labels[:, varies(view.labels)]
