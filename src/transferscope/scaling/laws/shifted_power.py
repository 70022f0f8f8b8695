"""The power law whose size is shifted by what one has from the start."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    alpha, x_0 = eta[:, :1], eta[:, 1:]
    power = (x[:, 0] + x_0) ** -alpha
    return np.stack([power, np.ones_like(power)], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    alpha, x_0 = eta[:, :1], eta[:, 1:]
    shifted = x[:, 0] + x_0
    power = shifted**-alpha
    by_eta = np.stack([-np.log(shifted) * power, -alpha * power / shifted], axis=2)
    return np.stack([by_eta, np.zeros_like(by_eta)], axis=2)


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, x_0, D, C = theta.T
    return np.stack([alpha, x_0 / unit[0], D * unit[0] ** -alpha, C], axis=1)


SHIFTED_POWER = Law(
    name="shifted-power",
    formula="D (x + x_0)^-alpha + C",
    source="Mandelbrot's shift of Zipf's law; M2 with an offset",
    nonlinear=(
        Parameter("alpha", "rate at large sizes", 0.02, 4.0),
        Parameter("x_0", "examples that the start is worth", 1e-4, 1e3, "log", size=0),
    ),
    linear=(Parameter("D", "error above the floor at x + x_0 = 1"), Parameter("C", "the error that stays")),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(np.geomspace(0.02, 4.0, 24), np.geomspace(1e-3, 100.0, 11)),
    in_unit=_in_unit,
    allows_zero=(True,),
)
r"""f(x) = D (x + x_0)^{-\alpha} + C. x >= 0: no pre-training is an observation like any other."""
