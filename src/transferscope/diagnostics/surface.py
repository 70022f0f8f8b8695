"""The loss as a function of the parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from transferscope.diagnostics.subject import Examples, Loss, Subject
from transferscope.diagnostics.undisturbed import frozen_state
from transferscope.errors import SettingsError, unknown_name
from transferscope.numerics.vectorise import Layout


@dataclass(frozen=True)
class LossSurface:
    """Mean loss L(w) over examples, for the parameters w that are allowed to move.

    Attributes:
        network: The module; it is called with the tensors below in place of its own.
        examples: The data.
        loss: Mean loss over examples.
        moved: Values of the parameters that vary, by name; the point that everything is measured at.
        fixed: Values of the other parameters, and of the buffers.
    """

    network: nn.Module
    examples: Examples
    loss: Loss
    moved: Mapping[str, Tensor]
    fixed: Mapping[str, Tensor]

    @cached_property
    def layout(self) -> Layout:
        """Where each moved parameter lies in a vector."""
        return Layout.of(self.moved)

    @cached_property
    def point(self) -> Float[Tensor, "P"]:
        """The moved parameters as a vector, shape (P,)."""
        return self.layout.flatten(self.moved)

    def value(self, parameters: Mapping[str, Tensor], batch: Examples) -> Float[Tensor, ""]:
        """Mean loss over `batch` with `parameters` in place of the moved ones."""
        outputs = functional_call(self.network, {**self.fixed, **parameters}, (batch.inputs,))
        return self.loss(outputs, batch.labels)

    def mean_value(self, parameters: Mapping[str, Tensor], *, batch_size: int) -> float:
        """Mean loss over all examples, without gradients."""
        with torch.no_grad():
            batches = self.examples.batches(batch_size)
            return sum(float(self.value(parameters, batch)) * len(batch) for batch in batches) / len(self.examples)

    def gradient(self, parameters: Mapping[str, Tensor], *, batch_size: int) -> Float[Tensor, "P"]:
        """Gradient of the mean loss over all examples, shape (P,)."""
        total = torch.zeros_like(self.point)
        for batch in self.examples.batches(batch_size):
            leaves = {name: tensor.detach().requires_grad_() for name, tensor in parameters.items()}
            value = self.value(leaves, batch)
            parts = torch.autograd.grad(value, list(leaves.values()), materialize_grads=True)
            total += self.layout.flatten(dict(zip(leaves, parts, strict=True))) * (len(batch) / len(self.examples))
        return total

    def double(self) -> "LossSurface":
        """The same surface in float64."""
        inputs, labels = self.examples.inputs.double(), self.examples.labels
        return replace(
            self,
            examples=Examples(inputs, labels.double() if labels.is_floating_point() else labels),
            moved={name: tensor.double() for name, tensor in self.moved.items()},
            fixed={name: t.double() if t.is_floating_point() else t for name, t in self.fixed.items()},
        )


def loss_surface(subject: Subject, blocks: tuple[str, ...] = ()) -> LossSurface:
    """The loss of the subject's network on its examples.

    Args:
        subject: What to look at.
        blocks: Names of submodules or parameters that may move, such as ("head", "features.0"); () for all.

    Returns:
        The surface at the network's weights, detached from them.

    Raises:
        UnknownNameError: A block names no parameter.
        SettingsError: The network has no parameters.
    """
    state = frozen_state(subject.network)
    if not state.parameters:
        raise SettingsError("the network has no parameters; expected at least one to measure the loss along")
    chosen = select(state.parameters, blocks)
    moved = {name: state.parameters[name] for name in chosen}
    fixed = {name: tensor for name, tensor in state.parameters.items() if name not in moved}
    return LossSurface(subject.network, subject.examples, subject.loss, moved, {**fixed, **state.buffers})


def select(parameters: Mapping[str, Tensor], blocks: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the parameters in `blocks` (all if empty), in the network's order.

    Args:
        parameters: Named parameters.
        blocks: Names of submodules or parameters.

    Raises:
        UnknownNameError: A block names no parameter.
    """
    for block in blocks:
        if not any(_belongs(name, block) for name in parameters):
            parents = {".".join(name.split(".")[:i]) for name in parameters for i in range(1, name.count(".") + 2)}
            raise unknown_name("block of the network", block, parents)
    return tuple(name for name in parameters if not blocks or any(_belongs(name, block) for block in blocks))


def _belongs(name: str, block: str) -> bool:
    return name == block or name.startswith(f"{block}.")
