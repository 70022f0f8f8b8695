"""H-score: how much of the features' variance lies between classes, in units of their covariance.

Bao et al., "An information-theoretic approach to transferability in task transfer learning", ICIP 2019, definition of
the H-score: H = tr(Sigma^-1 Sigma_between). Ibrahim, Ponomareva and Mazumder, "Newer is not always better: Rethinking
transferability metrics, their peculiarities, stability and performance", 2021 (H_alpha): with the covariance shrunk by
Ledoit and Wolf (2004), Sigma_a = (1 - a) Sigma + a (tr Sigma / d) I,

    H_a = (1 - a) tr(Sigma_a^-1 Sigma_between),    Sigma_between = sum_c n_c / n (mu_c - mu)(mu_c - mu)'.

All covariances divide by n. With U and s from the centred features, mu_c - mu has coordinates sqrt(s_i) u_ci / n_c for
u_c = U' 1_c, so the trace is a sum over the r directions that the examples span.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from transferscope.estimate import Estimate
from transferscope.records import Says
from transferscope.scores.score import Score, TargetView, indicators
from transferscope.scores.spectrum import Spectrum, spectrum


@dataclass(frozen=True)
class HScore(Score):
    """H-score, between 0 and C - 1 for C classes.

    Plain, it is C - 1 for any features of full rank with n <= d, noise included; shrinkage is therefore the default.
    It sees class means only: classes that differ in spread, or form several clusters around one mean, look alike. The
    shrunk one changes (a little) when features without variance are added, since these count in the mean variance, and
    it is 0 where the covariance is a multiple of the identity within the error of n examples: the share a is then 1.
    """

    shrinkage: Annotated[
        bool, Says("Whether the covariance is shrunk (Ibrahim et al.) or not (Bao et al., by the pseudo-inverse)")
    ] = True
    name: ClassVar[str] = "h-score"

    def computed(self, view: TargetView) -> Estimate:
        """Return the H-score; see the class."""
        n, d = view.features.shape
        classes, principal = indicators(view), spectrum(view.features, centre=True)
        variances = principal.squares / n  # (r,)
        between = (principal.coordinates(classes) ** 2 / classes.sum(axis=0)).sum(axis=1)  # (r,): sum_c u_ci^2 / n_c
        a = ledoit_wolf(principal) if self.shrinkage else 0.0
        shrunk = (1 - a) * variances + a * variances.sum() / d
        return Estimate(float((1 - a) * (variances / shrunk * between).sum()), None, n)


def ledoit_wolf(principal: Spectrum) -> float:
    """Return the shrinkage intensity of Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance
    matrices", 2004.

    With m the mean variance, it is min(b^2, delta^2) / delta^2 for d delta^2 = |Sigma - m I|^2 and
    d b^2 = (1/n sum_j |x_j|^4 - |Sigma|^2) / n.

    Args:
        principal: The spectrum of the centred features.
    """
    n, d = principal.features.shape
    variances = principal.squares / n
    square = float((variances**2).sum())
    error = (float((principal.lengths() ** 2).mean()) - square) / n
    distance = square - float(variances.sum()) ** 2 / d
    return min(max(error, 0.0), distance) / distance if distance > 0 else 0.0
