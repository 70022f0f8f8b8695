"""Training a linear network from scratch: minimum-norm least squares (tahir2024, Theorem 3.6).

x ~ N(0, I_d), y = x'theta_T + eps with eps ~ N(0, sigma^2), n examples. The risk is ||beta - theta_T||^2 on average
over the examples, without the floor sigma^2. A deep linear network that starts near zero reaches the same solution,
whatever its depth. `sigma` and `target_norm` tau are at least 0; results are broadcast, and SettingsError says what is
out of range.
"""

import numpy as np

from transferscope_papers.parameters import Array, Numbers, at_least


def scratch_risk(gamma: Numbers, *, sigma: Numbers, target_norm: Numbers = 1.0) -> Array:
    """Return the risk from scratch in the limit n, d -> infinity at n/d = gamma >= 0 (tahir2024, Theorem 3.6, eq. 10).

        gamma < 1:  tau^2 (1 - gamma) + sigma^2 gamma / (1 - gamma)
        gamma > 1:  sigma^2 / (gamma - 1)

    At gamma = 1 it is infinite, or 0 without noise. For comparison with simulations use `scratch_risk_finite`.
    """
    gamma, sigma, tau = (
        at_least("gamma", gamma, 0),
        at_least("sigma", sigma, 0),
        at_least("target_norm", target_norm, 0),
    )
    return np.asarray(tau**2 * np.maximum(1 - gamma, 0) + variance_limit(gamma, sigma))


def scratch_risk_finite(n: Numbers, d: Numbers, *, sigma: Numbers, target_norm: Numbers = 1.0) -> Array:
    """Return the risk from scratch, exact for every n >= 0 and d >= 1.

        n < d - 1:  tau^2 (1 - n/d) + sigma^2 n / (d - n - 1)
        n > d + 1:  sigma^2 d / (n - d - 1)

    For d - 1 <= n <= d + 1 it is infinite (the mean of an inverse Wishart matrix), unless there is no noise.
    """
    n, d = at_least("n", n, 0), at_least("d", d, 1)
    sigma, tau = at_least("sigma", sigma, 0), at_least("target_norm", target_norm, 0)
    return np.asarray(tau**2 * np.maximum(1 - n / d, 0) + variance_finite(n, d, sigma))


def variance_limit(gamma: Numbers, sigma: Numbers) -> Array:
    """Return E ||X^+ eps||^2 for n, d -> infinity: sigma^2 gamma/(1 - gamma) below gamma = 1, sigma^2/(gamma - 1)
    above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inflation = np.minimum(gamma, 1) / np.abs(1 - gamma)
    return _noise(sigma, inflation)


def variance_finite(n: Numbers, d: Numbers, sigma: Numbers) -> Array:
    """Return E ||X^+ eps||^2 for n examples of N(0, I_d), exact: sigma^2 min(n, d) / (|n - d| - 1)."""
    excess = np.abs(n - d) - 1
    with np.errstate(divide="ignore"):
        inflation = np.where(excess > 0, np.minimum(n, d) / excess, np.inf)
    return _noise(sigma, inflation)


def _noise(sigma: Numbers, inflation: Numbers) -> Array:
    """Return sigma^2 times its inflation, with 0 times infinity taken as 0: no noise, no variance."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(sigma == 0, 0.0, sigma**2 * inflation))
