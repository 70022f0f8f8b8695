"""A first layer that is linear in its weights, and so in the coordinates of a line or plane through them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from transferscope.diagnostics.loss_surface import LossSurface
from transferscope.diagnostics.subject import Examples

_LINEAR = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclass(frozen=True)
class FirstLayer:
    """A module that reads the inputs of the network, once in a forward pass, and is linear in its parameters.

    Attributes:
        name: Its name in the network.
        module: The module itself.
    """

    name: str
    module: nn.Module

    def responses(self, surface: LossSurface, directions: Float[Tensor, "K P"], batch: Examples) -> tuple[Tensor, ...]:
        """Answers to a batch with the weights of the surface, then with each direction in their place.

        Args:
            surface: The point w, and the parameters that do not move.
            directions: d, shape (K, P).
            batch: Inputs.

        Returns:
            1 + K tensors (N, ...): `combine` of them with coordinates c is the answer at w + sum_k c_k d_k. Images have
            their channels last in memory, which later convolutions are faster on.
        """
        parameters = {**surface.fixed, **surface.moved}
        here = {own: parameters[f"{self.name}.{own}"] for own, _ in self.module.named_parameters()}
        stacked = surface.layout.unflatten(directions)
        answers: list[Tensor] = [functional_call(self.module, here, (batch.inputs,))]
        for k in range(len(directions)):
            along = {own: _row(stacked.get(f"{self.name}.{own}"), k, tensor) for own, tensor in here.items()}
            answers.append(functional_call(self.module, along, (batch.inputs,)))
        images = answers[0].dim() == 4
        memory_format = torch.channels_last if images else torch.contiguous_format
        return tuple(answer.contiguous(memory_format=memory_format) for answer in answers)


def combine(terms: tuple[Tensor, ...], coordinates: Sequence[float]) -> Tensor:
    """terms_0 + sum_k coordinates_k terms_k."""
    total = terms[0]
    for coordinate, term in zip(coordinates, terms[1:], strict=True):
        total = torch.add(total, term, alpha=coordinate)
    return total


def _row(stacked: Tensor | None, k: int, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if stacked is None else stacked[k]


def find_linear_first_layer(surface: LossSurface) -> FirstLayer | None:
    """The module that reads the inputs first, if its answer is linear in its parameters.

    Args:
        surface: Whose network to look at; it is run on one example.

    Returns:
        The layer; None when another kind of module reads the inputs, or more than one does.
    """
    example = surface.examples.first(1)
    calls: list[tuple[str, nn.Module, bool]] = []
    handles = [
        module.register_forward_pre_hook(
            lambda module, inputs, name=name: calls.append((name, module, inputs[0] is example.inputs))
        )
        for name, module in surface.network.named_modules()
        if type(module) in _LINEAR
    ]
    try:
        with torch.no_grad():
            surface.value(surface.moved, example)
    finally:
        for handle in handles:
            handle.remove()
    if not calls:
        return None
    name, module, reads_inputs = calls[0]
    called_once = sum(other is module for _, other, _ in calls) == 1
    known = {**surface.fixed, **surface.moved}
    complete = all(f"{name}.{own}" in known for own, _ in module.named_parameters())
    hooked = module._forward_hooks or module._forward_pre_hooks or "forward" in module.__dict__
    return FirstLayer(name, module) if reads_inputs and called_once and complete and not hooked else None
