"""How much the features of two networks have in common."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Findings
from transferscope.diagnostics.features import feature_array
from transferscope.diagnostics.subject import Subject
from transferscope.estimate import Estimate
from transferscope.numerics.jackknife import jackknife
from transferscope.records import Count, Meaning, Record, check_settings


def linear_cka(features: Float[np.ndarray, "N D"], others: Float[np.ndarray, "N E"]) -> float:
    """Centred kernel alignment with linear kernels, from unbiased estimates of HSIC.

        CKA = HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)),    K = X X', L = Y Y' without their diagonals
        HSIC(K, L) = [tr(K L) + 1'K1 1'L1 / ((n-1)(n-2)) - 2/(n-2) 1'K L1] / (n (n-3))

    Sources: Kornblith et al. 2019; Song et al. 2012 for the unbiased HSIC. The plain estimate tends to 1 when there are
    fewer examples than features, whatever the networks; this one stays around 0 for unrelated features.

    Args:
        features: X, shape (N, D).
        others: Y on the same examples, shape (N, E).

    Returns:
        At most about 1, around 0 (also slightly below) for unrelated features; NaN for fewer than 4 examples or
        constant features.
    """
    n = len(features)
    if n < 4:
        return float("nan")
    grams = [(x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T for x in (features, others)]
    for gram in grams:
        np.fill_diagonal(gram, 0.0)
    own = _hsic(grams[0], grams[0]) * _hsic(grams[1], grams[1])
    return float(_hsic(grams[0], grams[1]) / np.sqrt(own)) if own > 0 else float("nan")


def _hsic(k: np.ndarray, other: np.ndarray) -> float:
    n = len(k)
    ones = k.sum() * other.sum() / ((n - 1) * (n - 2))
    return float(((k * other).sum() + ones - 2 / (n - 2) * (k.sum(axis=0) @ other.sum(axis=0))) / (n * (n - 3)))


def principal_angles(
    features: Float[np.ndarray, "N D"], others: Float[np.ndarray, "N E"], *, n_components: int
) -> Float[np.ndarray, " r"]:
    """Principal angles between the leading principal components of two sets of features.

    Args:
        features: Shape (N, D).
        others: Shape (N, E), on the same examples.
        n_components: Leading components of each that span its space (of functions on the examples), at least 1.

    Returns:
        Angles in radians from the smallest up, each between 0 and pi/2; shape (r,), r the smaller of the two dimensions
        (`n_components`, or the rank if that is less; empty when the features are constant or not finite).
    """
    if not (np.isfinite(features).all() and np.isfinite(others).all()):
        return np.zeros(0)
    spaces = []
    for matrix in (features, others):
        left, singular, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
        smallest = singular.max(initial=0.0) * max(matrix.shape) * np.finfo(np.float64).eps
        spaces.append(left[:, : min(n_components, int((singular > smallest).sum()))])
    if min(space.shape[1] for space in spaces) == 0:
        return np.zeros(0)
    from scipy import linalg  # takes long, and a study without diagnostics needs none

    angles: np.ndarray = np.sort(linalg.subspace_angles(*spaces))
    return angles


@dataclass(frozen=True)
class FeatureSimilarity:
    """CKA and principal angles between the features of two networks on the same examples.

    The other network is the subject's `other`, or else its `start`.

    Attributes:
        n_components: Leading principal components of each network that are compared by angles.
        batch_size: Examples per forward pass.
    """

    name: ClassVar[str] = "feature-similarity"
    headline: ClassVar[str] = "cka"
    meaning: ClassVar[Meaning] = Meaning(
        "CKA with the start",
        lower="features less like those of the start",
        higher="features more like those of the start",
        limits=(
            "CKA is ruled by the directions of largest variance and can stay near 1 while a small direction that the "
            "task needs is lost."
        ),
    )
    needs_source: ClassVar[bool] = False
    needs_start: ClassVar[bool] = True

    n_components: Count = 10
    batch_size: Count = 512

    def __post_init__(self) -> None:
        check_settings(self)

    def measure(self, subject: Subject) -> Findings:
        """Records "cka", "mean_principal_angle" and "largest_principal_angle" (radians).

        Angles are "too_few" when there are not more than twice as many examples as components: any two spaces then
        meet.

        Raises:
            NetworkError: The subject has neither another network nor a start.
        """
        against = subject.other or subject.needs_start(self.name)
        features = feature_array(subject.network, subject, self.batch_size)
        others = feature_array(against, subject, self.batch_size)
        cka = jackknife(lambda index: linear_cka(features[index], others[index]), len(features))
        angles = principal_angles(features, others, n_components=self.n_components)
        named = {
            "cka": cka,
            "mean_principal_angle": self._angle(angles.mean() if len(angles) else None, len(features)),
            "largest_principal_angle": self._angle(angles.max() if len(angles) else None, len(features)),
        }
        records = tuple(Record(name, value, subject.part, subject.step) for name, value in named.items())
        return Findings(records, {"principal_angles": angles})

    def _angle(self, value: float | None, n: int) -> Estimate:
        if value is None:
            return Estimate.missing("undefined", n)
        return Estimate(float(value), None, n, "ok" if n > 2 * self.n_components else "too_few")
