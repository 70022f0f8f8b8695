"""Linear transfer with a ridge penalty on the head (tahir2024, Theorem 3.8, with two corrections).

The head minimises (1/2n) ||Phi w - y||^2 + (lambda/2) ||w||^2 on the one feature that pretraining leaves.

Corrections. "The optimal lambda is 0" in the paper holds for n -> infinity only; at finite n it is `optimal_ridge`. And
the feature has norm s^((L-1)/L) in a balanced network of depth L whose source teacher has norm s, so that lambda acts
as lambda s^(-2(L-1)/L); the paper has s = 1.

Everywhere `ridge` lambda, `sigma` and `target_norm` tau are at least 0; `theta`, in radians, is in [0, pi]; s, which is
`source_norm`, is above 0; n is at least 1, and `depth` L at least 2 (one layer has no features to freeze). Results are
broadcast, and SettingsError says what is out of range.
"""

import numpy as np

from transferscope_papers.parameters import Array, Numbers, above, angle, at_least
from transferscope_papers.theory.linear_transfer import unlearnable

_NODES = 513


def ridge_risk(
    ridge: Numbers,
    theta: Numbers,
    n: Numbers,
    *,
    sigma: Numbers,
    source_norm: Numbers = 1.0,
    target_norm: Numbers = 1.0,
    depth: Numbers = 2,
) -> Array:
    """Return the risk of linear transfer with a ridge, exact for every n by quadrature over u ~ chi^2_n.

        tau^2 + tau^2 c^2 E[u^2/(u+a)^2] + (tau^2 sin^2 + sigma^2) E[u/(u+a)^2] - 2 tau^2 c^2 E[u/(u+a)]

    with a = n lambda s^(-2(L-1)/L). With lambda = 0 it is `linear_transfer_risk`.
    """
    n, sigma, tau = at_least("n", n, 1), at_least("sigma", sigma, 0), at_least("target_norm", target_norm, 0)
    a = n * at_least("ridge", ridge, 0) / _feature_norm_squared(source_norm, depth)
    c, outside = np.cos(angle(theta)), unlearnable(theta, target_norm)
    shrink, shrink_squared, inflation = _chi_squared_means(n, a)
    with np.errstate(invalid="ignore"):
        variance = np.where(outside + sigma**2 == 0, 0.0, (outside + sigma**2) * inflation)
    return np.asarray(tau**2 + (tau * c) ** 2 * (shrink_squared - 2 * shrink) + variance)


def ridge_risk_limit(ridge: Numbers, theta: Numbers) -> Array:
    """Return the limit n -> infinity at tau = s = 1: 1 - c^2 (1 + 2 lambda)/(1 + lambda)^2 (tahir2024, Theorem 3.8, eq.
    15).

    It is increasing in lambda, and below the risk at finite n (by 7 % at n = 20, lambda = 0.3, theta = pi/6,
    sigma = 0.5).
    """
    c, lam = np.cos(angle(theta)), at_least("ridge", ridge, 0)
    return np.asarray(1 - c**2 * (1 + 2 * lam) / (1 + lam) ** 2)


def optimal_ridge(
    theta: Numbers,
    n: Numbers,
    *,
    sigma: Numbers,
    source_norm: Numbers = 1.0,
    target_norm: Numbers = 1.0,
    depth: Numbers = 2,
) -> Array:
    """Return the ridge with the least risk: (sigma^2 + tau^2 sin^2) / (n tau^2 c^2) times s^(2(L-1)/L).

    It is optimal for every draw of the inputs, not just on average. For orthogonal teachers it is infinite: the feature
    is useless, and the best head is 0. tau is above 0.
    """
    sigma, tau, n = at_least("sigma", sigma, 0), above("target_norm", target_norm, 0), at_least("n", n, 1)
    c = np.cos(angle(theta))
    learnable = (tau * np.where(np.abs(c) < 1e-15, 0.0, c)) ** 2
    with np.errstate(divide="ignore"):
        ratio = (sigma**2 + unlearnable(theta, tau)) / (n * learnable)
    return np.asarray(ratio * _feature_norm_squared(source_norm, depth))


def _feature_norm_squared(source_norm: Numbers, depth: Numbers) -> Array:
    """Return s^(2(L-1)/L): the squared norm of the one feature of a balanced network."""
    return np.asarray(above("source_norm", source_norm, 0) ** (2 * (1 - 1 / at_least("depth", depth, 2))))


def _chi_squared_means(n: Numbers, a: Numbers) -> tuple[Array, Array, Array]:
    """Return E[u/(u+a)], E[u^2/(u+a)^2] and E[u/(u+a)^2] for u ~ chi^2_n.

    By the trapezoidal rule in t = log u, whose integrand is analytic and decays at both ends: error below 1e-12. The
    nodes cover chi^2_n down to a density of 1e-17 of its peak.
    """
    n, a = (values[..., None] for values in np.broadcast_arrays(n, a))
    spread = 10 * np.sqrt(2 / n) + 80 / n
    low, high = np.log(n) - spread, np.log(n) + np.log1p(spread)
    u = np.exp(low + (high - low) * np.linspace(0, 1, _NODES))  # (..., nodes)
    weight = np.exp(n / 2 * np.log(u / n) - (u - n) / 2)
    weight /= weight.sum(axis=-1, keepdims=True)
    left = u / (u + a)
    with np.errstate(divide="ignore"):
        without_ridge = np.where(n > 2, 1 / (n - 2), np.inf)
    inflation = np.where(a == 0, without_ridge, (weight * left**2 / u).sum(axis=-1, keepdims=True))
    shrink, shrink_squared = (np.asarray((weight * power).sum(axis=-1)) for power in (left, left**2))
    return shrink, shrink_squared, np.asarray(inflation[..., 0])
