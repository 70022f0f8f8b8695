"""Looking at a network without changing it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@contextmanager
def undisturbed(*networks: nn.Module) -> Iterator[None]:
    """Networks in evaluation mode, gradients on; modes and the global random state come back as they were.

    Args:
        networks: Modules to look at; their parameters and buffers are protected by `frozen_state`, not here.

    Yields:
        None.
    """
    modes = [(module, module.training) for network in networks for module in network.modules()]
    devices = sorted({p.device.index or 0 for network in networks for p in network.parameters() if p.is_cuda})
    try:
        for network in networks:
            network.eval()
        with torch.random.fork_rng(devices=devices), torch.enable_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def answering(module: nn.Module, answer: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Let a module answer with a function of its input in place of its own `forward`.

    Args:
        module: A module without such a replacement; its hooks stay in force.
        answer: From the input to the output.

    Yields:
        None.
    """
    module.__dict__["forward"] = answer
    try:
        yield
    finally:
        del module.__dict__["forward"]


@dataclass(frozen=True)
class FrozenState:
    """Parameters and buffers of a network that share nothing with its gradients.

    Attributes:
        parameters: Detached views of the parameters (the memory is shared, so do not write to it).
        buffers: Copies of the buffers, which a forward pass may write to.
    """

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]


def frozen_state(network: nn.Module) -> FrozenState:
    """The state of `network` to call it with through `torch.func.functional_call`."""
    return FrozenState(
        {name: parameter.detach() for name, parameter in network.named_parameters()},
        {name: buffer.detach().clone() for name, buffer in network.named_buffers()},
    )
