"""Gradients of the loss with respect to the outputs of every layer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.diagnostics.loss_surface import LossSurface
from transferscope.diagnostics.subject import Examples
from transferscope.errors import NetworkError


@dataclass(frozen=True)
class LayerGradients:
    """Back-propagated gradients of the examples of one batch.

    Attributes:
        by_layer: For each layer, in the order of the forward pass, dL_i/dz_i: the gradient of each example's own loss
            with respect to the layer's output, in the shape of the output, (n, ...).
    """

    by_layer: Mapping[str, Float[Tensor, "n ..."]]


WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Layers whose weight has one row per unit (channel) of their output."""


def weighted_layers(network: nn.Module) -> Mapping[str, nn.Module]:
    """Linear layers and convolutions by name."""
    return {name: module for name, module in network.named_modules() if isinstance(module, WEIGHTED)}


def layer_gradients(surface: LossSurface, batch: Examples) -> LayerGradients:
    """Gradients with respect to the output of every weighted layer that is called once.

    Args:
        surface: The loss, a mean over examples, of a network in which examples do not mix (BatchNorm in evaluation
            mode).
        batch: The examples.

    Returns:
        The gradients, multiplied by n so that they are those of single examples.

    Raises:
        NetworkError: No weighted layer is called exactly once.
    """
    outputs: list[tuple[str, Tensor]] = []
    with _recording(surface.network, outputs):
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in surface.moved.items()}
        value = surface.value(leaves, batch)
    names = [name for name, _ in outputs]
    once = [(name, output) for name, output in outputs if names.count(name) == 1]
    if not once:
        raise NetworkError(
            "no linear layer or convolution of the network is called exactly once in a forward pass, so there is no "
            "gradient from layer to layer; give the module itself where it is wrapped, as by torch.compile"
        )
    gradients = torch.autograd.grad(value, [output for _, output in once], materialize_grads=True)
    return LayerGradients({name: len(batch) * g for (name, _), g in zip(once, gradients, strict=True)})


@contextmanager
def _recording(network: nn.Module, outputs: list[tuple[str, Tensor]]) -> Iterator[None]:
    def keep(name: str, output: Tensor) -> Tensor:
        outputs.append((name, output))
        return output.clone()  # an in-place activation would overwrite the recorded output

    handles = [
        layer.register_forward_hook(lambda _, __, output, name=name: keep(name, output))
        for name, layer in weighted_layers(network).items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
