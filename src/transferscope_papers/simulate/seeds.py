"""Random numbers that belong to one element of a batch, whatever else is in the batch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.errors import SettingsError

SAMPLE = 1
"""The stream of training samples; initial weights have streams from 100 up."""


def generator(seed: int, stream: int = SAMPLE) -> np.random.Generator:
    """The random numbers for one purpose of one element.

    Args:
        seed: The element's seed, at least 0.
        stream: What the numbers are for (a sample, initial weights, ...), at least 0; streams of one seed are
            independent, as are equal streams of different seeds.

    Returns:
        The generator. Equal arguments give equal numbers.

    Raises:
        SettingsError: A negative seed or stream.
    """
    if seed < 0 or stream < 0:
        raise SettingsError(f"seed = {seed} and stream = {stream} were given; both must be at least 0")
    return np.random.default_rng([stream, seed])


def normal(seeds: Sequence[int], shape: tuple[int, ...], *, stream: int) -> Float[Tensor, "B ..."]:
    """Standard normal numbers, each row from its own generator.

    Args:
        seeds: One seed per element of the batch, B of them, at least one.
        shape: Shape of one element's draw.
        stream: What the numbers are for; see `generator`.

    Returns:
        float64 numbers of shape (B, *shape). Row b depends on seeds[b] only.
    """
    return torch.from_numpy(np.stack([generator(seed, stream).standard_normal(shape) for seed in seeds]))
