"""A score of your own, on one page: the share of nearest class means that are right, as a template to copy.

    transferscope rank usps --from net.safetensors --scores logme examples/score.py:NearestMean

Higher must be better, on the same target examples.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope.records import Says
from transferscope.scores import Score, TargetView


@dataclass(frozen=True)
class NearestMean(Score):
    """Share of the examples whose nearest class mean is that of their own class, each left out of its mean.

    Tibshirani, Hastie, Narasimhan and Chu (2002).
    """

    shrinkage: Annotated[
        float, Says("How far class means are drawn to the mean of all, from 0 (not at all) to below 1")
    ] = 0.0

    name: ClassVar[str] = "nearest-mean"

    def computed(self, view: TargetView) -> Estimate:
        """The share, of examples enough that vary; transferscope finds its standard error by leaving groups out."""
        classes, own = np.unique(view.labels, return_inverse=True)
        counts = np.bincount(own)
        sums = np.stack([view.features[own == c].sum(axis=0) for c in range(len(classes))])
        means = (1 - self.shrinkage) * sums / counts[:, None] + self.shrinkage * view.features.mean(axis=0)
        far = ((view.features[:, None] - means) ** 2).sum(axis=2)  # (n, C)
        left_out = (sums[own] - view.features) / np.maximum(counts[own] - 1, 1)[:, None]
        rows = np.arange(len(own))
        far[rows, own] = ((view.features - left_out) ** 2).sum(axis=1)
        near = far.min(axis=1, keepdims=True)
        right = np.isclose(far, near, rtol=1e-9, atol=0)[rows, own] & (counts[own] > 1)
        return Estimate(float(right.mean()), None, len(own))
