"""The bounds of shachaf2021 for a pair that is known by examples: Theorems 4.2 and 6.1, Corollaries 6.2 and 6.3.

What the theorems take as given is estimated. The teachers are ridge regressions of the labels on the inputs, each with
the ridge of the least leave-one-out error; Sigma is the mean of x x' over the target's inputs; the pretrained wide
network is the kernel interpolator of the source's examples. Labels are -1 and 1 (a column for each class, one for two
classes), or numbers scaled into [-1, 1]; a bound of several columns is their mean.

Where they stop: all are loose by orders of magnitude as numbers, and what they are for is to rank sources. Those of
section 6 hold up to O(sqrt(log(n)/n)) with open constants; the constant of Theorem 4.2 is open (`deviation_bound`).
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64
from sklearn.linear_model import RidgeCV

from transferscope.data.task import LabelledSet
from transferscope.errors import DataError
from transferscope.numerics.ntk import KernelExamples, kernel_examples, kernel_transfer
from transferscope.wording import counted
from transferscope_papers.problems import Covariance
from transferscope_papers.theory.fine_tuning_bounds import (
    deviation_bound,
    fine_tuning_bound,
    observed_deviation,
)
from transferscope_papers.theory.ntk import fine_tuning_risk_bound, linear_kernel_bound

_RIDGES = np.geomspace(1e-2, 1e6, 17)


@dataclass(frozen=True, eq=False)
class EstimatedPair:
    """What the bounds need to know of a source and a target.

    Attributes:
        source: The source's examples, of unit norm, no two alike.
        difference: D = theta_T - theta_S, shape (d, K).
        covariance: Sigma of the target's inputs.
        mean: Subtracted from every input value.
        scale: That every input value is divided by afterwards.
        centre: Subtracted from numeric labels; 0 for classes.
        reach: That numeric labels are divided by afterwards; 1 for classes.
    """

    source: KernelExamples
    difference: Float64[np.ndarray, "d K"]
    covariance: Covariance
    mean: float
    scale: float
    centre: Float64[np.ndarray, " K"]
    reach: Float64[np.ndarray, " K"]

    def inputs(self, examples: LabelledSet) -> Float64[np.ndarray, "N d"]:
        """Inputs as vectors, in the scale of the target's training examples."""
        return (examples.inputs.reshape(len(examples), -1).astype(np.float64) - self.mean) / self.scale

    def labels(self, examples: LabelledSet) -> Float64[np.ndarray, "N K"]:
        """Labels in [-1, 1], clipped where a number lies beyond those that the pair was estimated from."""
        return np.asarray(np.clip((_columns(examples) - self.centre) / self.reach, -1, 1))


def estimate_pair(source: LabelledSet, target: LabelledSet) -> EstimatedPair:
    """Estimate teachers, inputs and pretrained network of a pair.

    Args:
        source: Examples of the source; a few thousand at most, because an N x N matrix is solved. Its classes are those
            of the target of the same names, or, where some names differ, of the same place in their order.
        target: Examples of the target, for its teacher and its covariance: as many as there are.

    Raises:
        DataError: Inputs are texts, inputs or labels of the two differ in width, an input is zero, or there is nothing
            to learn.
    """
    if source.is_tokens or target.is_tokens:
        raise DataError(
            "the inputs are texts, and the bounds are of inputs that are numbers: the distances between tokens mean "
            "nothing; give images, or a table or array of numbers"
        )
    sizes = [int(np.prod(examples.inputs.shape[1:])) for examples in (source, target)]
    if sizes[0] != sizes[1]:
        raise DataError(
            f"an input of the source has {sizes[0]:,} values and one of the target {sizes[1]:,}; the bounds need the "
            "same inputs: transform them, as in --transforms resize:16 --transforms grey"
        )
    given = [_columns(examples) for examples in (_in_order(source, target), target)]
    if given[0].shape[1] != given[1].shape[1] or (source.classes is None) != (target.classes is None):
        raise DataError(
            f"the labels of the source have {_kind(source)} and those of the target {_kind(target)}; fine-tuning in "
            "these theorems goes on with the source's head, so give a source with as many"
        )
    x = target.inputs.astype(np.float64)
    mean, scale = float(x.mean()), float(x.std())
    if scale == 0 or (np.ptp(given[1], axis=0) == 0).any():
        raise DataError(
            "the inputs or labels of the target are all alike; the bounds need a task with something to learn"
        )
    if target.classes is None:
        both = np.concatenate(given)
        centre, reach = (both.max(axis=0) + both.min(axis=0)) / 2, np.ptp(both, axis=0) / 2
    else:
        centre, reach = np.zeros(given[1].shape[1]), np.ones(given[1].shape[1])
    width = given[1].shape[1]
    blank = KernelExamples(np.ones((1, sizes[1])), np.zeros((1, width)), 0, 0)
    pair = EstimatedPair(blank, np.zeros((sizes[1], width)), Covariance(np.ones(sizes[1])), mean, scale, centre, reach)
    known = [(pair.inputs(one), pair.labels(one)) for one in (_in_order(source, target), target)]
    teachers = [RidgeCV(_RIDGES, fit_intercept=False).fit(*one).coef_.reshape(-1, sizes[1]).T for one in known]
    values, vectors = np.linalg.eigh(known[1][0].T @ known[1][0] / len(target))
    covariance = Covariance(np.maximum(values[::-1], 0), np.ascontiguousarray(vectors[:, ::-1]))
    return EstimatedPair(kernel_examples(*known[0]), teachers[1] - teachers[0], covariance, mean, scale, centre, reach)


def pair_bounds(pair: EstimatedPair, target: LabelledSet, *, constant: float = 1.0) -> dict[str, float]:
    """The bounds for fine-tuning on given examples of the target.

    Args:
        target: The n labelled examples that fine-tuning sees.
        constant: c of Theorem 4.2, above 0.

    Returns:
        By name, all on the risk and smaller for a better source, but for the first, which does not depend on it:

            "theorem 6.1, from scratch"   2 sqrt(y'H^-1 y / n), from an output of 0
            "theorem 6.1"                 2 sqrt(r'H^-1 r / n), r = y - what the source's network says
            "corollary 6.3"               the same with r = X D, for linear teachers
            "corollary 6.3, sharpened"    4 ||P_par D|| / sqrt(n), what Corollary 6.2 gives when H >= X X'/4 is used
            "corollary 6.3, printed"      6 ||D|| / sqrt(n)
            "theorem 4.2"                 at the best m, or lambda_1 ||D||^2 where that is smaller
            "theorem 4.2, observed"       with ||X'X/n - Sigma|| of the examples for its bound; no constant is open
            "distance"                    ||D||^2

        NaN where the kernel's matrix cannot be solved reliably (`theory.ntk.kernel_norm`).
    """
    own = kernel_examples(pair.inputs(target), pair.labels(target))
    n, outside = len(own.inputs), own.labels - kernel_transfer(pair.source, own).transformed_labels
    x = pair.inputs(target)
    deviations = {
        "theorem 4.2": deviation_bound(pair.covariance.eigenvalues, len(x), constant=constant),
        "theorem 4.2, observed": observed_deviation(x, pair.covariance),
    }
    by_name: dict[str, list[float]] = {}
    for k in range(own.labels.shape[1]):
        difference = pair.difference[:, k]
        linear = linear_kernel_bound(own.inputs, difference)
        scratch, tuned = (fine_tuning_risk_bound(own.inputs, r) for r in (own.labels[:, k], outside[:, k]))
        bounds = {"theorem 6.1, from scratch": scratch, "theorem 6.1": tuned}
        values = {name: bound.value if bound.usable else np.nan for name, bound in bounds.items()}
        norm = linear.norm.value if linear.norm.usable else np.nan
        for name, travel in (("", norm), (", sharpened", linear.bound), (", printed", linear.printed)):
            values[f"corollary 6.3{name}"] = 2 * travel / np.sqrt(n)
        for name, deviation in deviations.items():
            values[name] = fine_tuning_bound(difference, pair.covariance, deviation=deviation).best
        values["distance"] = difference @ difference
        for name, value in values.items():
            by_name.setdefault(name, []).append(float(value))
    return {name: float(np.mean(values)) for name, values in by_name.items()}


def same_classes(source: LabelledSet, target: LabelledSet) -> bool:
    """Whether the labels of both have the same names, in any order; true of numbers, which have none."""
    return sorted(source.classes or ()) == sorted(target.classes or ())


def _in_order(source: LabelledSet, target: LabelledSet) -> LabelledSet:
    """The source with its classes in the target's order where they are the same: the theorems go on with its head."""
    if source.classes is None or target.classes is None or source.classes == target.classes:
        return source
    if not same_classes(source, target):
        return source
    order = np.array([target.classes.index(name) for name in source.classes])
    labels = source.labels[:, np.argsort(order)] if source.labels.ndim == 2 else order[source.labels]
    return replace(source, labels=labels, classes=target.classes)


def _columns(examples: LabelledSet) -> Float64[np.ndarray, "N K"]:
    """-1 and 1 for classes and for several labels of an input; numbers as they are."""
    labels = examples.labels
    if examples.classes is None:
        return labels.reshape(len(labels), -1).astype(np.float64)
    if labels.ndim == 2:
        return np.where(labels, 1.0, -1.0)
    n_classes = len(examples.classes)
    if n_classes == 2:
        return np.where(labels == 1, 1.0, -1.0)[:, None]
    return np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)


def _kind(examples: LabelledSet) -> str:
    if examples.classes is None:
        return counted(_columns(examples).shape[1], "number")
    return f"{len(examples.classes)} classes"
