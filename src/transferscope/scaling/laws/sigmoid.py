"""The sigmoid-like law between an upper and a lower plateau (M4)."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid

NEWTON_STEPS = 60


def _logits(log_t: Float[np.ndarray, "B m"], bend: Float[np.ndarray, "B 1"]) -> Float[np.ndarray, "B m"]:
    r"""The logit u of z, where z / (1 - z)^a = t.

    With z = \sigma(u): log z - a log(1 - z) = log t, an increasing function of u with slope in [min(1, a), max(1, a)],
    so Newton's method from any start converges.
    """
    u = log_t / np.where(log_t > 0, bend, 1.0)
    for _ in range(NEWTON_STEPS):
        z = 1 / (1 + np.exp(-u))
        residual = -np.logaddexp(0, -u) + bend * np.logaddexp(0, u) - log_t
        step = residual / (1 - z + bend * z)
        u = u - step
        if np.abs(step).max(initial=0.0) < 1e-12 * (1 + np.abs(u).max(initial=0.0)):
            break
    return u


def _share(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m"]:
    """The logit of the share z that is still left of the way from plateau to plateau."""
    alpha, x_c, bend = eta[:, :1], eta[:, 1:2], eta[:, 2:]
    with np.errstate(divide="ignore"):
        log_t = -alpha * (np.log(x[:, 0]) - np.log(x_c))
    return _logits(np.minimum(log_t, 600.0), bend)


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    z = 1 / (1 + np.exp(-_share(x, eta)))
    return np.stack([z, np.ones_like(z)], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    alpha, x_c, bend = eta[:, :1], eta[:, 1:2], eta[:, 2:]
    u = _share(x, eta)
    z = 1 / (1 + np.exp(-u))
    slope = z * (1 - z) / (1 - z + bend * z)  # dz / d log t
    log_ratio = np.log(np.where(x[:, 0] > 0, x[:, 0], 1.0)) - np.log(x_c)
    log_ratio = np.where(x[:, 0] > 0, log_ratio, 0.0)
    by_alpha, by_x_c = -log_ratio * slope, alpha / x_c * slope
    by_bend = -np.logaddexp(0, u) * slope
    by_eta = np.stack([by_alpha, by_x_c, by_bend], axis=2)
    return np.stack([by_eta, np.zeros_like(by_eta)], axis=2)


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, x_c, bend, height, C = theta.T
    return np.stack([alpha, x_c / unit[0], bend, height, C], axis=1)


SIGMOID = Law(
    name="sigmoid",
    formula="C + H z,  z / (1 - z)^a = (x / x_c)^-alpha",
    source="M4 of Alabdulmohsin et al. 2022, with z = (f - C) / H and H = f(0) - C",
    nonlinear=(
        Parameter("alpha", "rate at large sizes", 0.02, 6.0),
        Parameter("x_c", "size at which the fall sets in", 1e-6, 1e4, "log", size=0),
        Parameter("a", "how slowly the upper plateau is left", 0.1, 10.0, "log"),
    ),
    linear=(Parameter("H", "error without data above the floor"), Parameter("C", "the error that stays")),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(np.geomspace(0.06, 4.0, 14), np.geomspace(1e-4, 30.0, 9), np.array([0.3, 1.0, 3.0])),
    in_unit=_in_unit,
    allows_zero=(True,),
)
r"""f(x) = C + H z(x) with z / (1 - z)^a = (x / x_c)^{-\alpha}. x >= 0; f(0) = C + H. a = 1 is Hill's curve."""
