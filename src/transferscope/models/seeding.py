"""Initialisation from a seed that leaves the global random state alone."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from `seed` inside the block, on the CPU whatever the default device; the global state is restored after it.

    Only the CPU generator is touched: `torch.manual_seed` would also reseed every GPU.

    Args:
        seed: Seed of the draws.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        yield
