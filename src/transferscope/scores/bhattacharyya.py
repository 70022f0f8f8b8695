"""GBC: how little the classes, as Gaussians in the feature space, overlap.

Pandy, Agostinelli, Uijlings, Ferrari and Mensink, "Transferability estimation using Bhattacharyya class separability",
CVPR 2022, section 3: on the leading principal components of the features,

    GBC = -sum_{c != c'} exp(-D_cc'),
    D_cc' = 1/8 (mu_c - mu_c')' S^-1 (mu_c - mu_c') + 1/2 log(det S / sqrt(det S_c det S_c')),    S = (S_c + S_c') / 2.

With spherical covariances S_c = v_c I_k the determinants are v_c^k; code in circulation leaves out this factor k.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Float64

from transferscope.estimate import Estimate
from transferscope.records import Count, Says
from transferscope.scores.score import Score, TargetView, indicators
from transferscope.scores.spectrum import spectrum


@dataclass(frozen=True)
class Bhattacharyya(Score):
    """GBC over ordered pairs of classes, between -C (C - 1) and 0; variances divide by n_c, as in the authors' code.

    A Gaussian is a poor picture of a class with several clusters, and a spherical one of a class that is spread along
    one direction. The variance of a class with one example is not known: the status is then "too_few". Classes without
    variance that differ do not overlap.
    """

    covariance: Annotated[
        Literal["spherical", "diagonal"],
        Says(
            "Covariance of a class",
            '"spherical" (one variance, the mean over components) or "diagonal" (one for each).',
        ),
    ] = "spherical"
    components: Annotated[
        Count, Says("Number of principal components, as far as the features have them", "64 in the paper.")
    ] = 64
    name: ClassVar[str] = "gbc"

    def computed(self, view: TargetView) -> Estimate:
        """Return the negative sum of Bhattacharyya coefficients; see the class."""
        n, classes = len(view), indicators(view)
        sizes = classes.sum(axis=0)[:, None]
        if sizes.min() < 2:
            return Estimate.missing("too_few", n)
        x = spectrum(view.features, centre=True).components(self.components)  # (n, k): principal components
        means = classes.T @ x / sizes  # (C, k)
        variances = classes.T @ (x - classes @ means) ** 2 / sizes  # (C, k)
        if self.covariance == "spherical":
            variances = np.broadcast_to(variances.mean(axis=1, keepdims=True), variances.shape)
        variances = np.where(variances > 1e-24 * x.var(axis=0).max(), variances, 0.0)
        overlap = coefficients(means, variances)
        return Estimate(float(np.trace(overlap) - overlap.sum()), None, n)


def coefficients(
    means: Float64[np.ndarray, "C k"], variances: Float64[np.ndarray, "C k"]
) -> Float64[np.ndarray, "C C"]:
    """Return Bhattacharyya coefficients exp(-D) of Gaussians with diagonal covariances, in [0, 1]; 1 on the diagonal.

    A component where neither class has variance excludes overlap if the means differ and says nothing if they agree;
    one where only one class has variance excludes it.
    """
    distances = np.stack([_distances(c, means, variances) for c in range(len(means))])
    return np.asarray(np.exp(-distances))


def _distances(c: int, means: np.ndarray, variances: np.ndarray) -> Float64[np.ndarray, " C"]:
    gap = (means - means[c]) ** 2  # (C, k)
    mean_variance = (variances + variances[c]) / 2
    both, neither = (variances > 0) & (variances[c] > 0), mean_variance == 0
    safe = np.where(both, mean_variance, 1.0)
    spread = np.log(safe) - (np.log(np.where(both, variances, 1.0)) + np.log(np.where(both, variances[c], 1.0))) / 2
    apart = np.where(neither & (gap <= 1e-24 * (means**2).max()), 0.0, np.inf)
    return np.asarray(np.where(both, gap / (8 * safe) + spread / 2, apart).sum(axis=1))
