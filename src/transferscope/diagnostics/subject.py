"""The subject of a diagnostic: a network, its initial weights, and data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional

from transferscope.errors import DataError, NetworkError, wrong_shape

Loss = Callable[[Tensor, Tensor], Tensor]
"""Outputs (N, K) and labels to a scalar: a mean over examples."""


def mean_loss(outputs: Float[Tensor, "N K"], labels: Shaped[Tensor, "N ..."]) -> Float[Tensor, ""]:
    """Return the cross-entropy for class labels (integers, shape (N,)), or the mean squared error for numbers (N, K).

    For booleans (N, K) of several labels, binary cross-entropy of each label, as mean over labels. Numbers of shape
    (N,) are read as one target for each example where there is one output for each.

    Raises:
        DataError: The shape of the labels does not match the outputs; nothing is broadcast.
    """
    shape, n = tuple(outputs.shape), len(outputs)
    if labels.is_floating_point():
        one_each = outputs.numel() == n == labels.numel() and labels.shape[0] == n
        if tuple(labels.shape) != shape and not one_each:
            raise wrong_shape("labels", labels, f"numbers {shape} as the outputs, or integers (N,) for classes")
        return functional.mse_loss(outputs, labels.reshape(shape))
    if labels.dtype == torch.bool:
        if tuple(labels.shape) != shape:
            raise wrong_shape("booleans", labels, f"one per output, {shape}")
        return functional.binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype))
    if outputs.dim() < 2 or tuple(labels.shape) != (n, *shape[2:]):
        raise wrong_shape(
            "class labels",
            labels,
            f"one integer per example, (N,), for outputs (N, K); the outputs have shape {shape}",
        )
    return functional.cross_entropy(outputs, labels)


@dataclass(frozen=True)
class Examples:
    """Labelled examples as tensors.

    Attributes:
        inputs: Shape (N, ...), scaled as the network expects them; integers for a network that looks them up.
        labels: Class indices (N,), of any integer type (kept as int64), or numbers (N, K), one for each output; (N,) is
            taken for a single output. Booleans (N, K) are several labels of each input.
        kept: Returns cached features of a network for these examples, or None if they must be computed; None without a
            cache.
        classes: Names of the classes, by index; None for numbers, or if unknown.

    Raises:
        DataError: There are no examples, lengths differ, or inputs are not finite.
    """

    inputs: Shaped[Tensor, "N ..."]
    labels: Shaped[Tensor, "M ..."]
    kept: Callable[[nn.Module], Tensor | None] | None = field(default=None, compare=False, repr=False)
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.inputs.dim() == 0 or self.labels.dim() == 0:
            raise DataError("inputs or labels are a single number; expected one row per example")
        if len(self.inputs) == 0 or len(self.inputs) != len(self.labels):
            raise DataError(
                f"there are {len(self.inputs)} inputs and {len(self.labels)} labels; expected one label per input, "
                "and at least one"
            )
        if not torch.isfinite(self.inputs).all():
            raise DataError("inputs contain NaN or infinity; drop or fill those examples")
        if self.labels.is_complex():
            raise DataError("labels are complex numbers; expected integers for classes, or real numbers")
        if not self.labels.is_floating_point() and not self.several_labels:
            object.__setattr__(self, "labels", self.labels.long())

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def several_labels(self) -> bool:
        """Whether each input has any number of labels, rather than one class or numbers."""
        return self.labels.dtype == torch.bool and self.labels.dim() > 1

    def batches(self, size: int) -> Iterator["Examples"]:
        """Yield consecutive batches of at most `size` examples."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Examples(self.inputs[part], self.labels[part], classes=self.classes)

    def take(self, index: Int[Tensor, " n"]) -> "Examples":
        """Return the examples at `index`, in that order."""
        return Examples(self.inputs[index], self.labels[index], classes=self.classes)

    def first(self, n: int) -> "Examples":
        """Return the first n examples, or all if there are fewer."""
        return Examples(self.inputs[:n], self.labels[:n], classes=self.classes)


@dataclass(frozen=True)
class Subject:
    """The subject of a diagnostic, which does not change it.

    Attributes:
        network: Any module from inputs (N, ...) to outputs (N, K), in any mode, on the device of the examples.
        start: The initial network (pretrained backbone with the new head), for diagnostics that compare the two.
        source: Source examples, for diagnostics that compare two tasks.
        loss: Mean loss over examples, handed outputs and labels as they are. One that is not a mean over examples (a
            sum, a mean weighted by class, targets broadcast over outputs) is refused where the loss is measured.
        head: Name of the submodule whose input is "the features"; "head" for a `Network`.
        n_train: Number of training examples of the network; None for as many as in `examples`.
        part: Part of the data, as in the name of a record.
        step: Training step of `network`; None at the end.

    Raises:
        NetworkError: Parameters of `start` and `network` differ in names or shapes.
    """

    network: nn.Module
    examples: Examples
    start: nn.Module | None = None
    source: Examples | None = None
    loss: Loss = mean_loss
    head: str = "head"
    n_train: int | None = None
    part: str = "target_train"
    step: int | None = None

    def __post_init__(self) -> None:
        if self.start is not None:
            _check_same_shape(self.network, self.start)

    def needs_start(self, diagnostic: str) -> nn.Module:
        """Return the initial network; raises NetworkError if missing."""
        if self.start is None:
            raise NetworkError(f"{diagnostic} compares a network with its start, but the subject has none; give start")
        return self.start


def _check_same_shape(network: nn.Module, start: nn.Module) -> None:
    here = {name: tuple(tensor.shape) for name, tensor in network.named_parameters()}
    there = {name: tuple(tensor.shape) for name, tensor in start.named_parameters()}
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            raise NetworkError(
                f"parameter {name} has shape {here.get(name)} in the network and {there.get(name)} in the start "
                "(None: missing); expected one architecture"
            )
