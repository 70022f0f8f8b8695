"""Random numbers by index: the i-th row of a seed does not depend on how many rows are drawn."""

import numpy as np
from jaxtyping import Float

from transferscope.errors import out_of_range

TEST_START = 2**40
"""First row of the test examples: no training set is that long."""

_PER_COUNTER = 4  # 64-bit numbers of Philox per counter value


def uniform_rows(n: int, width: int, *, seed: int, purpose: str, start: int = 0) -> Float[np.ndarray, "n width"]:
    """Return the rows start, ..., start + n - 1 of an endless table of uniform numbers.

    The table is the stream of a Philox counter-based generator (Salmon et al. 2011), which can be entered anywhere, so
    that drawing in chunks of any size gives the same rows.

    Args:
        seed: Seed of the table, at least 0.
        purpose: Name of the table; tables of different purposes are independent.
        start: First row, at least 0.

    Returns:
        float64 in [0, 1).

    Raises:
        SettingsError: The seed is negative.
    """
    check_seed(seed)
    counters_per_row = -(-width // _PER_COUNTER)
    philox = np.random.Philox(np.random.SeedSequence([seed, *purpose.encode()]))
    philox.advance(start * counters_per_row)
    return np.random.Generator(philox).random((n, counters_per_row * _PER_COUNTER))[:, :width]


def check_seed(seed: int) -> None:
    """Refuse a negative seed, which no generator takes, with a SettingsError."""
    if seed < 0:
        raise out_of_range("seed", seed, "at least 0")
