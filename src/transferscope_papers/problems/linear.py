"""Linear teachers and their Gaussian inputs, as in tahir2024 (section 3) and shachaf2021 (sections 4 and 5)."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import out_of_range
from transferscope_papers.parameters import at_least
from transferscope_papers.problems.sample import Sample


@dataclass(frozen=True)
class Covariance:
    """A covariance matrix Sigma = V diag(lambda) V' in d dimensions.

    Attributes:
        eigenvalues: lambda, shape (d,), decreasing, none negative.
        eigenvectors: V, shape (d, d), orthonormal columns in the order of `eigenvalues`; None for the identity.
    """

    eigenvalues: Float64[np.ndarray, "d"]
    eigenvectors: Float64[np.ndarray, "d d"] | None = None

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return len(self.eigenvalues)

    def to_eigenbasis(self, vectors: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k d"]:
        """Return coordinates V'v of each vector v, shape (*k, d)."""
        return vectors if self.eigenvectors is None else vectors @ self.eigenvectors

    def from_eigenbasis(self, coordinates: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k d"]:
        """Return vectors V z with coordinates z, shape (*k, d)."""
        return coordinates if self.eigenvectors is None else coordinates @ self.eigenvectors.T

    def squared_norm(self, vectors: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k"]:
        """Return v' Sigma v of each vector v: the mean square of v'x."""
        return np.asarray(np.sum(self.eigenvalues * self.to_eigenbasis(vectors) ** 2, axis=-1))

    def sample(self, n: int, generator: np.random.Generator) -> Float64[np.ndarray, "n d"]:
        """Draw n vectors from N(0, Sigma)."""
        return self.from_eigenbasis(generator.standard_normal((n, self.d)) * np.sqrt(self.eigenvalues))


def isotropic(d: int) -> Covariance:
    """Return the identity in d >= 1 dimensions."""
    return Covariance(np.ones(d))


def two_level(d: int, *, n_top: int) -> Covariance:
    """Return n_top eigenvalues of 1.5, from 0 to d of them, above others of 0.3 (shachaf2021: 50 of 1000)."""
    if not 0 <= n_top <= d:
        raise out_of_range("n_top", n_top, f"0 to d = {d}")
    return Covariance(np.concatenate([np.full(n_top, 1.5), np.full(d - n_top, 0.3)]))


def power_law_covariance(d: int, *, exponent: float) -> Covariance:
    """Return eigenvalues i^-exponent for i = 1..d, with exponent >= 0."""
    return Covariance(np.arange(1, d + 1, dtype=np.float64) ** -exponent)


@dataclass(frozen=True)
class LinearTeacher:
    """Targets y = x'w + eps with x ~ N(0, Sigma) and eps ~ N(0, sigma^2).

    Attributes:
        weights: The teacher w, shape (d,).
        sigma: Standard deviation of the label noise, at least 0.
        covariance: Sigma; the identity in both papers' main results.
    """

    weights: Float64[np.ndarray, "d"]
    sigma: float
    covariance: Covariance

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.weights)

    @property
    def norm(self) -> float:
        """Euclidean norm of the weights."""
        return float(np.linalg.norm(self.weights))

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n >= 1 examples with noisy targets."""
        inputs = self.covariance.sample(n, generator)
        noise = self.sigma * generator.standard_normal(n)
        return Sample(inputs, inputs @ self.weights + noise)

    def risk(self, weights: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k"]:
        """Return excess population risk E (x'v - x'w)^2 = (v - w)' Sigma (v - w) of each linear model v, shape (*k,).

        The floor sigma^2 of noisy labels is left out, as in both papers.
        """
        return self.covariance.squared_norm(weights - self.weights)


@dataclass(frozen=True)
class LinearTransfer:
    """A source and a target teacher over the same inputs.

    Attributes:
        source: The teacher of pretraining, learnt on the population.
        target: The teacher of the finite sample.
    """

    source: LinearTeacher
    target: LinearTeacher

    @property
    def theta(self) -> float:
        """Angle between the two teachers in radians, in [0, pi]; NaN if one is zero."""
        s, t = self.source.weights, self.target.weights
        size = self.source.norm * self.target.norm
        return math.acos(float(np.clip(s @ t / size, -1.0, 1.0))) if size > 0 else math.nan

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n examples of the target."""
        return self.target.sample(n, generator)


def teachers_at_angle(
    d: int,
    *,
    theta: float,
    sigma: float = 0.0,
    source_norm: float = 1.0,
    target_norm: float = 1.0,
    covariance: Covariance | None = None,
    generator: np.random.Generator | None = None,
) -> LinearTransfer:
    """Return two linear teachers at a given angle (tahir2024, Assumptions 3.1 and 3.2).

    Args:
        d: Number of inputs, at least 2.
        theta: Angle between the teachers in radians, in [0, pi].
        sigma: Label noise of the target, at least 0; the source is noiseless (it is learnt on the population).
        source_norm: Norm of the source teacher, at least 0.
        target_norm: Norm of the target teacher, at least 0.
        covariance: Covariance of the inputs; None for the identity.
        generator: Generator of the plane of the teachers, uniform; None for the plane of the first two axes.

    Raises:
        SettingsError: A value is out of its range.
    """
    at_least("d", d, 2)
    if not 0 <= theta <= math.pi:
        raise out_of_range("theta", theta, "an angle between two teachers in [0, pi] radians")
    plane = np.eye(d, 2) if generator is None else np.linalg.qr(generator.standard_normal((d, 2))).Q
    source = source_norm * plane[:, 0]
    target = target_norm * (math.cos(theta) * plane[:, 0] + math.sin(theta) * plane[:, 1])
    inputs = isotropic(d) if covariance is None else covariance
    return LinearTransfer(LinearTeacher(source, 0.0, inputs), LinearTeacher(target, sigma, inputs))


def teachers_apart(
    difference: Float64[np.ndarray, " d"],
    *,
    source: Float64[np.ndarray, " d"],
    covariance: Covariance,
) -> LinearTransfer:
    """Return a noiseless target that differs from a source theta_S by theta_T - theta_S (shachaf2021, section 4.2)."""
    target = LinearTeacher(source + difference, 0.0, covariance)
    return LinearTransfer(LinearTeacher(source, 0.0, covariance), target)
