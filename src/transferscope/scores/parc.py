"""PARC: whether examples with different labels have different features.

Bolya, Mittapalli and Hoffman, "Scalable diverse model selection for accessible transfer learning", NeurIPS 2021,
section 3: Spearman's correlation between the pairwise distances of the features and those of the one-hot labels, both
1 - Pearson's correlation of two examples, over all pairs.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from transferscope.estimate import Estimate
from transferscope.scores.score import Score, TargetView, varies


@dataclass(frozen=True)
class Parc(Score):
    """PARC, between -1 and 1 (the authors print it times 100).

    Features are standardised one by one, as in the authors' code; those that do not vary are left out. One-hot labels
    have two distances only, same class or not, so with many classes almost all pairs are ties and values are near 0;
    the order of networks on the same examples remains meaningful. Rotating the features changes it.

    All n (n - 1) / 2 pairs are compared and sorted: 16 MB at n = 2,000 and 1.6 GB at n = 20,000. The status is
    "undefined" with one feature, or with an example whose standardised features are all the same.
    """

    name: ClassVar[str] = "parc"

    def computed(self, view: TargetView) -> Estimate:
        """Return Spearman's correlation of distances; see the class."""
        n, features = len(view), view.features[:, varies(view.features)]
        standard = (features - features.mean(axis=0)) / features.std(axis=0)
        rows = standard - standard.mean(axis=1, keepdims=True)
        norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        if (norms <= 1e-10).any():
            return Estimate.missing("undefined", n)
        correlation = _rank_correlation(rows / norms, view.labels)
        return Estimate(correlation, None, n, "ok" if np.isfinite(correlation) else "undefined")


def _rank_correlation(rows: Float64[np.ndarray, "n d"], labels: np.ndarray) -> float:
    """Return Spearman's correlation of 1 - rows rows' with the indicator of different classes, over pairs."""
    n = len(rows)
    distances = np.empty(n * (n - 1) // 2)
    different = np.empty(len(distances), dtype=bool)
    start = 0
    for i in range(n - 1):  # n products of a matrix with a vector: no n x n matrix
        end = start + n - 1 - i
        distances[start:end] = np.round(1 - rows[i + 1 :] @ rows[i], 12)  # equal pairs stay equal under rounding
        different[start:end] = labels[i + 1 :] != labels[i]
        start = end
    return correlation_with_groups(distances, different)


def correlation_with_groups(values: Float64[np.ndarray, " m"], group: Bool[np.ndarray, " m"]) -> float:
    """Return Spearman's correlation of numbers with a binary variable, with average ranks for ties; NaN if either is
    constant.

    Only the ranks of the smaller side enter: with R the sum of their m_s centred ranks, the correlation is
    +- R / sqrt(m_s (m - m_s) / m * sum of squared centred ranks). Overwrites `values`.
    """
    m, n_yes = len(values), int(group.sum())
    few = group if 2 * n_yes <= m else ~group
    members = values[few]
    values.sort()
    ranks = (np.searchsorted(values, members, "left") + np.searchsorted(values, members, "right") + 1) / 2
    ties = np.diff(np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [m]])).astype(np.float64)
    squares = (float(m) ** 3 - m - float((ties**3 - ties).sum())) / 12
    spread = squares * n_yes * (m - n_yes) / m
    sign = 1 if few is group else -1
    return sign * float((ranks - (m + 1) / 2).sum()) / spread**0.5 if spread > 0 else float("nan")
