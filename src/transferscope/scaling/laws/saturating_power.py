"""The power law that saturates at a size (M3)."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    alpha, x_1 = eta[:, :1], eta[:, 1:]
    result: Float[np.ndarray, "B m k"] = ((1 / x[:, 0] + 1 / x_1) ** alpha)[:, :, None]
    return result


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    alpha, x_1 = eta[:, :1], eta[:, 1:]
    rest = 1 / x[:, 0] + 1 / x_1
    by_eta = np.stack([np.log(rest) * rest**alpha, -alpha * rest ** (alpha - 1) / x_1**2], axis=2)
    return by_eta[:, :, None, :]


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, x_1, D = theta.T
    return np.stack([alpha, x_1 / unit[0], D * unit[0] ** -alpha], axis=1)


SATURATING_POWER = Law(
    name="saturating-power",
    formula="D (1/x + 1/x_1)^alpha",
    source="M3 of Alabdulmohsin et al. 2022",
    nonlinear=(
        Parameter("alpha", "rate before the gain ends", 0.0, 6.0),
        Parameter("x_1", "size at which the gain ends", 1e-2, 1e6, "log", size=0),
    ),
    linear=(Parameter("D", "scale of the error"),),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(np.concatenate([[0.0], np.geomspace(0.005, 5.0, 32)]), np.geomspace(0.03, 1e5, 16)),
    in_unit=_in_unit,
)
r"""f(x) = D (1/x + 1/x_1)^{\alpha}. x > 0. Its floor is D x_1^{-\alpha}; with x_1 -> \infty it is the power law."""
