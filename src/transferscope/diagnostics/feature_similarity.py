"""How much the features of two networks have in common."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import feature_array
from transferscope.diagnostics.subject import Subject
from transferscope.numerics.jackknife import jackknife
from transferscope.records import Count, Meaning, Says


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


@dataclass(frozen=True)
class FeatureSimilarity(Diagnostic):
    """CKA between the features of two networks on the same examples.

    The other network is the subject's `other`, or else its `start`.
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
    needs_start: ClassVar[bool] = True

    batch_size: Annotated[Count, Says("Examples per forward pass")] = 512

    def measure(self, subject: Subject) -> Findings:
        """Record "cka"; standard error by the jackknife over examples.

        Raises:
            NetworkError: The subject has neither another network nor a start.
        """
        against = subject.other or subject.needs_start(self.name)
        features = feature_array(subject.network, subject, self.batch_size)
        others = feature_array(against, subject, self.batch_size)
        cka = jackknife(lambda index: linear_cka(features[index], others[index]), len(features))
        return Findings.of(subject, {"cka": cka})
