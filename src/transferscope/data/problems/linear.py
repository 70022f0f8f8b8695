"""Linear teachers, as in tahir2024 (section 3) and shachaf2021 (sections 4 and 5)."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.data.problems.covariance import Covariance, isotropic
from transferscope.data.problems.sample import Sample, check_at_least, check_size
from transferscope.errors import SettingsError


@dataclass(frozen=True)
class LinearTeacher:
    """Targets y = x'w + eps with x ~ N(0, Sigma) and eps ~ N(0, sigma^2).

    Attributes:
        weights: The teacher w, shape (d,).
        sigma: Standard deviation of the label noise, at least 0.
        covariance: Sigma; the identity in both papers' main results.

    Raises:
        SettingsError: Sigma has another dimension than w, or sigma is negative.
    """

    weights: Float64[np.ndarray, "d"]
    sigma: float
    covariance: Covariance

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        check_at_least("sigma", self.sigma, 0)
        if self.covariance.d != len(self.weights):
            raise SettingsError(
                f"the teacher has {len(self.weights)} weights and the covariance {self.covariance.d} dimensions; "
                "give both the same"
            )

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.weights)

    @property
    def norm(self) -> float:
        """Euclidean norm of the weights."""
        return float(np.linalg.norm(self.weights))

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n examples with noisy targets.

        Args:
            n: How many, at least 1.
            generator: Source of randomness.

        Returns:
            Inputs (n, d) and targets (n,).

        Raises:
            SettingsError: n is below 1.
        """
        check_size(n)
        inputs = self.covariance.sample(n, generator)
        noise = self.sigma * generator.standard_normal(n)
        return Sample(inputs, inputs @ self.weights + noise)

    def risk(self, weights: Float64[np.ndarray, "*k d"]) -> Float64[np.ndarray, "*k"]:
        """Excess population risk E (x'v - x'w)^2 = (v - w)' Sigma (v - w) of each linear model v, shape (*k,).

        The floor sigma^2 of noisy labels is left out, as in both papers.
        """
        return self.covariance.squared_norm(weights - self.weights)


@dataclass(frozen=True)
class LinearTransfer:
    """A source and a target teacher over the same inputs.

    Attributes:
        source: What is learnt first, on the population.
        target: What a finite sample is drawn from.

    Raises:
        SettingsError: The teachers have different numbers of inputs.
    """

    source: LinearTeacher
    target: LinearTeacher

    def __post_init__(self) -> None:
        """Check that one network can read both."""
        if self.source.d != self.target.d:
            raise SettingsError(
                f"the source has {self.source.d} inputs and the target {self.target.d}; give both the same"
            )

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
    """Two linear teachers at a given angle (tahir2024, Assumptions 3.1 and 3.2).

    Args:
        d: Number of inputs, at least 2.
        theta: Angle between the teachers in radians, in [0, pi].
        sigma: Label noise of the target, at least 0; the source is noiseless (it is learnt on the population).
        source_norm: Norm of the source teacher, at least 0.
        target_norm: Norm of the target teacher, at least 0.
        covariance: Of the inputs; None for the identity.
        generator: Draws the plane of the teachers uniformly; None for the plane of the first two axes.

    Returns:
        The pair.

    Raises:
        SettingsError: A value is out of its range.
    """
    check_at_least("d", d, 2)
    check_at_least("source_norm", source_norm, 0)
    check_at_least("target_norm", target_norm, 0)
    if not 0 <= theta <= math.pi:
        raise SettingsError(f"theta = {theta} is out of range; the angle between two teachers lies in [0, pi] radians")
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
    sigma: float = 0.0,
) -> LinearTransfer:
    """A target that differs from a source by a given vector (shachaf2021, section 4.2).

    Args:
        difference: theta_T - theta_S, shape (d,).
        source: theta_S, shape (d,).
        covariance: Of the inputs.
        sigma: Label noise of the target, at least 0.

    Returns:
        The pair.
    """
    target = LinearTeacher(source + difference, sigma, covariance)
    return LinearTransfer(LinearTeacher(source, 0.0, covariance), target)
