"""Examples to look at, as networks read them."""

import torch

from transferscope.data.task import LabelledSet
from transferscope.diagnostics import Examples
from transferscope.training import PixelScale, to_tensors


def shown_examples(
    chosen: LabelledSet, *, scale: PixelScale, at_most: int, device: str | torch.device = "cpu"
) -> Examples:
    """Examples at even distances, scaled as the network expects them.

    Args:
        chosen: Where they are taken from.
        scale: How; `pixel_scale` of the training examples of the same data for a network of a study.
        at_most: How many, at least 1; all if there are fewer.
        device: Where to put them.

    Returns:
        The examples, in their order.
    """
    shown = to_tensors(chosen, scale, device).spread(at_most)
    ready = shown.batch(torch.arange(len(shown), device=shown.device))
    return Examples(ready.inputs, ready.labels)
