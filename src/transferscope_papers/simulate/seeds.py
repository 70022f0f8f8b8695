"""Random numbers of one element of a batch, independent of the rest of the batch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

SAMPLE = 1
"""Stream of training samples; streams from 100 are for initial weights."""


def generator(seed: int, stream: int = SAMPLE) -> np.random.Generator:
    """Return the random generator for one purpose of one element.

    Args:
        seed: The element's seed, at least 0.
        stream: Purpose of the numbers (a sample, initial weights, ...), at least 0. Different streams of one seed are
            independent, as are equal streams of different seeds.
    """
    return np.random.default_rng([stream, seed])


def normal(seeds: Sequence[int], shape: tuple[int, ...], *, stream: int) -> Float[Tensor, "B ..."]:
    """Return standard normal float64 numbers of shape (B, *shape), each row from the `generator` of its own seed."""
    return torch.from_numpy(np.stack([generator(seed, stream).standard_normal(shape) for seed in seeds]))
