"""Pre-training counted in fine-tuning examples."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Sizes, product_grid


def _effective(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m"]:
    """s + k n^q: fine-tuning examples, and those that pre-training is worth."""
    n, s = x.T
    _, q, k = eta.T[:, :, None]
    result: Float[np.ndarray, "B m"] = s + k * n**q
    return result


def _basis(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k"]:
    power = _effective(x, eta) ** -eta[:, :1]
    return np.stack([power, np.ones_like(power)], axis=2)


def _basis_jacobian(x: Sizes, eta: Float[np.ndarray, "B q"]) -> Float[np.ndarray, "B m k q"]:
    n = x[:, 0]
    b, q, k = eta.T[:, :, None]
    data = _effective(x, eta)
    power = data**-b
    by_b, by_data = -np.log(data) * power, -b * power / data
    log_n = np.log(np.where(n > 0, n, 1.0))  # n^q log n -> 0 as n -> 0
    by_eta = np.stack([by_b, by_data * k * n**q * log_n, by_data * n**q], axis=2)
    return np.stack([by_eta, np.zeros_like(by_eta)], axis=2)


def _in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    b, q, k, d, E = theta.T
    return np.stack([b, q, k * unit[0] ** q / unit[1], d * unit[1] ** -b, E], axis=1)


EFFECTIVE_DATA = Law(
    name="effective-data",
    formula="E + d (s + k n^q)^-b",
    source="after Hernandez et al. 2021, eq. 1.2, with an additive transfer of data",
    nonlinear=(
        Parameter("b", "rate in effective examples", 0.02, 4.0),
        Parameter("q", "how fast pre-training adds effective examples", 0.01, 3.0),
        Parameter("k", "fine-tuning examples that one of pre-training is worth, at n = 1", 1e-12, 1e12, "log"),
    ),
    linear=(Parameter("d", "error at one effective example"), Parameter("E", "irreducible error")),
    basis=_basis,
    basis_jacobian=_basis_jacobian,
    grid=product_grid(np.geomspace(0.02, 4.0, 16), np.geomspace(0.05, 2.0, 7), np.geomspace(1e-4, 1e4, 13)),
    in_unit=_in_unit,
    allows_zero=(True, False),
)
r"""f(n, s) = E + d (s + k n^q)^{-b}. n >= 0, s > 0. k n^q: the fine-tuning examples that pre-training on n is worth."""
