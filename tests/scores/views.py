"""Views that the scores are tried on."""

import numpy as np

from transferscope.scores import TargetView


def probabilities(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def classes_view(
    n: int = 60, d: int = 8, n_classes: int = 3, *, signal: float = 2.0, seed: int = 0, n_source: int = 5
) -> TargetView:
    """Gaussian classes; the source head leans to one source class for each class as far as there is signal."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    means = rng.standard_normal((n_classes, d))
    features = signal * means[labels] + rng.standard_normal((n, d))
    logits = rng.standard_normal((n, n_source))
    logits[np.arange(n), labels % n_source] += 2 * signal
    return TargetView(features, labels.astype(np.int64), probabilities(logits))


def regression_view(
    n: int = 60, d: int = 8, n_outputs: int = 2, *, signal: float = 1.0, noise: float = 0.3, seed: int = 0
) -> TargetView:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, d))
    clean = features @ rng.standard_normal((d, n_outputs)) / np.sqrt(d)
    return TargetView(features, signal * clean + noise * rng.standard_normal((n, n_outputs)))
