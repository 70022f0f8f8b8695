"""Functions with a given power-law spectrum, learnt one example at a time (mikami2021, App. E)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope_papers.problems.sample import Sample


@dataclass(frozen=True)
class PowerLawTarget:
    """phi = sum_s a_s psi_s on [0, 1] in the eigenfunctions psi_s of a kernel with eigenvalues gamma_s = s^-xi.

    psi_s(u) = sqrt(2) cos(pi s u), s = 1..d, for u uniform on [0, 1]: orthonormal. An example's inputs are the
    features z_s = sqrt(gamma_s) psi_s(u): the inner product of two examples is the kernel, and a linear model of z is a
    member of its RKHS.

    Attributes:
        coefficients: a, shape (d,).
        xi: Decay of the eigenvalues, above 1 (Assumption A4).
    """

    coefficients: Float64[np.ndarray, "d"]
    xi: float

    @property
    def d(self) -> int:
        """Number of eigenfunctions kept."""
        return len(self.coefficients)

    @property
    def eigenvalues(self) -> Float64[np.ndarray, "d"]:
        """gamma_s = s^-xi, shape (d,)."""
        return np.arange(1, self.d + 1, dtype=np.float64) ** -self.xi

    @property
    def weights(self) -> Float64[np.ndarray, "d"]:
        """The linear model of the features that is phi: a_s / sqrt(gamma_s), shape (d,)."""
        return np.asarray(self.coefficients / np.sqrt(self.eigenvalues))

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n >= 1 noiseless examples: features (n, d) and phi (n,)."""
        s = np.arange(1, self.d + 1)
        basis = np.sqrt(2.0) * np.cos(np.pi * generator.random(n)[:, None] * s)
        return Sample(basis * np.sqrt(self.eigenvalues), basis @ self.coefficients)

    def risk(self, weights: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k"]:
        """Return the population risk E (z'w - phi)^2 of each linear model w of the features, shape (*k,)."""
        return np.asarray(np.sum(self.eigenvalues * (weights - self.weights) ** 2, axis=-1))


@dataclass(frozen=True)
class PowerLawTransfer:
    """A source phi_0 and a target phi_0 + phi_1 in the same eigenfunctions (mikami2021, eq. 4)."""

    source: PowerLawTarget
    target: PowerLawTarget

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n examples of the target."""
        return self.target.sample(n, generator)


def smooth_coefficients(d: int, *, r: float, xi: float, size: float = 1.0) -> Float64[np.ndarray, " d"]:
    """Return a_s proportional to s^-(xi r + 1/2): as rough as Assumption (A3), phi in the range of Sigma^r, just
    allows.

    Args:
        d: Number of eigenfunctions, at least 1.
        r: Smoothness; mikami2021 has 1/2 <= r <= 1.
        xi: Decay of the eigenvalues, above 1.
        size: Norm of the function in L2, at least 0.
    """
    shape = np.arange(1, d + 1, dtype=np.float64) ** -(xi * r + 0.5)
    return shape * (size / np.linalg.norm(shape))


def power_law_transfer(d: int, *, r0: float, r1: float, xi: float, added_size: float = 1.0) -> PowerLawTransfer:
    """Return the problem of mikami2021 with smoothness r0 of the source and r1 of the difference of the target.

    Args:
        d: Number of eigenfunctions kept, at least 1.
        r0: Smoothness of phi_0, of L2 norm 1, in [1/2, 1].
        r1: Smoothness of phi_1, in [1/2, 1].
        xi: Decay of the eigenvalues, above 1.
        added_size: L2 norm of phi_1.
    """
    source = smooth_coefficients(d, r=r0, xi=xi)
    added = smooth_coefficients(d, r=r1, xi=xi, size=added_size)
    return PowerLawTransfer(PowerLawTarget(source, xi), PowerLawTarget(source + added, xi))
