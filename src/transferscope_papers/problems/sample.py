"""What a solvable problem hands out: inputs and targets."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError


@dataclass(frozen=True)
class Sample:
    """Examples of a regression problem, float64; targets are (n, k) for several outputs."""

    inputs: Float64[np.ndarray, "n d"]
    targets: Float64[np.ndarray, " n *k"]

    def __len__(self) -> int:
        return len(self.targets)


def check_size(n: int) -> None:
    """Raise a SettingsError unless a sample of `n` examples can be drawn."""
    if n < 1:
        raise SettingsError(f"a sample of n = {n} examples was asked for; n must be at least 1")
