"""Nothing changes any more: the baseline that every other law has to beat."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    return np.ones((len(eta), len(x), 1))


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    return np.zeros((len(eta), len(x), 1, 0))


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    return theta


LAST_VALUE = Law(
    name="last-value",
    formula="C",
    source="baseline",
    nonlinear=(),
    linear=(Parameter("C", "error at the largest size"),),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=np.zeros((1, 0)),
    in_unit=_in_unit,
    allows_zero=(True,),
    last_only=True,
)
"""The error at the largest size (the mean over repeats)."""
