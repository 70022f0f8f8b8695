"""LEEP: how well the source head's own predictions tell the target classes.

Nguyen, Hassner, Seeger and Archambeau, "LEEP: A new measure to evaluate transferability of learned representations",
ICML 2020, eq. 1 and 2. With theta(x)_z the source head's probability of source class z,

    P(y, z) = 1/n sum_{i: y_i = y} theta(x_i)_z,    T = 1/n sum_i log sum_z P(y_i | z) theta(x_i)_z.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transferscope.data.task import Kind
from transferscope.estimate import Estimate
from transferscope.scores.score import Needs, TargetView, class_indices, indicators, without_value


@dataclass(frozen=True)
class Leep:
    """LEEP: mean log likelihood of the labels, at most 0, in nats.

    It rates the source head, not only the features, so networks with different source classes compare poorly. The
    labels are predicted with probabilities counted on the same examples: with about as many confident source classes as
    examples it nears 0 whatever the labels. Source classes that are never predicted are left out.
    """

    name: ClassVar[str] = "leep"
    title: ClassVar[str] = "LEEP"
    source: ClassVar[str] = "Nguyen et al. 2020, LEEP, eq. 2"
    needs: ClassVar[Needs] = "source_probabilities"
    kinds: ClassVar[tuple[Kind, ...]] = ("classification",)

    def value(self, view: TargetView) -> Estimate:
        """Mean log expected empirical prediction; see the class."""
        refusal = without_value(self, view)
        if refusal is not None or view.source_probabilities is None:
            return refusal or Estimate.missing("undefined", len(view))
        theta = view.source_probabilities[:, view.source_probabilities.any(axis=0)]  # (n, Z)
        joint = indicators(view).T @ theta  # (C, Z)
        conditional = joint / joint.sum(axis=0)
        expected = (conditional[class_indices(view)] * theta).sum(axis=1)  # (n,)
        return Estimate(float(np.log(expected).mean()), None, len(view))
