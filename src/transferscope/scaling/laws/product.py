"""A power law in both sizes at once."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    n, s = x.T
    result: Float[np.ndarray, "B m k"] = (n ** -eta[:, :1] * s ** -eta[:, 1:])[:, :, None]
    return result


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    result: Float[np.ndarray, "B m k q"] = -np.log(x)[:, None, :] * _basis(x, eta)[..., None]
    return result


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, beta, D = theta.T
    return np.stack([alpha, beta, D * unit[0] ** -alpha * unit[1] ** -beta], axis=1)


PRODUCT = Law(
    name="product",
    formula="D n^-alpha s^-beta",
    source="the full law with gamma = 0",
    nonlinear=(
        Parameter("alpha", "pre-training rate", 0.0, 4.0),
        Parameter("beta", "fine-tuning rate", 0.0, 4.0),
    ),
    linear=(Parameter("D", "error at n = s = 1"),),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(
        np.concatenate([[0.0], np.geomspace(0.005, 4.0, 24)]), np.concatenate([[0.0], np.geomspace(0.005, 4.0, 24)])
    ),
    in_unit=_in_unit,
    allows_zero=(False, False),
)
r"""f(n, s) = D n^{-\alpha} s^{-\beta}. n, s > 0."""
