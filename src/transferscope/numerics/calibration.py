"""Temperature scaling of the outputs of a network to calibrated probabilities (Guo et al. 2017)."""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

_LOG_RANGE = (-12.0, 12.0)


def fit_temperature(
    outputs: Float[np.ndarray, "N C"], labels: Int[np.ndarray, " N"] | Bool[np.ndarray, "N C"]
) -> float:
    """Return the temperature T that maximises the likelihood of labelled examples under softmax(outputs / T).

    Predictions do not change. Outputs of ridge regression (underconfident, within one unit) and of networks trained to
    overconfidence become comparable probabilities. As in Platt (1999), a share of 1 / (N + 2) of each label goes to the
    other classes, so that T stays above 0 if every prediction is right.

    Args:
        outputs: Logits of held-out examples, shape (N, K).
        labels: Their classes, or which of several labels each has, for sigmoid(outputs / T).

    Returns:
        T, above 0; 1 if all outputs are equal or there are no examples.
    """
    logits = outputs.astype(np.float64)
    several = labels.dtype == np.bool_
    differ = logits if several else logits - logits.mean(axis=1, keepdims=True)
    size = float(np.abs(differ).max(initial=0.0))
    if not size or not np.isfinite(size):
        return 1.0
    n, n_classes = logits.shape
    wrong = 1.0 / (n + 2)
    if several:
        share = np.where(labels, 1 - wrong, wrong)
    else:
        share = np.full(logits.shape, wrong / max(n_classes - 1, 1))
        share[np.arange(n), labels] = 1 - wrong

    def risk(log_inverse: float) -> float:
        scaled = np.exp(log_inverse) * logits / size
        if several:
            return -float((share * log_expit(scaled) + (1 - share) * log_expit(-scaled)).mean())
        return -float((share * log_softmax(scaled, axis=1)).sum(axis=1).mean())

    minimum = minimize_scalar(risk, bounds=_LOG_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(size * np.exp(-minimum.x))
