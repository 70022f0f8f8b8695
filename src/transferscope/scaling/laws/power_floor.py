"""The power law with a floor: the simplified law of Syn2Real transfer (M2)."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    power = x[:, 0] ** -eta[:, :1]
    return np.stack([power, np.ones_like(power)], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    slope = -np.log(x[:, 0]) * x[:, 0] ** -eta[:, :1]
    return np.stack([slope, np.zeros_like(slope)], axis=2)[..., None]


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, D, C = theta.T
    return np.stack([alpha, D * unit[0] ** -alpha, C], axis=1)


POWER_FLOOR = Law(
    name="power+floor",
    formula="D x^-alpha + C",
    source="Mikami et al. 2021, eq. 1; M2 of Alabdulmohsin et al. 2022",
    nonlinear=(Parameter("alpha", "pre-training rate", 0.02, 4.0),),
    linear=(Parameter("D", "error above the floor at size 1"), Parameter("C", "transfer gap: the error that stays")),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=np.geomspace(0.02, 4.0, 48)[:, None],
    in_unit=_in_unit,
)
r"""f(x) = D x^{-\alpha} + C. x > 0. Below \alpha = 0.02 it cannot be told from a straight line in log x."""
