"""The covariance of Gaussian inputs, kept as its spectrum."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.data.problems.sample import check_at_least
from transferscope.errors import SettingsError


@dataclass(frozen=True)
class Covariance:
    """A covariance matrix Sigma = V diag(lambda) V' in d dimensions.

    Attributes:
        eigenvalues: lambda, shape (d,), decreasing, none negative.
        eigenvectors: V, shape (d, d), orthonormal columns in the order of `eigenvalues`; None for the identity.

    Raises:
        SettingsError: The eigenvalues are empty, increasing or negative, or V is not orthonormal.
    """

    eigenvalues: Float64[np.ndarray, "d"]
    eigenvectors: Float64[np.ndarray, "d d"] | None = None

    def __post_init__(self) -> None:
        """Check the spectrum and the basis."""
        lam = self.eigenvalues
        if len(lam) == 0 or not np.isfinite(lam).all() or lam[-1] < 0 or (np.diff(lam) > 0).any():
            raise SettingsError("the eigenvalues of a covariance must be finite, decreasing and not negative")
        basis = self.eigenvectors
        if basis is not None and not np.allclose(basis.T @ basis, np.eye(len(lam)), atol=1e-8):
            raise SettingsError("the eigenvectors of a covariance must be orthonormal columns; use numpy.linalg.eigh")

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return len(self.eigenvalues)

    def to_eigenbasis(self, vectors: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k d"]:
        """Coordinates V'v of each vector v, shape (*k, d)."""
        return vectors if self.eigenvectors is None else vectors @ self.eigenvectors

    def from_eigenbasis(self, coordinates: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k d"]:
        """Vectors V z with coordinates z, shape (*k, d)."""
        return coordinates if self.eigenvectors is None else coordinates @ self.eigenvectors.T

    def squared_norm(self, vectors: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k"]:
        """v' Sigma v of each vector v: the mean square of v'x."""
        return np.asarray(np.sum(self.eigenvalues * self.to_eigenbasis(vectors) ** 2, axis=-1))

    def sample(self, n: int, generator: np.random.Generator) -> Float64[np.ndarray, "n d"]:
        """Draw n vectors from N(0, Sigma)."""
        return self.from_eigenbasis(generator.standard_normal((n, self.d)) * np.sqrt(self.eigenvalues))


def isotropic(d: int) -> Covariance:
    """The identity in d >= 1 dimensions."""
    check_at_least("d", d, 1)
    return Covariance(np.ones(d))


def two_level(d: int, *, n_top: int, top: float = 1.5, bottom: float = 0.3) -> Covariance:
    """n_top eigenvalues of size `top` above d - n_top of size `bottom` (shachaf2021: 50 of 1000 at 1.5, the rest 0.3).

    Args:
        d: Number of dimensions.
        n_top: How many large eigenvalues, in 0..d.
        top: The large eigenvalue.
        bottom: The small eigenvalue, in [0, top].
    """
    if not 0 <= n_top <= d:
        raise SettingsError(f"n_top = {n_top} is out of range; it must be between 0 and d = {d}")
    return Covariance(np.concatenate([np.full(n_top, float(top)), np.full(d - n_top, float(bottom))]))


def power_law_covariance(d: int, *, exponent: float) -> Covariance:
    """Eigenvalues i^-exponent for i = 1..d, with exponent >= 0."""
    check_at_least("d", d, 1)
    check_at_least("exponent", exponent, 0)
    return Covariance(np.arange(1, d + 1, dtype=np.float64) ** -exponent)
