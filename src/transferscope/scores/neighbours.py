"""Leave-one-out accuracy of k nearest neighbours on the features.

Fix and Hodges 1951; Cover and Hart, "Nearest neighbor pattern classification", 1967. A common training-free probe of
features (for instance Wu et al., "Unsupervised feature learning via non-parametric instance discrimination", 2018).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float64, Int64

from transferscope.data.task import Kind
from transferscope.estimate import Estimate
from transferscope.numerics.average_precision import macro_average_precision
from transferscope.records import Count, Says
from transferscope.scores.score import Score, TargetView, outputs

_ROWS = 256  # examples whose distances are held at once
_PAIRS = 4096  # about as many differences of features are held at once: more leave the cache
_TINY = 1e-36  # squared distances below it are lost in single precision


@dataclass(frozen=True)
class Neighbours(Score):
    """Share of examples whose k nearest others vote for their class; R^2 of the mean of the k nearest in regression.

    With several labels of each example, the macro-averaged average precision of the share of the k that has each label.

    Euclidean distances of the features as they are. Where several examples are equally far, at the edge of the k, they
    share the votes that are left; where m classes have the most votes, the example counts 1/m if its class is among
    them. So neither the order of examples nor of classes matters. R^2 is the mean over the outputs that vary.

    It rewards features whose distances fit the labels, which a linear head does not need: a few strong directions that
    are irrelevant spoil it. Votes of few neighbours are noisy, and leaving the example out makes its class rarer by
    one.
    """

    k: Annotated[Count, Says("Number of neighbours")] = 5
    name: ClassVar[str] = "knn"
    kinds: ClassVar[tuple[Kind, ...]] = ("classification", "regression", "multi-label")

    @property
    def least_examples(self) -> int:
        """One more than the neighbours."""
        return max(3, self.k + 1)

    def computed(self, view: TargetView) -> Estimate:
        """Return the accuracy, R^2 or average precision, leaving one out; see the class."""
        targets = outputs(view)
        means = neighbour_means(view.features, targets, self.k)
        rate = {"classification": accuracy, "regression": r_squared, "multi-label": macro_average_precision}[view.kind]
        return Estimate(rate(means, targets), None, len(view))


def neighbour_means(
    features: Float64[np.ndarray, "n d"], targets: Float64[np.ndarray, "n K"], k: int
) -> Float64[np.ndarray, "n K"]:
    """Return the mean target of the k nearest other examples; ties at the k-th distance share the remaining weight.

    Products of matrices in single precision tell which pairs may be among the nearest, up to the rounding of each pair
    (Higham, "Accuracy and stability of numerical algorithms", 2002, eq. 3.5); their distances are then taken from
    differences. Two distances count as equal within the rounding of their own examples' features, so an outlier does
    not affect ties among the others.
    """
    n, d = features.shape
    exponent = int(np.frexp(max(features.max(), -features.min()))[1])
    power = 2.0 ** -max(exponent, -1000)  # exact; squares of features times it neither overflow nor vanish
    single, norms, lengths, unit = _scaled(features, power)
    share = (d + 16) * np.finfo(np.float32).eps / 2  # a pair's squared distance is wrong by at most this of its norms
    highest, width = (norms * (1 + share)).astype(np.float32), (2 * share * norms + _TINY).astype(np.float32)
    means = np.empty(targets.shape)
    for start in range(0, n, _ROWS):
        rows = np.arange(start, min(start + _ROWS, n))
        squared = (-2 * single[rows]) @ single.T  # (rows, n): at most, less the example's own norm
        squared += highest
        squared[np.arange(len(rows)), rows] = np.inf
        kth = np.maximum(_kth_at_most(squared, k) + (1 + share) * norms[rows], 0)
        same = 16 * np.finfo(np.float64).eps * (lengths[rows] + lengths.max()) / unit  # distances this near are equal
        edge = (np.sqrt(kth + _TINY) * (1 + 1e-12) + same) ** 2 - (1 - share) * norms[rows]
        near = squared <= np.nextafter(edge.astype(np.float32), np.float32(np.inf))[:, None] + width
        first, second = np.divmod(np.flatnonzero(near), n)
        sure = (np.bincount(first, minlength=len(rows)) == k)[first]  # no other could take the place of one of the k
        means[rows[first[sure][::k]]] = targets[second[sure]].reshape(-1, k, targets.shape[1]).mean(axis=1)
        first, second = rows[first[~sure]], second[~sure]
        for pairs in _pieces(first):
            means[np.unique(first[pairs])] = _shared(features, power, lengths, targets, first[pairs], second[pairs], k)
    return means


def _pieces(first: Int64[np.ndarray, " pairs"]) -> Iterator[slice]:
    """Yield slices of about `_PAIRS` of the ordered pairs; those of one row stay together."""
    ends = np.flatnonzero(np.diff(first, append=-1)) + 1
    stops = ends[np.flatnonzero(np.diff(ends // _PAIRS, append=-1))]
    yield from map(slice, [0, *stops[:-1]], stops)


def _scaled(
    features: Float64[np.ndarray, "n d"], power: float
) -> tuple[np.ndarray, Float64[np.ndarray, " n"], Float64[np.ndarray, " n"], float]:
    """Return the centred features times `power`, the longest of length 1, in single precision, a block at a time.

    Then squared lengths of these, lengths of the features times `power`, and the unit.
    """
    blocks = [slice(start, start + _ROWS) for start in range(0, len(features), _ROWS)]
    mean = sum((features[rows] * power).sum(axis=0) for rows in blocks) / len(features)
    norms, lengths, single = np.empty(len(features)), np.empty(len(features)), np.empty(features.shape, np.float32)
    for rows in blocks:
        part = features[rows] * power
        lengths[rows] = np.sqrt(np.einsum("ij,ij->i", part, part))
        part -= mean
        norms[rows] = np.einsum("ij,ij->i", part, part)
    unit = float(np.sqrt(norms.max())) or 1.0
    for rows in blocks:
        single[rows] = (features[rows] * power - mean) / unit
    return single, norms / unit**2, lengths, unit


def _kth_at_most(squared: np.ndarray, k: int) -> Float64[np.ndarray, " rows"]:
    """Return a tight upper bound of the k smallest in each row: the k-th smallest of the minima of many groups."""
    n_groups = squared.shape[1] // max(squared.shape[1] // (16 * k), 1)
    grouped = squared[:, : squared.shape[1] // n_groups * n_groups].reshape(len(squared), -1, n_groups)
    return np.partition(grouped.min(axis=1), k - 1, axis=1)[:, k - 1].astype(np.float64)


def _shared(
    features: np.ndarray,
    power: float,
    lengths: np.ndarray,
    targets: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    k: int,
) -> Float64[np.ndarray, "rows K"]:
    """Return the mean target of the k nearest among the pairs of each row (at least k), ordered by row."""
    apart = features[second] * power
    apart -= features[first] * power
    distance = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    _, starts, counts = np.unique(first, return_index=True, return_counts=True)
    edge = np.repeat(distance[np.lexsort((distance, first))[starts + k - 1]], counts)
    same = 16 * np.finfo(np.float64).eps * (lengths[first] + lengths[second])
    level = np.abs(distance - edge) <= same + 1e-12 * edge
    nearer = (distance < edge) & ~level
    left = (k - np.add.reduceat(nearer, starts, dtype=np.float64)) / np.add.reduceat(level, starts, dtype=np.float64)
    weights = nearer + np.repeat(left, counts) * level
    return np.asarray(np.add.reduceat(weights[:, None] * targets[second], starts) / k)


def accuracy(votes: Float64[np.ndarray, "n C"], classes: Float64[np.ndarray, "n C"]) -> float:
    """Return the share of examples whose class has the most votes; 1/m if m classes tie.

    Args:
        votes: Number or weight of the votes for each class.
        classes: One column of 0 and 1 for each class.
    """
    leading = votes >= votes.max(axis=1, keepdims=True) - 1e-9
    return float(((leading * classes).sum(axis=1) / leading.sum(axis=1)).mean())


def r_squared(predictions: Float64[np.ndarray, "n K"], targets: Float64[np.ndarray, "n K"]) -> float:
    """Return 1 - squared error / variance, mean over outputs, all of which must vary."""
    error = ((targets - predictions) ** 2).sum(axis=0)
    spread = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
    return float((1 - error / spread).mean())
