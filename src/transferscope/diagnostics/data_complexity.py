"""How varied the data look to a network."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import features_of
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.estimate import Estimate
from transferscope.numerics.jackknife import jackknife
from transferscope.records import Meaning


def negative_entropy(features: Float[np.ndarray, "N D"]) -> float:
    """Return the negative entropy of a Gaussian fitted to the features, in nats.

        -h = -(1/2) (D log(2 pi e) + log det S)

    Source: "A Scaling Law for Syn2real Transfer", section 4.5, with the Ledoit-Wolf shrinkage covariance S, which is
    invertible when there are fewer examples than features. It rises by D log(1/s) when features are scaled by s.

    Args:
        features: Shape (N, D), activations of the backbone's last layer.

    Returns:
        The negative entropy; lower is more varied. NaN when the features do not vary or are not finite.
    """
    if len(features) < 2 or not np.isfinite(features).all():
        return float("nan")
    from sklearn.covariance import ledoit_wolf  # here, as wherever scikit-learn is used: it takes long to import

    covariance, _ = ledoit_wolf(features)
    sign, log_det = np.linalg.slogdet(covariance)
    if sign <= 0 or not np.isfinite(log_det):
        return float("nan")
    return float(-0.5 * (features.shape[1] * np.log(2 * np.pi * np.e) + log_det))


@dataclass(frozen=True)
class DataComplexity(Diagnostic):
    """Negative entropy of a Gaussian fitted to the features of the start (or of the network, without a start).

    One backbone must look at all the data sets that are compared, so the start is preferred.
    """

    name: ClassVar[str] = "data-complexity"
    headline: ClassVar[str] = "negative_entropy"
    meaning: ClassVar[Meaning] = Meaning(
        "negative entropy of the features",
        lower="more varied features",
        higher="less varied features",
        limits=(
            "It compares data sets through one backbone only, depends on the scale and width of its features, and "
            "sees no more than their covariance."
        ),
    )
    looks_at: ClassVar[str] = "features"

    def measure(self, subject: Subject) -> Findings:
        """Record "negative_entropy", and "source_negative_entropy" if the subject has source examples."""
        named = {"negative_entropy": subject.examples}
        if subject.source is not None:
            named["source_negative_entropy"] = subject.source
        return Findings.of(subject, {name: self._estimate(subject, examples) for name, examples in named.items()})

    def _estimate(self, subject: Subject, examples: Examples) -> Estimate:
        backbone = subject.start or subject.network
        features = features_of(backbone, examples, head=subject.head).numpy()
        return jackknife(lambda index: negative_entropy(features[index]), len(features))
