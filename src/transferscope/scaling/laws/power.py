"""The pure power law (M1)."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    result: Float[np.ndarray, "B m k"] = (x[:, 0] ** -eta[:, :1])[:, :, None]
    return result


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    power = x[:, 0] ** -eta[:, :1]
    result: Float[np.ndarray, "B m k q"] = (-np.log(x[:, 0]) * power)[:, :, None, None]
    return result


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    alpha, D = theta.T
    return np.stack([alpha, D * unit[0] ** -alpha], axis=1)


POWER = Law(
    name="power",
    formula="D x^-alpha",
    source="Hestness et al. 2017; M1 of Alabdulmohsin et al. 2022",
    nonlinear=(Parameter("alpha", "rate: slope of the log-log line", 0.0, 4.0),),
    linear=(Parameter("D", "error at size 1"),),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=np.concatenate([[0.0], np.geomspace(0.002, 4.0, 40)])[:, None],
    in_unit=_in_unit,
)
r"""f(x) = D x^{-\alpha}. x > 0."""
