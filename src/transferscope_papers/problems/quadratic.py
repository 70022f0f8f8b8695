"""The source and target distributions of two-layer quadratic networks (merlin2020, section 5)."""

from dataclasses import dataclass

import numpy as np

from transferscope_papers.problems.sample import Sample


@dataclass(frozen=True)
class QuadraticProblem:
    """y is 1 with probability 2/3, else 0; the first k entries of x determine y, the others are independent.

    Given y = 1 the first k entries are independent signs, given y = 0 they are 0; the others are uniform on {-1, 0, 1}.
    So y = x_i^2 for every i <= k. The target of merlin2020 is k = 1, its source has 2 <= k <= d.

    Attributes:
        d: Number of inputs, at least 1.
        k: Number of entries that determine y, in 1..d.
    """

    d: int
    k: int

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n >= 1 noiseless examples."""
        targets = (generator.random(n) < 2 / 3).astype(np.float64)
        inputs = generator.integers(-1, 2, size=(n, self.d)).astype(np.float64)
        signs = 2.0 * generator.integers(0, 2, size=(n, self.k)) - 1.0
        inputs[:, : self.k] = signs * targets[:, None]
        return Sample(inputs, targets)
