"""The loss as a function of the parameters: as named tensors or one vector, and its mean over batches."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from transferscope.diagnostics.network_state import FrozenState, first_outputs, frozen_state
from transferscope.diagnostics.subject import Examples, Loss, Subject, mean_loss
from transferscope.errors import DataError, NetworkError, SettingsError, unknown_name
from transferscope.estimate import Estimate


@dataclass(frozen=True)
class Layout:
    """The positions of named tensors in one vector."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "Layout":
        """Return the layout of `tensors`, in their order."""
        return cls(tuple(tensors), tuple(tuple(tensor.shape) for tensor in tensors.values()))

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(prod(shape) for shape in self.shapes)

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """Where each name lies."""
        ends = pairwise(accumulate((prod(shape) for shape in self.shapes), initial=0))
        return {name: slice(*each) for name, each in zip(self.names, ends, strict=True)}

    def flatten(self, tensors: Mapping[str, Tensor]) -> Float[Tensor, " P"]:
        """Return the tensors as one vector, shape (P,)."""
        return torch.cat([tensors[name].reshape(-1) for name in self.names])

    def unflatten(self, vectors: Float[Tensor, "*batch P"]) -> dict[str, Tensor]:
        """Return views of a vector, or a batch of vectors, in the layout's shapes: (*batch, P) to (*batch, *n)."""
        batch = vectors.shape[:-1]
        parts = zip(self.names, self.shapes, strict=True)
        return {name: vectors[..., self.slices[name]].reshape((*batch, *shape)) for name, shape in parts}


def batch_shares(n: int, batch_size: int) -> Float[Tensor, " B"]:
    """Return the share of n examples in each of the consecutive batches of `batch_size`, float64."""
    starts = torch.arange(0, n, batch_size)
    return (n - starts).clamp_max(batch_size).double() / n


def mean_over_batches(samples: Float[Tensor, " B"], weights: Float[Tensor, " B"], n: int) -> Estimate:
    """Return the weighted mean over batches, with the standard error that their spread implies.

        m = sum_b w_b s_b,    stderr^2 = sum_b w_b (s_b - m)^2 / (B - 1)

    The value of a batch of n_b examples varies by sigma^2 / n_b, so this is an unbiased estimate of the variance of m
    whatever the sizes, and m +- t_{B - 1} stderr covers as a t-interval does; a short last batch counts as it should.

    Args:
        samples: One value per batch, shape (B,).
        weights: Shares of the examples, shape (B,), sum 1.

    Returns:
        The estimate; stderr None for one batch, status "non_finite" if a sample is.
    """
    if not torch.isfinite(samples).all():
        return Estimate.missing("non_finite", n)
    mean = (weights * samples).sum()
    if len(samples) == 1:
        return Estimate(float(mean), None, n)
    variance = (weights * (samples - mean).square()).sum() / (len(samples) - 1)
    return Estimate(float(mean), float(variance.sqrt()), n)


_LOOKED_AT = 8  # examples on which a loss is looked at before it is measured


@dataclass(frozen=True)
class LossSurface:
    """Mean loss L(w) over examples, for the parameters w that are allowed to move.

    Attributes:
        network: The module; it is called with the tensors below in place of its own.
        moved: Values of the parameters that vary, by name; the point of measurement.
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
    def point(self) -> Float[Tensor, " P"]:
        """The moved parameters as a vector, shape (P,)."""
        return self.layout.flatten(self.moved)

    @cached_property
    def buffers(self) -> tuple[str, ...]:
        """Names of the fixed buffers."""
        return tuple(name for name, _ in self.network.named_buffers() if name in self.fixed)

    def value(self, parameters: Mapping[str, Tensor], batch: Examples) -> Float[Tensor, ""]:
        """Return the mean loss over `batch` with `parameters` instead of the moved ones; buffers are copied."""
        tensors = {**self.fixed, **{name: self.fixed[name].clone() for name in self.buffers}, **parameters}
        return self.loss(functional_call(self.network, tensors, (batch.inputs,)), batch.labels)

    def gradient(self, parameters: Mapping[str, Tensor], *, batch_size: int) -> Float[Tensor, " P"]:
        """Return the gradient of the mean loss over all examples, shape (P,)."""
        total = torch.zeros_like(self.point)
        for batch in self.examples.batches(batch_size):
            leaves = {name: tensor.detach().requires_grad_() for name, tensor in parameters.items()}
            value = self.value(leaves, batch)
            parts = torch.autograd.grad(value, list(leaves.values()), materialize_grads=True)
            total += self.layout.flatten(dict(zip(leaves, parts, strict=True))) * (len(batch) / len(self.examples))
        return total

    def to(self, dtype: torch.dtype) -> "LossSurface":
        """Return the surface in another precision; integers such as indices and counters are unchanged."""

        def cast(tensor: Tensor) -> Tensor:
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        return replace(
            self,
            examples=Examples(cast(self.examples.inputs), cast(self.examples.labels)),
            moved={name: cast(tensor) for name, tensor in self.moved.items()},
            fixed={name: cast(tensor) for name, tensor in self.fixed.items()},
        )


def loss_surface(subject: Subject, blocks: tuple[str, ...] = ()) -> LossSurface:
    """Return the loss of the subject's network on its examples.

    Args:
        blocks: Names of submodules or parameters that may move, such as ("head", "features.0"); () for all.

    Returns:
        The surface at the network's weights, detached from them; in float32 for a network of half precision, in which
        a loss has two or three digits.

    Raises:
        UnknownNameError: A block names no parameter.
        SettingsError: The loss is not a mean over examples.
        NetworkError: The network has no parameters, or cannot read the inputs.
        DataError: Labels do not match the outputs.
    """
    state = frozen_state(subject.network)
    if not state.parameters:
        raise NetworkError("the network has no parameters; expected at least one")
    chosen = select(state.parameters, blocks)
    moved = {name: state.parameters[name] for name in chosen}
    fixed = {name: tensor for name, tensor in state.parameters.items() if name not in moved}
    surface = LossSurface(subject.network, subject.examples, subject.loss, moved, {**fixed, **state.buffers})
    if any(parameter.dtype in (torch.float16, torch.bfloat16) for parameter in state.parameters.values()):
        surface = surface.to(torch.float32)
    _check(surface)
    return surface


def _check(surface: LossSurface) -> None:
    """Check on a few evenly spaced examples that the loss is a mean over examples."""
    labels = surface.examples.labels
    few = surface.examples.take(torch.linspace(0, len(labels) - 1, min(_LOOKED_AT, len(labels))).round().long())
    fixed = {name: tensor for name, tensor in surface.fixed.items() if name not in surface.buffers}
    buffers = {name: surface.fixed[name] for name in surface.buffers}
    outputs = first_outputs(surface.network, few.inputs, FrozenState({**fixed, **surface.moved}, buffers))
    if not labels.is_floating_point() and not few.several_labels and outputs.dim() > 1:
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or high >= outputs.shape[1]:
            raise DataError(
                f"class labels run from {low} to {high}; expected 0 to {outputs.shape[1] - 1}, one output per class"
            )
    if surface.loss is mean_loss:
        mean_loss(outputs, few.labels)
        return
    whole = surface.loss(outputs, few.labels)
    singly = torch.stack([surface.loss(outputs[i : i + 1], few.labels[i : i + 1]) for i in range(len(outputs))]).mean()
    if whole.dim() or (torch.isfinite(whole + singly) and not torch.isclose(whole, singly, rtol=1e-3, atol=1e-6)):
        raise SettingsError(
            f"the loss of {len(few)} examples is {whole.tolist()}, but the mean of their losses is "
            f"{float(singly):.6g} (outputs {tuple(outputs.shape)}, labels {tuple(few.labels.shape)}); give a loss "
            "that is a mean over examples, and labels of the outputs' shape"
        )


def select(parameters: Mapping[str, Tensor], blocks: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of the parameters in `blocks` (all if empty), in the network's order."""
    for block in blocks:
        if not any(_belongs(name, block) for name in parameters):
            parents = {".".join(name.split(".")[:i]) for name in parameters for i in range(1, name.count(".") + 2)}
            raise unknown_name("block of the network", block, parents)
    return tuple(name for name in parameters if not blocks or any(_belongs(name, block) for block in blocks))


def _belongs(name: str, block: str) -> bool:
    return name == block or name.startswith(f"{block}.")
