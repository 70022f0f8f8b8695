"""How much memory a forward pass takes."""

from math import prod

import torch
from torch import Tensor

from transferscope.diagnostics.surface import LossSurface


def saved_bytes(surface: LossSurface, batch_size: int) -> int:
    """Bytes that the forward pass of one batch keeps for its backward pass.

    Args:
        surface: Whose network and examples.
        batch_size: Examples in the batch.

    Returns:
        The sum over saved tensors; one that is saved twice counts twice.
    """
    sizes: list[int] = []

    def note(tensor: Tensor) -> None:
        sizes.append(tensor.element_size() * prod(tensor.shape))

    leaves = {name: tensor.detach().requires_grad_() for name, tensor in surface.moved.items()}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda _: torch.empty(0)):
        surface.value(leaves, surface.examples.first(batch_size))
    return sum(sizes)
