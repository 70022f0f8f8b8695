"""The power law with one smooth break and a floor."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid


def _log_power(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m"]:
    c_0, c_1, d, f = eta.T[:, :, None]
    log_x = np.log(x[:, 0])
    log_power: Float[np.ndarray, "B m"] = -c_0 * log_x - c_1 * f * np.logaddexp(0, (log_x - np.log(d)) / f)
    return log_power


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    power = np.exp(_log_power(x, eta))
    return np.stack([power, np.ones_like(power)], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    _, c_1, d, f = eta.T[:, :, None]
    power = np.exp(_log_power(x, eta))
    v = (np.log(x[:, 0]) - np.log(d)) / f
    softplus, sigmoid = np.logaddexp(0, v), np.exp(-np.logaddexp(0, -v))
    by_c_0, by_c_1 = -np.log(x[:, 0]) * power, -f * softplus * power
    by_d, by_f = c_1 * sigmoid / d * power, -c_1 * (softplus - v * sigmoid) * power
    by_eta = np.stack([by_c_0, by_c_1, by_d, by_f], axis=2)
    return np.stack([by_eta, np.zeros_like(by_eta)], axis=2)


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    c_0, c_1, d, f, b, C = theta.T
    return np.stack([c_0, c_1, d / unit[0], f, b * unit[0] ** -c_0, C], axis=1)


BROKEN_POWER = Law(
    name="broken-power",
    formula="b x^-c_0 (1 + (x/d)^(1/f))^(-c_1 f) + C",
    source="Caballero et al. 2023 (BNSL) with one break",
    nonlinear=(
        Parameter("c_0", "rate before the break", 0.0, 4.0),
        Parameter("c_1", "change of the rate at the break", -4.0, 4.0),
        Parameter("d", "size at the break", 1e-3, 1e3, "log", size=0),
        Parameter("f", "width of the break in log size", 0.05, 3.0, "log"),
    ),
    linear=(Parameter("b", "scale of the error"), Parameter("C", "the error that stays")),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(
        np.array([0.0, 0.05, 0.15, 0.4, 1.0]),
        np.array([-0.8, -0.25, -0.08, 0.08, 0.25, 0.8, 2.0]),
        np.geomspace(0.03, 30.0, 8),
        np.array([0.15, 0.6, 1.8]),
    ),
    in_unit=_in_unit,
)
r"""f(x) = b x^{-c_0} (1 + (x/d)^{1/f})^{-c_1 f} + C. x > 0. The only law here that can rise again (c_0 + c_1 < 0)."""
