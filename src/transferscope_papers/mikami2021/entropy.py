"""Negative entropy of features: the variety of data as a network sees them."""

import numpy as np
from jaxtyping import Float


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
    from sklearn.covariance import ledoit_wolf  # imported here, since scikit-learn is slow to import

    covariance, _ = ledoit_wolf(features)
    sign, log_det = np.linalg.slogdet(covariance)
    if sign <= 0 or not np.isfinite(log_det):
        return float("nan")
    return float(-0.5 * (features.shape[1] * np.log(2 * np.pi * np.e) + log_det))
