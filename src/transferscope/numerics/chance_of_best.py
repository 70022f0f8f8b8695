"""The chance that each of several methods is the best: for other seeds and test examples, with differences shrunk."""

import numpy as np
from jaxtyping import Float, Num

from transferscope.errors import DataError, SettingsError
from transferscope.numerics.paired import sd_of_test_set

_N_SPREADS = 40


def chance_of_best(
    scores: Num[np.ndarray, "methods seeds examples"], *, seed: int, n_draws: int = 4000
) -> Float[np.ndarray, " methods"]:
    """Probability that each method has the highest mean for other seeds and test examples, by an empirical Bayes model.

    With m_k the mean of method k minus the mean of all K methods, the model is

        m_k ~ N(theta_k, V_k),   theta_k ~ N(0, tau^2),   tau ~ half-Cauchy(median V_k^(1/2))
        V_k = v_k (S - 1) / chi2_{S-1} + E_k

    v_k is the variance of the mean over seeds (what a seed gives to all methods is taken out first), E_k what the draw
    of the test examples adds (as in `paired.sd_of_test_set`). Each draw takes V, then tau from its posterior on a grid,
    then theta from its own: differences that are no larger than their error are shrunk towards none, so that methods
    which cannot be told apart have about 1 / K each. Errors of different methods are taken as independent after
    centring; for two methods that err on the same examples this claims too little rather than too much.

    Args:
        scores: One number per method, seed and test example, higher is better: 1 or 0 for right or wrong, or minus
            the squared error. Shape (K, S, N) with K, S and N at least 2.
        seed: Of the draws.
        n_draws: At least 1.

    Returns:
        Shape (K,), in [0, 1], summing to 1.

    Raises:
        DataError: A dimension is below 2, or a score is not finite.
        SettingsError: `n_draws` is below 1.
    """
    if n_draws < 1:
        raise SettingsError(f"n_draws = {n_draws} was given; expected at least 1")
    if min(scores.shape) < 2 or not np.isfinite(scores).all():
        raise DataError(
            f"scores of shape {scores.shape} are too few or not finite; give finite numbers of at least two methods, "
            "two seeds and two examples"
        )
    rng = np.random.default_rng(seed)
    k, s, _ = scores.shape
    x = scores - scores.mean(axis=0)  # (K, S, N), centred over methods
    of_seeds = x.mean(axis=2)  # (K, S)
    m = of_seeds.mean(axis=1)
    centring = k / (k - 1)  # centred methods vary less, by this factor where all vary alike
    v = centring * of_seeds.var(axis=1, ddof=1) / s
    e = centring * np.array([sd_of_test_set(of_method) ** 2 for of_method in x])
    variance = v * (s - 1) / rng.chisquare(s - 1, size=(n_draws, k)) + e + 1e-18  # (draws, K)
    quantiles = (np.arange(_N_SPREADS) + 0.5) / _N_SPREADS
    tau = np.sqrt(np.median(v + e) + 1e-18) * np.tan(np.pi / 2 * quantiles)  # of the half-Cauchy prior
    total = tau[:, None] ** 2 + variance[:, None, :]  # (draws, tau, K)
    log_weight = -0.5 / centring * (np.log(total) + m**2 / total).sum(axis=2)  # K centred means have K - 1 to spare
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True)).cumsum(axis=1)
    drawn = (weight < weight[:, -1:] * rng.random((n_draws, 1))).sum(axis=1)
    kept = tau[drawn, None] ** 2 / (tau[drawn, None] ** 2 + variance)
    return probability_of_best(kept * m + np.sqrt(kept * variance) * rng.standard_normal((n_draws, k)))


def probability_of_best(means: Float[np.ndarray, "draws methods"]) -> Float[np.ndarray, " methods"]:
    """Share of the draws in which each method has the highest mean; methods that tie share the draw.

    Args:
        means: What the means might be, shape (draws, methods).

    Returns:
        Shape (methods,), in [0, 1], summing to 1.
    """
    is_best = means >= means.max(axis=1, keepdims=True) - 1e-12
    shares = is_best / is_best.sum(axis=1, keepdims=True)
    return np.asarray(shares.mean(axis=0), dtype=np.float64)
