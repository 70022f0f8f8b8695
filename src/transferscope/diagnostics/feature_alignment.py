"""How easily labels are predicted from features."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import feature_array, label_codes
from transferscope.diagnostics.subject import Subject
from transferscope.estimate import Estimate
from transferscope.records import Meaning

RIDGE = 0.1
"""lambda on the sum of squares, of features of mean square norm 1."""


def feature_label_alignment(
    features: Float[np.ndarray, "n m"], codes: Float[np.ndarray, "n C"], *, ridge: float
) -> Estimate:
    """Return the sum over outputs of y' (H H' + lambda I)^-1 y; smaller is better.

    Source: "Meta-learning Transferable Representations with a Single Target Domain", section A.6, with the Gram matrix
    the way round that the shapes demand (n x n; the paper prints H'H). It is the squared norm of the ridge head plus
    the squared residual over lambda, and falls as 1/s^2 when features are scaled by s: state the scale.

    Args:
        features: H, shape (n, m), at the scale to be stated.
        codes: y, one column per output, shape (n, C).
        ridge: lambda, at least 0.

    Returns:
        The exact value; "unbounded" when lambda is 0 and the labels are not in the span of the features.
    """
    left, singular, _ = np.linalg.svd(features, full_matrices=False)
    projections = left.T @ codes
    if ridge == 0:
        kept = singular > singular.max(initial=0.0) * max(features.shape) * np.finfo(np.float64).eps
        left, singular, projections = left[:, kept], singular[kept], projections[kept]
    outside = ((codes - left @ projections) ** 2).sum()
    inside = float((projections**2 / (singular**2 + ridge)[:, None]).sum())
    if ridge == 0 and outside > 1e-18 * (codes**2).sum():
        return Estimate(float("inf"), None, len(features), "unbounded")
    return Estimate(inside + (float(outside) / ridge if ridge > 0 else 0.0), 0.0, len(features))


@dataclass(frozen=True)
class FeatureAlignment(Diagnostic):
    """Feature-label alignment on features of mean square norm 1.

    The scale: H is divided by the root of the mean squared norm of its rows. Labels are coded e_c - 1/C.
    """

    name: ClassVar[str] = "feature-alignment"
    headline: ClassVar[str] = "feature_label_alignment"
    meaning: ClassVar[Meaning] = Meaning(
        "cost of fitting labels by the features",
        lower="features more aligned with the labels",
        higher="features further from the labels",
        expected="lower",
        limits=(
            "The value grows with the number of examples and depends on the ridge, so compare networks on the same "
            "examples only; it speaks about a linear head on frozen features."
        ),
    )
    looks_at: ClassVar[str] = "features"

    def measure(self, subject: Subject) -> Findings:
        """Record "feature_label_alignment"; "undefined" when all features are zero."""
        features = feature_array(subject)
        scale = float(np.sqrt((features**2).sum(axis=1).mean()))
        if not np.isfinite(scale) or scale == 0:
            estimate = Estimate.missing("undefined", len(features))
        else:
            codes = label_codes(subject.examples)
            estimate = feature_label_alignment(features / scale, codes, ridge=RIDGE)
        return Findings.of(subject, {"feature_label_alignment": estimate})
