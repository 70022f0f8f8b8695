"""Labelled sets as tensors on a device, scaled with statistics of training data."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transferscope.data.task import LabelledSet
from transferscope.errors import SettingsError

_STATISTICS_CHUNK = 8192


@dataclass(frozen=True)
class PixelScale:
    """How inputs are brought to mean 0 and standard deviation 1.

    Attributes:
        mean: Per channel of images (bytes read as 0..1), per feature of vectors; shape (C,) or (D,), float32.
        std: Standard deviation in the same unit; 1 where the training data do not vary.
    """

    mean: Float[np.ndarray, "C"]
    std: Float[np.ndarray, "C"]


def pixel_scale(train: LabelledSet) -> PixelScale:
    """Mean and standard deviation per channel (images) or per feature (vectors) of training inputs.

    Args:
        train: Training examples; never pass test examples here.

    Returns:
        The scale that standardises these inputs.
    """
    axes = (0, *range(2, train.inputs.ndim))
    total, squares, count = 0.0, 0.0, 0
    for start in range(0, len(train), _STATISTICS_CHUNK):
        chunk = _unit(train.inputs[start : start + _STATISTICS_CHUNK])
        total = total + chunk.sum(axis=axes)
        squares = squares + np.square(chunk).sum(axis=axes)
        count += chunk.size // chunk.shape[1]
    mean = total / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    std = np.where(variance > 1e-12, np.sqrt(variance), 1.0)
    return PixelScale(np.atleast_1d(mean).astype(np.float32), np.atleast_1d(std).astype(np.float32))


def _unit(inputs: np.ndarray) -> np.ndarray:
    values = inputs.astype(np.float64)
    return values / 255.0 if inputs.dtype == np.uint8 else values


@dataclass(frozen=True)
class Batch:
    """Inputs ready for a network, with their labels.

    Attributes:
        inputs: float32, (n, *input_shape), standardised; images in channels-last memory order.
        labels: int64 classes (n,), or float32 regression targets (n, n_outputs).
    """

    inputs: Float[Tensor, "n ..."]
    labels: Tensor


@dataclass(frozen=True)
class TensorSet:
    """A labelled set that lives on a device; bytes stay bytes until a batch is drawn.

    Attributes:
        inputs: As in the labelled set, (N, *input_shape), uint8 or float32.
        labels: int64 (N,) or float32 (N, n_outputs).
        shift: Subtracted from the raw inputs, shaped to broadcast over one input.
        factor: Multiplied afterwards.
        n_outputs: Number of classes or regression targets.
        is_classification: Whether labels are classes.
    """

    inputs: Tensor
    labels: Tensor
    shift: Tensor
    factor: Tensor
    n_outputs: int
    is_classification: bool

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.inputs.device

    def batch(self, index: Int[Tensor, "n"]) -> Batch:
        """The examples at `index` (n,), standardised."""
        return self._ready(self.inputs[index], self.labels[index])

    def chunks(self, size: int) -> Iterator[Batch]:
        """All examples in order, at most `size` at a time."""
        for start in range(0, len(self), size):
            yield self._ready(self.inputs[start : start + size], self.labels[start : start + size])

    def spread(self, n: int) -> "TensorSet":
        """`n` examples at even distances (all of them when there are fewer)."""
        if n >= len(self):
            return self
        index = torch.linspace(0, len(self) - 1, n, dtype=torch.float64, device=self.device).round().long()
        return replace(self, inputs=self.inputs[index], labels=self.labels[index])

    def _ready(self, raw: Tensor, labels: Tensor) -> Batch:
        inputs = (raw.to(torch.float32) - self.shift) * self.factor
        if inputs.ndim == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return Batch(inputs, labels)


def to_tensors(data: LabelledSet, scale: PixelScale, device: str | torch.device = "cpu") -> TensorSet:
    """Move a labelled set to a device.

    Args:
        data: The examples.
        scale: From `pixel_scale` of the training examples of the same domain.
        device: Where to.

    Returns:
        The set as tensors; batches come out standardised.
    """
    raw = data.inputs if data.inputs.dtype == np.uint8 else data.inputs.astype(np.float32)
    unit = 255.0 if data.inputs.dtype == np.uint8 else 1.0
    shape = (-1, *[1] * (data.inputs.ndim - 2))
    return TensorSet(
        inputs=torch.from_numpy(np.ascontiguousarray(raw)).to(device),
        labels=torch.from_numpy(_labels(data)).to(device),
        shift=torch.from_numpy(scale.mean * unit).reshape(shape).to(device),
        factor=torch.from_numpy(1.0 / (scale.std * unit)).reshape(shape).to(device),
        n_outputs=data.n_outputs,
        is_classification=data.classes is not None,
    )


def _labels(data: LabelledSet) -> np.ndarray:
    return np.ascontiguousarray(data.labels.astype(np.int64 if data.classes is not None else np.float32))


def choose_device(name: str) -> torch.device:
    """The device that a setting names.

    Args:
        name: "auto" (CUDA, else Apple's MPS, else the CPU), "cpu", "cuda", "cuda:1", "mps".

    Returns:
        The device.

    Raises:
        SettingsError: The name is unknown, or the machine has no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind = name.split(":")[0]
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if kind not in present:
        raise SettingsError(f"device {name!r} is unknown; expected auto, cpu, cuda or mps")
    if not present[kind]:
        raise SettingsError(f"device {name!r} was asked for and this machine has none; use device = 'auto' or 'cpu'")
    return torch.device(name)
