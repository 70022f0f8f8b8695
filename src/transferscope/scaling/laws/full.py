"""The full law of Syn2Real transfer in pre-training size n and fine-tuning size s."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid

_RATES = (
    Parameter("alpha", "pre-training rate", 0.02, 4.0),
    Parameter("beta", "fine-tuning rate", 0.0, 2.0),
)
_COEFFICIENTS = (
    Parameter("delta*gamma", "error at s = 1 that pre-training leaves"),
    Parameter("delta", "error at s = 1 that pre-training removes, at n = 1"),
)
_GRID = product_grid(np.geomspace(0.02, 4.0, 32), np.linspace(0.0, 2.0, 31))


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    n, s = x.T
    alpha, beta = eta[:, :1], eta[:, 1:]
    return np.stack([s**-beta, n**-alpha * s**-beta], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    n, s = x.T
    alpha, beta = eta[:, :1], eta[:, 1:]
    tuned, both = s**-beta, n**-alpha * s**-beta
    by_alpha = np.stack([np.zeros_like(tuned), -np.log(n) * both], axis=2)
    by_beta = np.stack([-np.log(s) * tuned, -np.log(s) * both], axis=2)
    return np.stack([by_alpha, by_beta], axis=3)


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, beta, delta_gamma, delta = theta.T
    tuned = unit[1] ** -beta
    return np.stack([alpha, beta, delta_gamma * tuned, delta * unit[0] ** -alpha * tuned], axis=1)


def _basis_with_floor(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    inner = _basis(x, eta)
    return np.concatenate([inner, np.ones_like(inner[..., :1])], axis=2)


def _basis_jacobian_with_floor(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    inner = _basis_jacobian(x, eta)
    return np.concatenate([inner, np.zeros_like(inner[:, :, :1])], axis=2)


def _in_unit_with_floor(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    return np.concatenate([_in_unit(theta[:, :4], unit), theta[:, 4:]], axis=1)


FULL = Law(
    name="full",
    formula="delta (gamma + n^-alpha) s^-beta",
    source="Mikami et al. 2021, eq. 2",
    nonlinear=_RATES,
    linear=_COEFFICIENTS,
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=_GRID,
    in_unit=_in_unit,
    allows_zero=(False, False),
)
r"""f(n, s) = \delta (\gamma + n^{-\alpha}) s^{-\beta}, with the coefficients \delta\gamma and \delta. n, s > 0."""

FULL_FLOOR = Law(
    name="full+floor",
    formula="delta (gamma + n^-alpha) s^-beta + E",
    source="Mikami et al. 2021, eq. 2 with the irreducible loss E",
    nonlinear=_RATES,
    linear=(*_COEFFICIENTS, Parameter("E", "irreducible error")),
    basis=_basis_with_floor,
    basis_jacobian=_basis_jacobian_with_floor,
    grid=_GRID,
    in_unit=_in_unit_with_floor,
    allows_zero=(False, False),
)
r"""f(n, s) = \delta (\gamma + n^{-\alpha}) s^{-\beta} + E. n, s > 0."""
