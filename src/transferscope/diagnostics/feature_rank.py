"""How many directions the features use."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import feature_array
from transferscope.diagnostics.subject import Subject
from transferscope.numerics.jackknife import jackknife
from transferscope.records import Meaning


def effective_rank(features: Float[np.ndarray, "N D"]) -> float:
    """Return exp(-sum_i p_i log p_i) with p_i = s_i / sum_j s_j, s the singular values of the features.

    Source: Roy and Vetterli, "The effective rank: a measure of effective dimensionality" (2007).

    Args:
        features: Shape (N, D), centred or not.

    Returns:
        Between 1 and min(N, D); NaN when all features are zero, or not finite.
    """
    singular = _singular_values(features)
    if not singular.sum() > 0:
        return float("nan")
    shares = singular[singular > 0] / singular.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def leading_share(features: Float[np.ndarray, "N D"]) -> float:
    """Return s_1^2 / sum_i s_i^2, the share of the features' variance along their leading direction.

    Deep linear networks pretrained in the feature-learning regime have rank-one features, share 1 ("Features are
    fate", Theorem 3.4: sparsification).

    Args:
        features: Shape (N, D), centred or not.

    Returns:
        Between 1 / min(N, D) and 1; NaN when all features are zero, or not finite.
    """
    squares = _singular_values(features) ** 2
    return float(squares[0] / squares.sum()) if squares.sum() > 0 else float("nan")


def _singular_values(features: np.ndarray) -> np.ndarray:
    if not np.isfinite(features).all():
        return np.zeros(1)
    singular: np.ndarray = np.linalg.svd(features, compute_uv=False)
    return singular


@dataclass(frozen=True)
class FeatureRank(Diagnostic):
    """Effective rank and sparsification of the features."""

    name: ClassVar[str] = "feature-rank"
    headline: ClassVar[str] = "effective_rank"
    meaning: ClassVar[Meaning] = Meaning(
        "effective rank of the features",
        lower="features of fewer directions",
        higher="features of more directions",
        limits=(
            "A low rank helps only if the target function lies in the few directions that are left, which this does "
            "not see; with fewer examples than features the rank is bounded by the number of examples."
        ),
    )
    looks_at: ClassVar[str] = "features"

    def measure(self, subject: Subject) -> Findings:
        """Return records "effective_rank" and "leading_share"; standard errors by the jackknife over examples."""
        features = feature_array(subject)
        rank = jackknife(lambda index: effective_rank(_centred(features[index])), len(features))
        share = jackknife(lambda index: leading_share(_centred(features[index])), len(features))
        named = {"effective_rank": rank, "leading_share": share}
        return Findings.of(subject, named)


def _centred(features: np.ndarray) -> np.ndarray:
    """Return the centred features; the theorem of linear networks without bias assumes a mean of zero."""
    centred: np.ndarray = features - features.mean(axis=0)
    return centred
