"""Pre-training and fine-tuning that help apart from each other."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    n, s = x.T
    pretrained, tuned = n ** -eta[:, :1], s ** -eta[:, 1:]
    return np.stack([pretrained, tuned, np.ones_like(tuned)], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    n, s = x.T
    jacobian = np.zeros((len(eta), len(x), 3, 2))
    jacobian[:, :, 0, 0] = -np.log(n) * n ** -eta[:, :1]
    jacobian[:, :, 1, 1] = -np.log(s) * s ** -eta[:, 1:]
    return jacobian


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, beta, A, B, E = theta.T
    return np.stack([alpha, beta, A * unit[0] ** -alpha, B * unit[1] ** -beta, E], axis=1)


ADDITIVE = Law(
    name="additive",
    formula="A n^-alpha + B s^-beta + E",
    source="Tripuraneni et al. 2020 with free rates; the form of Hoffmann et al. 2022, eq. 2",
    nonlinear=(
        Parameter("alpha", "pre-training rate", 0.02, 4.0),
        Parameter("beta", "fine-tuning rate", 0.02, 4.0),
    ),
    linear=(
        Parameter("A", "error that pre-training removes, at n = 1"),
        Parameter("B", "error that fine-tuning removes, at s = 1"),
        Parameter("E", "irreducible error"),
    ),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(np.geomspace(0.02, 4.0, 28), np.geomspace(0.02, 4.0, 28)),
    in_unit=_in_unit,
    allows_zero=(False, False),
)
r"""f(n, s) = A n^{-\alpha} + B s^{-\beta} + E. n, s > 0. The gain of pre-training is the same at every s."""
