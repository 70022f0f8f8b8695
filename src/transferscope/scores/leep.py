"""LEEP: how well the source head's predictions predict the target classes.

Nguyen, Hassner, Seeger and Archambeau, "LEEP: A new measure to evaluate transferability of learned representations",
ICML 2020, eq. 1 and 2. With theta(x)_z the source head's probability of source class z,

    P(y, z) = 1/n sum_{i: y_i = y} theta(x_i)_z,    T = 1/n sum_i log sum_z P(y_i | z) theta(x_i)_z.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64, Int64

from transferscope.estimate import Estimate
from transferscope.scores.score import Needs, Score, TargetView


@dataclass(frozen=True)
class Leep(Score):
    """LEEP: mean log likelihood of the labels, at most 0, in nats.

    It rates the source head, not only the features, so networks with different source classes compare poorly. The
    labels are predicted with probabilities counted on the same examples: with about as many confident source classes as
    examples it approaches 0 for any labels. Source classes that are never predicted are left out.
    """

    name: ClassVar[str] = "leep"
    needs: ClassVar[Needs] = "source_probabilities"

    def computed(self, view: TargetView) -> Estimate:
        """Return the mean log expected empirical prediction; see the class."""
        assert view.source_probabilities is not None
        expected = _expected(view, view.source_probabilities)
        return Estimate(float(np.log(expected).mean()), None, len(view))

    def contributions(self, view: TargetView) -> Float64[np.ndarray, " n"]:
        """Return log e_i of each example plus its effect on P(y | z) for all examples.

        With e_i = sum_z P(y_i | z) theta(x_i)_z, M_z = sum_i theta(x_i)_z and
        A_yz = sum_{i: y_i = y} theta(x_i)_z / e_i, that is sum_z theta(x_i)_z (A_(y_i)z - sum_y A_yz P(y | z)) / M_z.
        """
        theta = view.source_probabilities
        assert theta is not None
        expected, mass = _expected(view, theta), theta.sum(axis=0)
        common, change = np.zeros(theta.shape[1]), np.empty(len(view))
        for rows in _of_classes(view):
            own = theta[rows]
            common += (1 / expected[rows]) @ own * _shares(own.sum(axis=0), mass)
        for rows in _of_classes(view):
            own = theta[rows]
            change[rows] = own @ _shares((1 / expected[rows]) @ own - common, mass)
        return np.asarray(np.log(expected) + change)


def _expected(view: TargetView, theta: Float64[np.ndarray, "n Z"]) -> Float64[np.ndarray, " n"]:
    """Return sum_z P(y_i | z) theta(x_i)_z, class by class, without a table of all pairs of classes."""
    mass, expected = theta.sum(axis=0), np.empty(len(view))
    for rows in _of_classes(view):
        own = theta[rows]
        expected[rows] = own @ _shares(own.sum(axis=0), mass)
    return expected


def _of_classes(view: TargetView) -> list[Int64[np.ndarray, " m"]]:
    return np.split(np.argsort(view.labels, kind="stable"), np.cumsum(np.unique_counts(view.labels).counts)[:-1])


def _shares(part: Float64[np.ndarray, " Z"], mass: Float64[np.ndarray, " Z"]) -> Float64[np.ndarray, " Z"]:
    """Return part / mass; 0 for source classes that are never predicted."""
    return np.asarray(np.divide(part, mass, out=np.zeros_like(mass), where=mass > 0))
