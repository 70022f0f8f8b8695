"""Bootstrap over seeds and test examples at once: what another set of seeds and another test set might have shown."""

import numpy as np
from jaxtyping import Float, Int, Num

from transferscope.errors import DataError, SettingsError

_DRAWS_AT_ONCE = 250


def bootstrap_means(
    scores: Num[np.ndarray, "methods seeds examples"], *, seed: int, n_draws: int = 2000
) -> Float[np.ndarray, "draws methods"]:
    """Mean score of every method in resampled studies.

    Each draw resamples the seeds with replacement and, independently, the test examples with replacement; all methods
    share both, so that differences between methods stay paired. With weights w (seeds, summing to S) and v (examples,
    summing to N) the mean is

        sum_s sum_e w_s v_e x_mse / (S N)

    With S seeds the spread over seeds comes out too small by the factor sqrt((S - 1) / S); with one seed, only the
    test examples vary.

    Args:
        scores: One number per method, seed and test example, higher is better: 1 or 0 for right or wrong, or minus
            the squared error. Shape (methods, seeds, examples).
        seed: Of the resampling.
        n_draws: Number of resampled studies, at least 1.

    Returns:
        float64, shape (n_draws, methods).

    Raises:
        DataError: A dimension is empty, or a score is not finite.
        SettingsError: `n_draws` is below 1.
    """
    if n_draws < 1:
        raise SettingsError(f"n_draws = {n_draws} was given; expected at least 1")
    if scores.size == 0 or not np.isfinite(scores).all():
        raise DataError(f"scores of shape {scores.shape} are empty or not finite; give one finite number for each")
    rng = np.random.default_rng(seed)
    n_methods, n_seeds, n_examples = scores.shape
    x = scores.reshape(n_methods * n_seeds, n_examples).astype(np.float64)
    means = []
    for start in range(0, n_draws, _DRAWS_AT_ONCE):
        n = min(_DRAWS_AT_ONCE, n_draws - start)
        v = _multiplicities(rng, n, n_examples)  # (n, examples)
        w = _multiplicities(rng, n, n_seeds)  # (n, seeds)
        per_seed = (v @ x.T).reshape(n, n_methods, n_seeds)
        means.append(np.einsum("dms,ds->dm", per_seed, w) / (n_seeds * n_examples))
    return np.concatenate(means)


def probability_of_best(means: Float[np.ndarray, "draws methods"]) -> Float[np.ndarray, "methods"]:
    """Share of the draws in which each method has the highest mean; methods that tie share the draw.

    Args:
        means: From `bootstrap_means`, shape (draws, methods).

    Returns:
        Shape (methods,), in [0, 1], summing to 1.
    """
    is_best = means >= means.max(axis=1, keepdims=True) - 1e-12
    shares = is_best / is_best.sum(axis=1, keepdims=True)
    return np.asarray(shares.mean(axis=0), dtype=np.float64)


def _multiplicities(rng: np.random.Generator, n_draws: int, n_items: int) -> Float[np.ndarray, "draws items"]:
    """How often each item was drawn when n_items are drawn with replacement."""
    index: Int[np.ndarray, "draws items"] = rng.integers(0, n_items, size=(n_draws, n_items))
    flat = (index + np.arange(n_draws)[:, None] * n_items).ravel()
    return np.bincount(flat, minlength=n_draws * n_items).reshape(n_draws, n_items).astype(np.float64)
