"""Target examples to look at a pair with, as networks read them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64

from transferscope.data.task import Dataset, LabelledSet
from transferscope.diagnostics.features import label_codes
from transferscope.diagnostics.subject import Examples
from transferscope.errors import DataError
from transferscope.training import PixelScale, pixel_scale, to_tensors

LEAST_EXAMPLES = 40
"""Fewer target examples than these say next to nothing about a pair."""


@dataclass(frozen=True)
class TargetExamples:
    """Labelled target examples.

    Attributes:
        examples: Inputs scaled by the training part, and labels.
        codes: Labels as numbers to regress on, shape (N, C); see `diagnostics.features.label_codes`.
    """

    examples: Examples
    codes: Float64[np.ndarray, "N C"]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.examples.inputs.shape[1:])

    @property
    def flat_inputs(self) -> Float64[np.ndarray, "N D"]:
        """Inputs as vectors."""
        flat: np.ndarray = self.examples.inputs.flatten(1).double().numpy()
        return flat


def look_at(target: Dataset, *, at_most: int) -> TargetExamples:
    """Examples of both parts of a target, drawn at random with a fixed seed.

    Args:
        target: The whole target, not a few-shot subset.
        at_most: How many to take; all if there are fewer.

    Returns:
        The examples, on the CPU.

    Raises:
        DataError: There are fewer than `LEAST_EXAMPLES`.
    """
    n_train, n_test = len(target.train), len(target.test)
    if n_train + n_test < LEAST_EXAMPLES:
        raise DataError(
            f"{target.name} has {n_train + n_test} labelled examples; expected at least {LEAST_EXAMPLES} to place a "
            "pair"
        )
    chosen = np.sort(np.random.default_rng(0).permutation(n_train + n_test)[:at_most])
    scale = pixel_scale(target.train)
    parts = [(target.train, chosen[chosen < n_train]), (target.test, chosen[chosen >= n_train] - n_train)]
    ready = [_ready(part, index, scale) for part, index in parts if len(index)]
    examples = Examples(torch.cat([one.inputs for one in ready]), torch.cat([one.labels for one in ready]))
    return TargetExamples(examples, label_codes(examples))


def _ready(part: LabelledSet, index: np.ndarray, scale: PixelScale) -> Examples:
    batch = to_tensors(part.take(index), scale).batch(torch.arange(len(index)))
    return Examples(batch.inputs, batch.labels)
