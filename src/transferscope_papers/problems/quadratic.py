"""The source and target distributions of two-layer quadratic networks (merlin2020, section 5)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError
from transferscope_papers.problems.sample import Sample, check_size


@dataclass(frozen=True)
class QuadraticProblem:
    """y is 1 with probability 2/3 and 0 otherwise; the first k entries of x tell y, the others say nothing.

    Given y = 1 the first k entries are independent signs, given y = 0 they are 0; the others are uniform on {-1, 0, 1}.
    So y = x_i^2 for every i <= k. The target of merlin2020 is k = 1, its source has 2 <= k <= d.

    Attributes:
        d: Number of inputs, at least 1.
        k: Number of entries that tell y, in 1..d.

    Raises:
        SettingsError: k is out of range.
    """

    d: int
    k: int

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.d:
            raise SettingsError(
                f"k = {self.k} is out of range; the number of entries that tell y lies in 1..d = {self.d}"
            )

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n >= 1 noiseless examples; SettingsError for fewer."""
        check_size(n)
        targets = (generator.random(n) < 2 / 3).astype(np.float64)
        inputs = generator.integers(-1, 2, size=(n, self.d)).astype(np.float64)
        signs = 2.0 * generator.integers(0, 2, size=(n, self.k)) - 1.0
        inputs[:, : self.k] = signs * targets[:, None]
        return Sample(inputs, targets)

    def population_loss(self, matrices: Float64[np.ndarray, "*b d d"]) -> Float64[np.ndarray, "*b"]:
        """E (x'Ax - y)^2 in closed form for each symmetric A; a quadratic network has A = phi diag(theta) phi'.

        Given y the entries of x are independent and symmetric, with variances v_i and fourth moments q_i, so that

            E (x'Ax)^2 = sum_i A_ii^2 (q_i - v_i^2) + (sum_i A_ii v_i)^2 + 2 sum_{i != j} A_ij^2 v_i v_j
            L = (1/3) M_0 + (2/3) (M_1 - 2 sum_i A_ii v_i + 1)

        with M_y = E[(x'Ax)^2 | y].
        """
        given_0, given_1 = self._moments(0.0), self._moments(1.0)
        diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
        loss = _mean_square(matrices, given_0) / 3
        loss += 2 / 3 * (_mean_square(matrices, given_1) - 2 * diagonal @ given_1 + 1)
        return np.asarray(loss)

    def _moments(self, y: float) -> Float64[np.ndarray, " d"]:
        """Variance of each entry given y; entries are in {-1, 0, 1}, so it is the fourth moment too."""
        return np.where(np.arange(self.d) < self.k, y, 2 / 3)


def _mean_square(matrices: Float64[np.ndarray, "*b d d"], v: Float64[np.ndarray, " d"]) -> Float64[np.ndarray, "*b"]:
    """E (x'Ax)^2 for independent symmetric entries with variances and fourth moments v."""
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    all_pairs = np.einsum("...ij,i,j->...", matrices**2, v, v)
    own = diagonal**2 @ v**2
    return np.asarray(diagonal**2 @ (v - v**2) + (diagonal @ v) ** 2 + 2 * (all_pairs - own))
