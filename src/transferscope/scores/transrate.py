"""TransRate: how many more bits it takes to code all features than those of one class.

Huang, Huang, Rong, Yang and Wei, "Frustratingly easy transferability estimation", ICML 2022: for features Z less their
mean over all examples,

    TrR = R(Z) - sum_c n_c / n R(Z_c),    R(Z) = 1/2 log det(I_d + Z' Z / (n eps)).

The class terms are weighted by n_c / n as a conditional entropy is; for classes of one size this is the plain mean of
the listing in the paper. log det(I_d + Z' Z / a) = log det(I_n + Z Z' / a) lets the smaller matrix do.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float64
from scipy import linalg

from transferscope.estimate import Estimate
from transferscope.records import Positive, Says
from transferscope.scores.score import Score, TargetView, class_indices, varies
from transferscope.scores.spectrum import centred


@dataclass(frozen=True)
class TransRate(Score):
    """TransRate, at least 0, in nats.

    It depends on the scale of the features, and at the published eps mainly on the number of directions that the
    examples span: a class with no more examples than features spans fewer than all examples do, so that wide noise
    rates above informative features. Where the smallest class is that small, the status is "not_identified".
    """

    epsilon: Annotated[Positive, Says("Squared distortion of the code", "The published value is 1e-4.")] = 1e-4
    name: ClassVar[str] = "transrate"

    def computed(self, view: TargetView) -> Estimate:
        """Return the difference of coding rates; see the class."""
        n, classes = len(view), class_indices(view)
        sizes = np.bincount(classes)
        features = centred(view.features)
        within = sum(size / n * coding_rate(features[classes == c], self.epsilon) for c, size in enumerate(sizes))
        narrow = sizes.min() > varies(view.features).sum()
        rate = coding_rate(features, self.epsilon) - within
        return Estimate(float(rate), None, n, "ok" if narrow else "not_identified")

    def contributions(self, view: TargetView) -> Float64[np.ndarray, " n"]:
        """Return the derivatives of both rates with respect to the weight of each example, with that of the mean."""
        n, classes, features = len(view), class_indices(view), centred(view.features)
        contribution = coding_rate(features, self.epsilon) + _pull(features, self.epsilon)[0]
        for c in range(classes.max() + 1):
            own = classes == c
            pull, towards = _pull(features[own], self.epsilon)
            contribution[own] -= coding_rate(features[own], self.epsilon) + pull
            contribution += own.sum() / n * (features @ towards)
        return np.asarray(contribution)


def coding_rate(features: Float64[np.ndarray, "n d"], epsilon: float) -> float:
    """Return R(Z) = 1/2 log det(I + Z' Z / (n epsilon)), in nats, through the smaller Gram matrix."""
    n, d = features.shape
    gram = features.T @ features if d <= n else features @ features.T
    return float(np.linalg.slogdet(np.eye(len(gram)) + gram / (n * epsilon))[1]) / 2


def _pull(features: Float64[np.ndarray, "n d"], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return half of z_i' G z_i less its mean, (n,), and G mean(z), (d,), with G = (epsilon I + Z' Z / n)^-1."""
    n, d = features.shape
    if d <= n:
        solved = linalg.solve(features.T @ features / n + epsilon * np.eye(d), features.T, assume_a="pos")  # G Z'
    else:
        solved = linalg.solve(features @ features.T / n + epsilon * np.eye(n), features, assume_a="pos").T
    pulls = (features * solved.T).sum(axis=1)
    return (pulls - pulls.mean()) / 2, solved.mean(axis=1)
