"""Examples to look at, as networks read them."""

import torch

from transferscope.data.task import LabelledSet
from transferscope.diagnostics import Examples
from transferscope.training import pixel_scale, to_tensors


def shown_examples(
    chosen: LabelledSet, *, scaled_by: LabelledSet, at_most: int, device: str | torch.device = "cpu"
) -> Examples:
    """Examples at even distances, scaled with statistics of training data.

    Args:
        chosen: Where they are taken from.
        scaled_by: The training examples of the same data.
        at_most: How many, at least 1; all if there are fewer.
        device: Where to put them.

    Returns:
        The examples, in their order.
    """
    shown = to_tensors(chosen, pixel_scale(scaled_by), device).spread(at_most)
    ready = shown.batch(torch.arange(len(shown), device=shown.device))
    return Examples(ready.inputs, ready.labels)
