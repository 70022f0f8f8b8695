"""Laws in pretraining size n and fine-tuning size s."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Rates, Sizes, Values, one_term, powers, product_grid

_RATES = (
    Parameter("alpha", "pretraining rate", 0.02, 4.0),
    Parameter("beta", "fine-tuning rate", 0.0, 2.0),
)
_COEFFICIENTS = (
    Parameter("delta*gamma", "error at s = 1 that pretraining leaves"),
    Parameter("delta", "error at s = 1 that pretraining removes, at n = 1"),
)
_GRID = product_grid(np.geomspace(0.02, 4.0, 32), np.linspace(0.0, 2.0, 31))


FULL = Law(
    name="full",
    formula="delta (gamma + n^-alpha) s^-beta",
    nonlinear=_RATES,
    linear=_COEFFICIENTS,
    form=powers(((1, 1),), ((0, 0), (1, 1))),
    grid=_GRID,
    allows_zero=(False, False),
)
"""Mikami et al. 2021, eq. 2."""

FULL_FLOOR = Law(
    name="full+floor",
    formula="delta (gamma + n^-alpha) s^-beta + E",
    nonlinear=_RATES,
    linear=(*_COEFFICIENTS, Parameter("E", "irreducible error")),
    form=powers(((1, 1),), ((0, 0), (1, 1)), ()),
    grid=_GRID,
    allows_zero=(False, False),
)
"""Mikami et al. 2021, eq. 2 with the irreducible loss E."""


ADDITIVE = Law(
    name="additive",
    formula="A n^-alpha + B s^-beta + E",
    nonlinear=(
        Parameter("alpha", "pretraining rate", 0.02, 4.0),
        Parameter("beta", "fine-tuning rate", 0.02, 4.0),
    ),
    linear=(
        Parameter("A", "error that pretraining removes, at n = 1"),
        Parameter("B", "error that fine-tuning removes, at s = 1"),
        Parameter("E", "irreducible error"),
    ),
    form=powers(((0, 0),), ((1, 1),), ()),
    grid=product_grid(np.geomspace(0.02, 4.0, 28), np.geomspace(0.02, 4.0, 28)),
    allows_zero=(False, False),
)
"""Tripuraneni et al. 2020 with free rates; Hoffmann et al. 2022, eq. 2. Pretraining gains the same at every s."""


PRODUCT = Law(
    name="product",
    formula="D n^-alpha s^-beta",
    nonlinear=(
        Parameter("alpha", "pretraining rate", 0.0, 4.0),
        Parameter("beta", "fine-tuning rate", 0.0, 4.0),
    ),
    linear=(Parameter("D", "error at n = s = 1"),),
    form=powers(((0, 0), (1, 1))),
    grid=product_grid(
        np.concatenate([[0.0], np.geomspace(0.005, 4.0, 24)]), np.concatenate([[0.0], np.geomspace(0.005, 4.0, 24)])
    ),
    allows_zero=(False, False),
)
"""The full law with gamma = 0."""


def _effective_data(x: Sizes, eta: Rates) -> Values:
    n, s = x.T
    b, q, k = eta.T[:, :, None]
    data = s + k * n**q
    power = data**-b

    def by_eta() -> tuple[Float[np.ndarray, "B m"], ...]:
        by_data = -b * power / data
        log_n = np.log(np.where(n > 0, n, 1.0))  # n^q log n -> 0 as n -> 0
        return -np.log(data) * power, by_data * k * n**q * log_n, by_data * n**q

    return power, by_eta


def _effective_data_in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    b, q, k, d, E = theta.T
    return np.stack([b, q, k * unit[0] ** q / unit[1], d * unit[1] ** -b, E], axis=1)


EFFECTIVE_DATA = Law(
    name="effective-data",
    formula="E + d (s + k n^q)^-b",
    nonlinear=(
        Parameter("b", "rate in effective examples", 0.02, 4.0),
        Parameter("q", "how fast pretraining adds effective examples", 0.01, 3.0),
        Parameter("k", "fine-tuning examples that one of pretraining is worth, at n = 1", 1e-12, 1e12, "log"),
    ),
    linear=(Parameter("d", "error at one effective example"), Parameter("E", "irreducible error")),
    form=one_term(_effective_data),
    grid=product_grid(np.geomspace(0.02, 4.0, 16), np.geomspace(0.05, 2.0, 7), np.geomspace(1e-4, 1e4, 13)),
    own_unit=_effective_data_in_unit,
    allows_zero=(True, False),
)
"""After Hernandez et al. 2021, eq. 1.2. k n^q are the fine-tuning examples that pretraining on n is worth."""


def _coupled(x: Sizes, eta: Rates) -> Values:
    a, b, k, g = eta.T[:, :, None]
    first, second = x[:, 0] ** -a, k * x[:, 1] ** -b
    power = (first + second) ** g

    def by_eta() -> tuple[Float[np.ndarray, "B m"], ...]:
        inner = g * power / (first + second)
        by_a, by_b = -np.log(x[:, 0]) * first * inner, -np.log(x[:, 1]) * second * inner
        return by_a, by_b, second / k * inner, np.log(first + second) * power

    return power, by_eta


def _coupled_in_unit(theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
    a, b, k, g, c, E = theta.T
    with np.errstate(divide="ignore"):  # c is 0 of a level curve, where its power may be beyond any number
        c = np.exp(np.log(c) - a * g * np.log(unit[0]))
    return np.stack([a, b, k * unit[0] ** a * unit[1] ** -b, g, c, E], axis=1)


COUPLED = Law(
    name="coupled",
    formula="c (n^-a + k s^-b)^g + E",
    nonlinear=(
        Parameter("a", "rate in n, over the coupling exponent", 0.02, 4.0),
        Parameter("b", "rate in s, over the coupling exponent", 0.02, 4.0),
        Parameter("k", "weight of s against n", 1e-12, 1e12, "log"),
        Parameter("g", "coupling exponent: 1 where the sizes act apart", 0.1, 10.0, "log"),
    ),
    linear=(Parameter("c", "scale of the error"), Parameter("E", "irreducible error")),
    form=one_term(_coupled),
    grid=product_grid(
        np.geomspace(0.04, 2.0, 8), np.geomspace(0.04, 2.0, 8), np.geomspace(0.02, 50.0, 7), np.geomspace(0.3, 3.0, 5)
    ),
    own_unit=_coupled_in_unit,
    allows_zero=(False, False),
)
"""The additive law with one exponent for both sizes together; with g = 1 it is Hoffmann et al. 2022, eq. 2."""


OFFSET = Law(
    name="offset",
    formula="A (n + n_0)^-alpha + B s^-beta + E",
    nonlinear=(*ADDITIVE.nonlinear, Parameter("n_0", "what n leaves out", 1e-4, 1e2, "log", size=0)),
    linear=ADDITIVE.linear,
    form=powers(((0, 0),), ((1, 1),), (), shift=(0, 2)),
    grid=product_grid(np.geomspace(0.04, 2.0, 10), np.geomspace(0.04, 2.0, 10), np.geomspace(0.003, 3.0, 6)),
    allows_zero=(True, False),
)
"""The additive law with what n leaves out, as parameters of embeddings (Pearce and Song 2024); n_0 -> 0 is that law."""
