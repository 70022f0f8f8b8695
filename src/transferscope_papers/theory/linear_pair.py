"""A pair of linear tasks as one object: what the learners of `learners.py` are asked about."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError
from transferscope_papers.problems import Covariance, LinearTransfer, Sample, isotropic, teachers_at_angle


@dataclass(frozen=True, eq=False)
class LinearPair:
    """A source and a target teacher over the same Gaussian inputs.

        x ~ N(0, Sigma),   y = x'Theta_T + eps,   eps ~ N(0, sigma^2),   independent in each output

    The source is x'Theta_S, and is learnt on the population. Both may have several outputs, and not the same number.

    Attributes:
        source: Theta_S, shape (d,), or (d, r) for several outputs.
        target: Theta_T, shape (d,), or (d, k).
        sigma: Standard deviation of the target's label noise, at least 0; one for all outputs, or shape (k,). Noise
            that is correlated between outputs has the same mean risks.
        covariance: Sigma; None for the identity.

    Raises:
        SettingsError: Shapes do not fit, a number is not finite, or sigma is negative.
    """

    source: Float64[np.ndarray, " d *r"]
    target: Float64[np.ndarray, " _ *k"]
    sigma: float | Float64[np.ndarray, " k"] = 0.0
    covariance: Covariance | None = None

    def __post_init__(self) -> None:
        shapes = np.shape(self.source), np.shape(self.target)
        if any(len(shape) not in (1, 2) or 0 in shape for shape in shapes) or shapes[0][0] != shapes[1][0]:
            raise SettingsError(
                f"the source has the shape {shapes[0]} and the target {shapes[1]}; expected (d,) or (d, outputs) "
                "with the same d"
            )
        if self.covariance is not None and self.covariance.d != shapes[0][0]:
            raise SettingsError(
                f"the teachers have {shapes[0][0]} inputs and the covariance {self.covariance.d}; give both the same"
            )
        if np.shape(self.sigma) not in ((), shapes[1][1:] or (1,)):
            raise SettingsError(
                f"sigma has the shape {np.shape(self.sigma)}; expected one number, or one for each of the "
                f"{self.n_outputs} outputs of the target"
            )
        if not (np.asarray(self.sigma) >= 0).all():
            raise SettingsError(f"sigma = {self.sigma} is out of range; sigma must be at least 0")
        if not all(np.isfinite(numbers).all() for numbers in (self.source, self.target, self.sigma)):
            raise SettingsError("the teachers and sigma must be finite numbers")
        if self.covariance is None:
            object.__setattr__(self, "covariance", isotropic(shapes[0][0]))

    @staticmethod
    def of(problem: LinearTransfer) -> "LinearPair":
        """The pair of a problem of `problems`, as `teachers_at_angle` and `teachers_apart` make them."""
        target = problem.target
        return LinearPair(problem.source.weights, target.weights, target.sigma, target.covariance)

    @staticmethod
    def at_angle(
        d: int,
        theta: float,
        *,
        sigma: float = 0.0,
        source_norm: float = 1.0,
        target_norm: float = 1.0,
        covariance: Covariance | None = None,
        generator: np.random.Generator | None = None,
    ) -> "LinearPair":
        """The pair of `problems.teachers_at_angle`, where the ranges and errors are; theta in radians."""
        norms = {"source_norm": source_norm, "target_norm": target_norm}
        made = teachers_at_angle(d, theta=theta, sigma=sigma, covariance=covariance, generator=generator, **norms)
        return LinearPair.of(made)

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.target)

    @property
    def n_outputs(self) -> int:
        """Outputs of the target."""
        return 1 if np.ndim(self.target) == 1 else int(np.shape(self.target)[1])

    @property
    def inputs(self) -> Covariance:
        """Sigma, the identity where none was given."""
        assert self.covariance is not None  # set above
        return self.covariance

    @property
    def noise(self) -> float:
        """Variance of the label noise, summed over outputs."""
        return float(np.sum(np.broadcast_to(np.asarray(self.sigma, dtype=np.float64) ** 2, (self.n_outputs,))))

    @property
    def theta(self) -> float:
        """Angle between the teachers as functions: its cosine is the correlation of x'Theta_S and x'Theta_T.

        For Sigma = I it is the angle between the vectors. For several outputs it lies in [0, pi/2], and the cosine
        is the root of the share of the target's variance that the source's outputs explain. NaN if a teacher is 0.
        """
        root = np.sqrt(self.inputs.eigenvalues)
        source, target = (root[:, None] * matrix for matrix in (self.in_eigenbasis(self.source), self._target))
        sizes = np.linalg.norm(source), np.linalg.norm(target)
        if min(sizes) == 0:
            return math.nan
        outside = target - source @ np.linalg.lstsq(source, target, rcond=None)[0]
        inside = np.linalg.norm(target - outside)
        opposed = source.shape[1] == target.shape[1] == 1 and float(np.sum(source * target)) < 0
        return math.atan2(float(np.linalg.norm(outside)), float(-inside if opposed else inside))

    def in_eigenbasis(self, weights: Float64[np.ndarray, " d *k"]) -> Float64[np.ndarray, "d k"]:
        """Weights in the eigenbasis of Sigma, a column for each output."""
        return np.asarray(self.inputs.to_eigenbasis(weights.reshape(self.d, -1).T).T)

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n >= 1 examples of the target: inputs (n, d) and targets (n,), or (n, k)."""
        inputs = self.inputs.sample(n, generator)
        clean = inputs @ self.target
        return Sample(inputs, clean + np.asarray(self.sigma) * generator.standard_normal(clean.shape))

    def risk(self, weights: Float64[np.ndarray, " d *k"]) -> float:
        """Excess population risk of linear weights: E ||x'w - x'Theta_T||^2, without the floor of noisy labels."""
        difference = (weights - self.target).reshape(self.d, -1).T
        return float(np.sum(self.inputs.squared_norm(difference)))

    @property
    def _target(self) -> Float64[np.ndarray, "d k"]:
        return self.in_eigenbasis(self.target)
