"""The input and the interface of transferability scores, and their common checks.

Higher is better for all of them. Scores of one kind compare networks on the same examples; their values mean nothing
across target tasks. Their standard errors, and those of differences between networks, come from leaving groups out.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float64, Int64

from transferscope.data.task import Kind
from transferscope.errors import DataError, unsupported, wrong_shape
from transferscope.estimate import Estimate
from transferscope.numerics.jackknife import all_but_one_group, grouped_error
from transferscope.records import check_settings

Needs = Literal["features", "source_probabilities"]
"""Inputs of a score."""


@dataclass(frozen=True)
class TargetView:
    """Labelled target examples as a pretrained network sees them.

    Numbers of any precision are converted to float64, class indices to int64: scores sum features that may be far from
    zero over many examples, which float32 gets wrong in the second digit.

    Attributes:
        features: Outputs of the backbone, shape (n, d), finite.
        labels: Class indices (whole numbers, shape (n,)), numbers for regression (floating, shape (n, K)), or booleans
            for several labels of each example (shape (n, K)).
        source_probabilities: Output of the source head for each example, shape (n, Z), rows sum to 1; None for a
            network without a classification head.

    Raises:
        DataError: Shapes do not match, a number is not finite, labels have the wrong type for their shape, or
        probabilities do not sum to 1.
    """

    features: Float64[np.ndarray, "n d"]
    labels: Int64[np.ndarray, " n"] | Float64[np.ndarray, "n K"] | Bool[np.ndarray, "n K"]
    source_probabilities: Float64[np.ndarray, "n Z"] | None = None

    def __post_init__(self) -> None:
        for name, array in _of_full_precision(self).items():
            object.__setattr__(self, name, array)
        n = len(self.features)
        rows = {"labels": self.labels, "source_probabilities": self.source_probabilities}
        for name, array in rows.items():
            if array is not None and len(array) != n:
                raise wrong_shape(name, array, f"one row for each of {n} rows of features")
        if self.features.ndim != 2 or n == 0:
            raise wrong_shape("features", self.features, "numbers (n, d) with n >= 1")
        for name, array in {"features": self.features, **rows}.items():
            if array is not None and not np.isfinite(array).all():
                raise DataError(f"{name} contain NaN or infinity; remove these examples, or train the network again")
        p = self.source_probabilities
        if p is not None and (p.ndim != 2 or (p < 0).any() or not np.allclose(p.sum(axis=1), 1, atol=1e-4)):
            raise DataError(
                "source_probabilities are not rows of numbers from 0 that sum to 1; apply a softmax to logits"
            )

    def __len__(self) -> int:
        return len(self.features)

    @property
    def is_classification(self) -> bool:
        """Whether labels are classes."""
        return self.labels.ndim == 1

    @property
    def kind(self) -> Kind:
        """Kind of the labels."""
        if self.is_classification:
            return "classification"
        return "multi-label" if self.labels.dtype == np.bool_ else "regression"

    def take(self, index: Int64[np.ndarray, " k"]) -> "TargetView":
        """Return the examples at `index`."""
        p = self.source_probabilities
        return TargetView(self.features[index], self.labels[index], None if p is None else p[index])


def _of_full_precision(view: TargetView) -> dict[str, np.ndarray | None]:
    labels, p = np.asarray(view.labels), view.source_probabilities
    kind = labels.dtype.kind
    if labels.ndim == 1 and kind not in "iu":
        raise wrong_shape("labels", labels, "whole numbers (n,) for classes; for regression give shape (n, 1)")
    if labels.ndim == 2 and kind not in "fb":
        raise wrong_shape(
            "labels",
            labels,
            "floating-point numbers for regression, or booleans for several labels: use .astype(float) or "
            ".astype(bool)",
        )
    kept = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    return {
        "features": np.asarray(view.features, dtype=np.float64),
        "labels": labels.astype(kept[kind], copy=False) if kind in kept else labels,
        "source_probabilities": None if p is None else np.asarray(p, dtype=np.float64),
    }


class Score(ABC):
    """A transferability score: a frozen dataclass whose fields are its settings.

    It depends neither on the order of examples nor on the names (indices) of classes, ignores classes without examples,
    and never changes its input. If there is no value, or one that should not be used, the status of the estimate gives
    the reason: "too_few" (fewer examples than `least_examples`), "undefined" (one class, features without variance), or
    what the class of the score names.
    """

    name: ClassVar[str]
    """Name, as in `SCORES`."""

    needs: ClassVar[Needs] = "features"
    """Inputs of the score."""

    kinds: ClassVar[tuple[Kind, ...]] = ("classification",)
    """Supported kinds of labels: "classification", "regression", "multi-label"."""

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def least_examples(self) -> int:
        """Smallest number of examples."""
        return 3

    @abstractmethod
    def computed(self, view: TargetView) -> Estimate:
        """Compute the score of enough examples with varying labels and features, without a standard error."""

    def contributions(self, view: TargetView) -> Float64[np.ndarray, " n"] | None:
        """Return the score and its derivative with respect to the weight of each example; None if not implemented.

        The mean of these numbers is the score and their standard deviation over sqrt(n) its standard error (the
        infinitesimal jackknife: Efron, "The jackknife, the bootstrap and other resampling plans", 1982, chapter 6).
        Leaving groups out doubles the variance of terms quadratic in the examples (Efron and Stein, "The jackknife
        estimate of variance", 1981), such as the bias of counts and of log determinants; the derivative does not.

        Args:
            view: Labelled examples for which `value` is finite.
        """
        return None

    def value(self, view: TargetView) -> Estimate:
        """Return the score on all examples, without a standard error (see `with_error`).

        Returns:
            The result of `computed`; NaN with status "too_few" (fewer than `least_examples`) or "undefined" (one class
            or labels that do not vary, features that do not vary).

        Raises:
            DataError: The labels are of a kind that the score does not rate, or it needs source probabilities and there
                are none.
        """
        if view.kind not in self.kinds:
            raise unsupported(self.name, f"labels of {' or '.join(self.kinds)}", f"the labels are of {view.kind}")
        if self.needs == "source_probabilities" and view.source_probabilities is None:
            raise DataError(
                f"{self.name} needs source_probabilities, but there are none; give the source head's softmax, or "
                "leave it out"
            )
        if len(view) < self.least_examples:
            return Estimate.missing("too_few", len(view))
        still = self.needs == "features" and not varies(view.features).any()
        same = not varies(view.labels if view.kind != "multi-label" else view.labels.astype(np.float64)).any()
        return Estimate.missing("undefined", len(view)) if still or same else self.computed(view)


def varies(array: np.ndarray) -> np.ndarray:
    """Return which columns hold more than one value (shape (K,), or () for one column), up to rounding."""
    lowest, highest = array.min(axis=0), array.max(axis=0)
    return np.asarray(highest - lowest > 1e-13 * np.maximum(np.abs(lowest), np.abs(highest)))


def class_indices(view: TargetView) -> Int64[np.ndarray, " n"]:
    """Return labels as 0 ... C - 1 of the C classes that occur, in the order of their indices."""
    return np.unique(view.labels, return_inverse=True)[1].astype(np.int64)


def indicators(view: TargetView) -> Float64[np.ndarray, "n C"]:
    """Return one column of 0 and 1 for each class that occurs."""
    classes = class_indices(view)
    return np.asarray(classes[:, None] == np.arange(classes.max() + 1), dtype=np.float64)


def outputs(view: TargetView) -> Float64[np.ndarray, "n K"]:
    """Return the regression targets of a linear model: indicators of classes or labels, or regression labels.

    Labels and outputs that do not vary are left out.
    """
    if view.is_classification:
        return indicators(view)
    columns = view.labels.astype(np.float64)
    return np.asarray(columns[:, varies(columns)])


def leave_groups_out(score: Score, view: TargetView) -> Float64[np.ndarray, " G"]:
    """Return the score without each of G groups of examples, to first order if it has `contributions`.

    The groups depend on the number of examples only: networks that saw the same examples in the same order have the
    same groups, so `grouped_error(first - second)` is the standard error of their difference.

    Returns:
        One value per group (`jackknife.GROUPS`), NaN if there is none; none for one example.
    """
    rests = all_but_one_group(len(view)) if len(view) > 1 else []
    each = score.contributions(view) if rests and np.isfinite(score.value(view).value) else None
    if each is not None:
        return np.array([each[rest].mean() for rest in rests])
    values = np.array([score.value(view.take(rest)).value for rest in rests], dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def with_error(score: Score, view: TargetView) -> Estimate:
    """Return the score with its delete-a-group jackknife standard error.

    It covers other examples of the same task through the same network. docs/scores.md compares it with the spread over
    simulated samples: it is too wide for the leave-one-out accuracies, `knn` and `ridge-probe`.

    Returns:
        Value, number of examples and status as `score.value` gives them. No standard error where there is no finite
        value, with fewer than 3 examples, or where there is none without one of the groups (a class of few examples).
    """
    estimate = score.value(view)
    if not np.isfinite(estimate.value) or len(view) < 3:
        return estimate
    return replace(estimate, stderr=grouped_error(leave_groups_out(score, view)))
