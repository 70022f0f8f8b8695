"""Samples of solvable problems: inputs and targets."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64


@dataclass(frozen=True)
class Sample:
    """Examples of a regression problem, float64; targets are (n, k) for several outputs."""

    inputs: Float64[np.ndarray, "n d"]
    targets: Float64[np.ndarray, " n *k"]

    def __len__(self) -> int:
        return len(self.targets)
