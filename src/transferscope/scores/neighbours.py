"""Leave-one-out accuracy of k nearest neighbours on the features.

Fix and Hodges 1951; Cover and Hart, "Nearest neighbor pattern classification", 1967. A common probe of features without
training (for instance Wu et al., "Unsupervised feature learning via non-parametric instance discrimination", 2018).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float64

from transferscope.data.task import Kind
from transferscope.estimate import Estimate
from transferscope.numerics.average_precision import macro_average_precision
from transferscope.records import Count, Says
from transferscope.scores.score import Needs, Score, TargetView, outputs
from transferscope.scores.spectrum import centred

_ROWS = 512  # examples whose distances are held at once


@dataclass(frozen=True)
class Neighbours(Score):
    """Share of examples whose k nearest others vote for their class; R^2 of the mean of the k nearest in regression.

    With several labels of each example, the macro-averaged average precision of the share of the k that has each label.

    Euclidean distances of the features as they are. Where several examples are equally far, at the edge of the k, they
    share the votes that are left; where m classes have the most votes, the example counts 1/m if its class is among
    them. So neither the order of examples nor of classes matters. R^2 is the mean over the outputs that vary.

    It rewards features whose distances fit the labels, which a linear head does not need: a few strong directions that
    are irrelevant spoil it. Votes of few neighbours are noisy, and without the example its class is rarer by one.
    """

    k: Annotated[Count, Says("Number of neighbours")] = 5
    name: ClassVar[str] = "knn"
    title: ClassVar[str] = "nearest neighbours"
    source: ClassVar[str] = "Cover and Hart 1967, leave-one-out"
    needs: ClassVar[Needs] = "features"
    kinds: ClassVar[tuple[Kind, ...]] = ("classification", "regression", "multi-label")

    @property
    def least_examples(self) -> int:
        """One more than the neighbours."""
        return max(3, self.k + 1)

    def computed(self, view: TargetView) -> Estimate:
        """Accuracy, R^2 or average precision, leaving one out; see the class."""
        targets = outputs(view)
        means = neighbour_means(view.features, targets, self.k)
        rate = {"classification": accuracy, "regression": r_squared, "multi-label": macro_average_precision}[view.kind]
        return Estimate(rate(means, targets), None, len(view))


def neighbour_means(
    features: Float64[np.ndarray, "n d"], targets: Float64[np.ndarray, "n K"], k: int
) -> Float64[np.ndarray, "n K"]:
    """Mean target of the k nearest other examples; those at the distance of the k-th share what is left of the k.

    Products of matrices tell which examples may be among the nearest, up to the rounding of each pair; their distances
    are then taken from differences. Two distances are equal up to the rounding of their own examples' features, so that
    one example far from all others decides nothing among them.
    """
    eps, (n, d) = np.finfo(np.float64).eps, features.shape
    lengths, from_mean = np.linalg.norm(features, axis=1), centred(features)
    norms = (from_mean**2).sum(axis=1)
    means = np.empty(targets.shape)
    for start in range(0, n, _ROWS):
        rows = np.arange(start, min(start + _ROWS, n))
        squared = norms[rows, None] + norms - 2 * from_mean[rows] @ from_mean.T  # (rows, n)
        error = (d + 8) * eps * (norms[rows, None] + norms)
        squared[np.arange(len(rows)), rows] = np.inf
        farthest = np.partition(squared + error, k - 1, axis=1)[:, k - 1]
        for i, row in enumerate(rows):
            same = 16 * eps * (lengths[row] + lengths)  # distances this near are equal
            near = np.flatnonzero(squared[i] - error[i] <= (np.sqrt(farthest[i]) * (1 + 1e-12) + same) ** 2)
            distance = np.linalg.norm(features[near] - features[row], axis=1)
            edge = np.partition(distance, k - 1)[k - 1]
            level = np.abs(distance - edge) <= same[near] + 1e-12 * edge
            nearer = (distance < edge) & ~level
            share = (k - nearer.sum()) / level.sum()
            means[row] = (nearer + share * level) @ targets[near] / k
    return means


def accuracy(votes: Float64[np.ndarray, "n C"], classes: Float64[np.ndarray, "n C"]) -> float:
    """Share of examples whose class has the most votes; 1/m of one where m classes have as many.

    Args:
        votes: Number or weight of the votes for each class.
        classes: One column of 0 and 1 for each class.
    """
    leading = votes >= votes.max(axis=1, keepdims=True) - 1e-9
    return float(((leading * classes).sum(axis=1) / leading.sum(axis=1)).mean())


def r_squared(predictions: Float64[np.ndarray, "n K"], targets: Float64[np.ndarray, "n K"]) -> float:
    """1 - squared error / variance, mean over outputs, which must all vary."""
    error = ((targets - predictions) ** 2).sum(axis=0)
    spread = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
    return float((1 - error / spread).mean())
