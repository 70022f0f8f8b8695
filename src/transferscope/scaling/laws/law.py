"""Scaling laws: non-negative combinations of basis functions of the sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

Sizes = Float[np.ndarray, "m v"]
"""Sizes of m observations: one column (x), or two (n of pretraining, s of fine-tuning)."""

Rates = Float[np.ndarray, "B q"]
"""Non-linear parameters of B curves."""

Basis = tuple[Float[np.ndarray, "B m k"], Callable[[], Float[np.ndarray, "B m k q"]]]
"""Basis functions, and what returns their derivatives by the rates."""
Values = tuple[Float[np.ndarray, "B m"], Callable[[], tuple[Float[np.ndarray, "B m"], ...]]]
"""One basis function, and what returns its derivative by each rate."""

Form = Callable[[Sizes, Rates], Basis]
InUnit = Callable[[Float[np.ndarray, "B p"], Float[np.ndarray, " v"]], Float[np.ndarray, "B p"]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a law.

    Attributes:
        name: Its symbol, as in "alpha".
        low: Lower end of its range; for a parameter with the dimension of a size, over the geometric mean size.
        high: Upper end of its range, as `low`; infinite for a coefficient.
        scale: "log" if it is positive and searched by its logarithm.
        size: Which size it is a value of (0 for n or x, 1 for s); None for a parameter without that dimension.
    """

    name: str
    meaning: str
    low: float = 0.0
    high: float = np.inf
    scale: Literal["linear", "log"] = "linear"
    size: int | None = None


@dataclass(frozen=True)
class Law:
    r"""A law that is linear in some parameters and non-linear in the others.

        f(x; \theta) = \sum_k c_k \phi_k(x; \eta),   c_k >= 0,   \theta = (\eta, c)

    With \eta given, the best c is a non-negative least-squares problem, so that only \eta needs a search: variable
    projection (Golub and Pereyra 1973). Every basis function is positive.

    Attributes:
        formula: The formula in plain text.
        nonlinear: Parameters \eta.
        linear: Parameters c, all of them >= 0.
        form: (x, \eta) -> \phi, and a function that returns d\phi / d\eta.
        grid: Values of \eta, shape (G, q), where a search starts, for sizes whose geometric mean is 1.
        allows_zero: Which sizes may be 0, one entry for each column of x.
        own_unit: `in_unit` of a law whose rates or weights mix sizes; None for one whose parameters are each of one.
    """

    name: str
    formula: str
    nonlinear: tuple[Parameter, ...]
    linear: tuple[Parameter, ...]
    form: Form
    grid: Float[np.ndarray, "G q"]
    allows_zero: tuple[bool, ...] = (False,)
    own_unit: InUnit | None = None

    def basis(self, x: Sizes, eta: Rates) -> Float[np.ndarray, "B m k"]:
        """Return the basis functions at sizes `x`."""
        return self.form(x, eta)[0]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters, in the order of theta."""
        return self.nonlinear + self.linear

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of theta."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def n_sizes(self) -> int:
        """How many sizes it is a function of: 1 for x, 2 for (n, s)."""
        return len(self.allows_zero)

    def _parts(self, theta: Float[np.ndarray, "B p"]) -> tuple[Float[np.ndarray, "B q"], Float[np.ndarray, "B k"]]:
        return theta[:, : len(self.nonlinear)], theta[:, len(self.nonlinear) :]

    def value(self, x: Sizes, theta: Float[np.ndarray, "B p"]) -> Float[np.ndarray, "B m"]:
        """Return the law at sizes `x` (m, v) for each row of `theta` (B, p)."""
        eta, coefficients = self._parts(theta)
        return np.asarray((self.basis(x, eta) @ coefficients[:, :, None])[:, :, 0])

    def gradient(self, x: Sizes, theta: Float[np.ndarray, "B p"]) -> Float[np.ndarray, "B m p"]:
        """Return the derivative of `value` with respect to each parameter."""
        eta, coefficients = self._parts(theta)
        basis, by_eta = self.form(x, eta)
        return np.concatenate([np.einsum("bmkq,bk->bmq", by_eta(), coefficients), basis], axis=2)

    def in_unit(self, theta: Float[np.ndarray, "B p"], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "B p"]:
        """Return the parameters of the same curve when sizes x are written as x / unit."""
        if self.own_unit is not None:
            return self.own_unit(theta, unit)
        eta, coefficients = self._parts(theta)
        scaled = eta / self._factor(self.nonlinear, unit)
        here, there = self.basis(unit[None], eta)[:, 0], self.basis(np.ones((1, len(unit))), scaled)[:, 0]
        return np.concatenate([scaled, coefficients * here / there], axis=1)

    @staticmethod
    def _factor(parameters: tuple[Parameter, ...], unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, " p"]:
        """Return the unit of each parameter that is a size; 1 for others."""
        return np.array([1.0 if parameter.size is None else unit[parameter.size] for parameter in parameters])

    def defined_at(self, x: Sizes) -> Bool[np.ndarray, " m"]:
        """Return which of the sizes are in its domain: positive, or 0 if the law allows it."""
        allowed = (x > 0) | ((x == 0) & np.array(self.allows_zero))
        return np.asarray(np.isfinite(x).all(axis=1) & allowed.all(axis=1))

    def bounds(self, unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "2 p"]:
        """Return lower and upper ends of theta for sizes whose geometric mean is `unit`."""
        ends = np.array([[p.low for p in self.parameters], [p.high for p in self.parameters]])
        return np.asarray(ends * self._factor(self.parameters, unit))

    def grid_in(self, unit: Float[np.ndarray, " v"]) -> Float[np.ndarray, "G q"]:
        """Return the start grid for sizes whose geometric mean is `unit`."""
        return np.asarray(self.grid * self._factor(self.nonlinear, unit))


def one_term(term: Callable[[Sizes, Rates], Values], *, floor: bool = True) -> Form:
    """Return the form of one term, given with its derivative by each parameter, and of a constant floor beside it."""

    def form(x: Sizes, eta: Rates) -> Basis:
        value, by_eta = term(x, eta)

        def jacobian() -> Float[np.ndarray, "B m k q"]:
            each = np.stack(by_eta(), axis=2)
            return np.stack([each, np.zeros_like(each)][: 1 + floor], axis=2)

        return np.stack([value, np.ones_like(value)][: 1 + floor], axis=2), jacobian

    return form


def powers(*terms: tuple[tuple[int, int], ...], shift: tuple[int, int] | None = None) -> Form:
    """Return the form of products of powers x_v^-eta_q.

    Args:
        terms: Each as the places (v, q) of its factors; without any it is the constant 1.
        shift: The places (v, q) of a size and of the parameter that is added to it; None for none.
    """

    def form(x: Sizes, eta: Rates) -> Basis:
        sizes, values = x[None], np.ones((len(eta), len(x), len(terms)))
        if shift is not None:
            sizes = x + eta[:, shift[1], None, None] * (np.arange(x.shape[1]) == shift[0])
        for k, term in enumerate(terms):
            for v, q in term:
                values[:, :, k] *= sizes[:, :, v] ** -eta[:, q : q + 1]

        def jacobian() -> Float[np.ndarray, "B m k q"]:
            result = np.zeros((*values.shape, eta.shape[1]))
            for k, term in enumerate(terms):
                for v, q in term:
                    result[:, :, k, q] = -np.log(sizes[:, :, v]) * values[:, :, k]
                    if shift is not None and v == shift[0]:
                        result[:, :, k, shift[1]] = -eta[:, q : q + 1] * values[:, :, k] / sizes[:, :, v]
            return result

        return values, jacobian

    return form


def product_grid(*axes: Float[np.ndarray, " _"]) -> Float[np.ndarray, "G q"]:
    """Return all combinations of the values on each axis, the first axis slowest."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
