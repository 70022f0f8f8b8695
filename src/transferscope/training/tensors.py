"""Labelled sets as tensors on a device, scaled with statistics of training data."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from time import process_time
from typing import Literal, Self

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from transferscope.data.task import LabelledSet, give_back
from transferscope.errors import DataError, SettingsError, unknown_name
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import SCALE_NOTE, Network, Scaled, scaled_in
from transferscope.numerics.leave_one_out import ridge_risks
from transferscope.wording import counted, transforms_to_add

_STATISTICS_CHUNK = 8192  # inputs at a time, of at most 4096 numbers each; fewer of larger ones
_MAPPED = 2**26  # bytes of a memory-mapped array that are read before its pages are given back
_JUDGED = 1000  # examples by which a way to scale features is chosen
_ROUNDING = 1e-5  # of pixels that were divided by 255, or resized
_LISTED = 4  # channels of a scale in words
_LOOKED_AT, _FAR_LESS = 1000, 8.0
"""Images looked at, and the factor by which their spread is far below that of training."""


@dataclass(frozen=True)
class PixelScale:
    """Standardisation of inputs: mean and standard deviation.

    Attributes:
        mean: Per channel of images (bytes read as 0..1), per feature of vectors; shape (C,) or (D,), float32.
        std: Standard deviation in the same unit. For constant training data it is 1 for a channel of images, and 0 for
            a feature, which then becomes 0 for all inputs, since the effect of other values is unknown. It is 1 for
            features that are not `scaled`.
        scaled: Which features are divided by their standard deviation.
    """

    mean: Float[np.ndarray, " C"]
    std: Float[np.ndarray, " C"]
    scaled: Scaled = "all"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a scale of the command line.

        Args:
            text: "none" for unscaled inputs (bytes as 0..1, so mean 0 and standard deviation 1), or MEAN/STD in the
                same unit, one number or one for each channel: "0.1307/0.3081", "0.485,0.456,0.406/0.229,0.224,0.225".
                A network that read bytes as 0..255 has "0/0.00392157" (1/255).

        Raises:
            SettingsError: The text is invalid, or a standard deviation is not positive.
        """
        parts = ["0", "1"] if text == "none" else text.split("/")
        try:
            numbers = [np.array([float(number) for number in part.split(",")], dtype=np.float32) for part in parts]
        except ValueError:
            numbers = []
        if len(numbers) != 2 or len(numbers[0]) != len(numbers[1]):
            raise SettingsError(
                f"scaling = {text!r}; expected own, none or MEAN/STD with one number each per channel, as in "
                "0.1307/0.3081"
            )
        mean, std = numbers
        if not np.isfinite(mean).all() or not np.isfinite(std).all() or not (std > 0).all():
            raise SettingsError(f"scaling = {text!r}; expected finite numbers and standard deviations above 0")
        return cls(mean, std)

    @property
    def as_notes(self) -> dict[str, str]:
        """The scale as metadata of a file of weights."""
        numbers = {"mean": self.mean.tolist(), "std": self.std.tolist()}
        return {SCALE_NOTE: json.dumps(numbers if self.scaled == "all" else {**numbers, "scaled": self.scaled})}

    @classmethod
    def from_notes(cls, notes: Mapping[str, str]) -> Self | None:
        """Return the scale written by `as_notes`; None if there is none.

        Raises:
            SettingsError: The stored scale is invalid.
        """
        if SCALE_NOTE not in notes:
            return None
        try:
            note = json.loads(notes[SCALE_NOTE])
            mean, std = (np.array(note[name], dtype=np.float32) for name in ("mean", "std"))
            if not (mean.ndim == std.ndim == 1 and mean.shape == std.shape and len(mean)):
                raise ValueError
            if not (np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()):
                raise ValueError
            return cls(mean, std, scaled_in(notes) or "all")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SettingsError(
                f"the file's note on its scaling cannot be read: {notes[SCALE_NOTE][:80]}; give scaling as own, none "
                "or MEAN/STD"
            ) from error

    def fitted_to(self, data: LabelledSet) -> Self:
        """Return the scale with one number for each channel or feature of these data.

        Raises:
            SettingsError: It has another number of channels or features.
        """
        n = data.inputs.shape[1]
        if len(self.mean) not in (1, n):
            raise SettingsError(
                f"the scaling has {len(self.mean)} means, but the inputs have {n} channels or features; give one "
                "number, or one each"
            )
        return replace(self, mean=np.broadcast_to(self.mean, n).copy(), std=np.broadcast_to(self.std, n).copy())

    def remarks(self, inputs: Num[np.ndarray, "N ..."]) -> tuple[str, ...]:
        """Describe images whose pixels vary far less than in training, such as bytes of 0 to 16; empty for others."""
        if inputs.ndim != 4 or not len(inputs) or not self.mean.any():  # no mean: read as they are
            return ()
        some = inputs[:_LOOKED_AT]
        spread = float(some.std(dtype=np.float64)) / (255 if some.dtype == np.uint8 else 1)
        usual = float(self.std.min())
        if spread * _FAR_LESS >= usual:
            return ()
        return (
            f"pixels vary far less than in training (standard deviation {spread:.2g} and {usual:.2g} of 0..1); "
            "expected images in the training images' range, mostly bytes of 0 to 255",
        )

    @property
    def words(self) -> str:
        """The numbers as text: "mean 0.131 and standard deviation 0.308"."""
        if len(self.mean) > _LISTED:
            return f"a mean and standard deviation for each of {len(self.mean)} features"
        mean, std = (", ".join(f"{number:.4g}" for number in numbers.tolist()) for numbers in (self.mean, self.std))
        return f"mean {mean} and standard deviation {std}"


def pixel_scale(train: LabelledSet, ways: Sequence[Scaled] = ("all", "numbers")) -> PixelScale:
    """Return mean and standard deviation per channel (images) or per feature (vectors) of training inputs.

    No single scaling suits the features of every table (a standardised rare category outweighs every number, an
    unscaled one has little effect), so the scaling is chosen by the smallest leave-one-out error of ridge regression,
    with its best penalty, on up to 1,000 of these labels; see docs/results/tables.md.

    Args:
        train: Training examples; never pass test examples here.
        ways: Candidate scalings; ties go to the first. They differ only for vectors, and "numbers" from "all" only if a
            feature has only the values 0 and 1.

    Returns:
        The scale; for texts, whose tokens are unchanged, mean 0 and standard deviation 1.
    """
    if train.is_tokens:
        return PixelScale(np.zeros(1, np.float32), np.ones(1, np.float32))
    axes = (0, *range(2, train.inputs.ndim))
    in_bytes = train.inputs.dtype == np.uint8
    one = train.inputs[0].reshape(train.inputs.shape[1], -1)[:, 0].astype(np.float64)  # no digits are lost near it
    origin = np.zeros_like(one) if in_bytes else one
    total, squares, count, is_flag = 0.0, 0.0, 0, np.array(train.inputs.ndim == 2)
    size = max(1, min(_STATISTICS_CHUNK, _STATISTICS_CHUNK * 4096 // train.inputs[0].size))
    for start in range(0, len(train), size):
        give_back(train.inputs)
        values = train.inputs[start : start + size].astype(np.float64)
        chunk = values / 255.0 if in_bytes else values - origin.reshape(-1, *[1] * (values.ndim - 2))
        total = total + chunk.sum(axis=axes)
        squares = squares + np.square(chunk).sum(axis=axes)
        count += chunk.size // chunk.shape[1]
        if train.inputs.ndim == 2:
            is_flag = is_flag & ((values == 0) | (values == 1)).all(axis=0)
    mean = np.atleast_1d(total / count)
    std = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    varies = std > 1e-6 if in_bytes else std > np.finfo(np.float32).tiny
    std = np.where(varies, std, 1.0 if train.is_image else 0.0)
    mean, std = (origin + mean).astype(np.float32), np.atleast_1d(std).astype(np.float32)
    divided = {"all": std, "numbers": np.where(is_flag, std > 0, std), "none": std > 0}
    scales = [PixelScale(mean, divided[way].astype(np.float32), way) for way in ways]
    if train.inputs.ndim > 2 or len(train) < 2 or all(np.array_equal(one.std, std) for one in scales):
        return scales[0]
    return min(scales, key=lambda scale: _ridge_risk(train, scale))


def _ridge_risk(train: LabelledSet, scale: PixelScale) -> float:
    """Return the minimum leave-one-out error of ridge regression on inputs with this scale."""
    rows = np.unique(np.linspace(0, len(train) - 1, min(len(train), _JUDGED)).astype(np.int64))
    varies = scale.std > 0
    design = (train.inputs[rows].astype(np.float64) - scale.mean)[:, varies] / scale.std[varies]
    labels = train.labels[rows]
    one_hot = labels if train.kind != "classification" else labels[:, None] == np.arange(train.n_outputs)
    return float(ridge_risks(design, one_hot.astype(np.float64)).min())


def scale_of(network: Network, train: LabelledSet) -> PixelScale:
    """Return the scaling of inputs for a network: that of the network, or that of the training examples.

    Args:
        train: Training examples of the same data; never pass test examples here.

    Raises:
        SettingsError: The network's scaling is for another number of channels.
        DataError: As in `check_kind`; the images do not have the size and channels of the network; or its scaling is
        for bytes, and the data are floating-point numbers outside of 0..1, or vectors.
    """
    known = network.input
    check_kind(train, known)
    if known is not None and train.is_image:
        _check_shape(train, known)
    if known is None or train.is_tokens or not known.is_scaled:
        return pixel_scale(train) if network.scaled is None else pixel_scale(train, (network.scaled,))
    if known.scale is not None and not train.is_image:
        raise DataError(
            f"scale = {known.scale:g} is for images of bytes, but the inputs are vectors; leave it out, and give mean "
            "and std per feature"
        )
    if train.is_image and train.inputs.dtype != np.uint8 and len(train):
        low, high = float(train.inputs.min()), float(train.inputs.max())
        if low < -_ROUNDING or high > 1 + _ROUNDING:
            raise DataError(
                f"the images have values from {low:.4g} to {high:.4g}; expected bytes, or numbers from 0 to 1, as "
                f"{known}"
            )
    return PixelScale(*known.per_unit).fitted_to(train)


def _check_shape(images: LabelledSet, known: NetworkInput) -> None:
    n_channels, *sides = images.input_shape
    if known.channels in (None, n_channels) and known.reads(*sides):
        return
    raise DataError(
        f"the images have {counted(n_channels, 'channel')} and {' x '.join(map(str, sides))} pixels, but the network "
        f"expects {known}; {transforms_to_add(*known.transforms)}"
    )


def check_kind(data: LabelledSet, known: NetworkInput | None) -> None:
    """Refuse texts for a network that reads numbers, numbers for one that reads texts, and unknown tokens."""
    vocabulary = None if known is None else known.vocabulary
    if data.is_tokens != (vocabulary is not None):
        seen, read = ("texts", "numbers") if data.is_tokens else (f"inputs of shape {data.input_shape}", "texts")
        remedy = 'name a text encoder, as in "hf:FOLDER"' if data.is_tokens else "name them as in text:PATH?text=COLUMN"
        raise DataError(f"the data are {seen}, but the network expects {read}; {remedy}")
    if vocabulary is not None and (largest := data.inputs[:, ::2].max()) >= vocabulary:
        raise DataError(
            f"the texts contain the token {largest}, but the network knows {vocabulary} tokens; use its own tokenizer"
        )


@dataclass(frozen=True)
class Batch:
    """Inputs ready for a network, with their labels.

    Attributes:
        inputs: float32, (n, *input_shape), standardised; images in channels-last memory order. Tokens are int32, cut
            to the longest text of the batch.
        drawn: Labels of the examples that were drawn: int64 classes (n,), float32 regression targets (n, n_outputs), or
            booleans (n, n_outputs) of several labels for each input; on a grid, int64 (n, h, w) or float32
            (n, n_outputs, h, w).
        weights: Class weights from `class_weights`; None for equal weights.
    """

    inputs: Num[Tensor, "n ..."]
    drawn: Tensor
    weights: Tensor | None = None

    @property
    def labels(self) -> Tensor:
        """The labels of a batch without weights of classes.

        Raises:
            SettingsError: The batch has class weights: use `batch_loss`.
        """
        if self.weights is not None:
            raise SettingsError(
                "this method's loss does not support class_weights; leave them out (or compute the loss with "
                "transferscope.training.batch_loss)"
            )
        return self.drawn


@dataclass(frozen=True)
class TensorSet:
    """A labelled set on a device; bytes stay bytes until a batch is drawn.

    Attributes:
        inputs: As in the labelled set, (N, *input_shape), uint8, float32 or int32 tokens.
        labels: int64 (N,), float32 (N, n_outputs) or booleans (N, n_outputs); on a grid, int64 (N, h, w) or
            float32 (N, n_outputs, h, w).
        shift: Subtracted from the raw inputs, shaped to broadcast over one input.
        factor: Multiplied afterwards.
        n_outputs: Number of classes, labels or regression targets.
        mapped: The memory-mapped array that the inputs share their memory with; None for none.
    """

    inputs: Tensor
    labels: Tensor
    shift: Tensor
    factor: Tensor
    n_outputs: int
    mapped: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.inputs.device

    def batch(self, index: Int[Tensor, " n"]) -> Batch:
        """Return the standardised examples at `index` (n,)."""
        return self._ready(self.inputs[index], self.labels[index])

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield all examples in order, at most `size` at a time, and release mapped pages on the way."""
        read = 0
        for start in range(0, len(self), size):
            raw = self.inputs[start : start + size]
            yield self._ready(raw, self.labels[start : start + size])
            read += raw.nbytes
            if read > _MAPPED:
                give_back(self.mapped)
                read = 0
        give_back(self.mapped)

    def spread(self, n: int) -> "TensorSet":
        """Return `n` evenly spaced examples (all of them if there are fewer)."""
        if n >= len(self):
            return self
        index = torch.linspace(0, len(self) - 1, n, dtype=torch.float64).round().long().to(self.device)
        return replace(self, inputs=self.inputs[index], labels=self.labels[index])

    def _ready(self, raw: Tensor, labels: Tensor) -> Batch:
        if raw.dtype == torch.int32:
            return Batch(raw[..., : int((raw >= 0).any(dim=1).any(dim=0).sum())], labels)
        inputs = (raw.to(torch.float32) - self.shift) * self.factor
        if inputs.ndim == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return Batch(inputs, labels)


def to_tensors(data: LabelledSet, scale: PixelScale, device: str | torch.device = "cpu") -> TensorSet:
    """Move a labelled set to a device.

    Args:
        scale: From `pixel_scale` of the training examples of the same domain.
    """
    raw = data.inputs if data.inputs.dtype == np.uint8 or data.is_tokens else data.inputs.astype(np.float32)
    mapped = raw if isinstance(raw, np.memmap) else None
    unit = 255.0 if data.inputs.dtype == np.uint8 else 1.0
    shape = (-1, *[1] * (data.inputs.ndim - 2))
    factor = np.divide(np.float32(1.0), scale.std * unit, out=np.zeros_like(scale.std), where=scale.std > 0)
    type_of_labels = np.float32 if data.classes is None else np.bool_ if data.kind == "multi-label" else np.int64
    labels: np.ndarray = np.ascontiguousarray(data.labels.astype(type_of_labels))
    return TensorSet(
        inputs=torch.from_numpy(np.ascontiguousarray(raw)).to(device),
        labels=torch.from_numpy(labels).to(device),
        shift=torch.from_numpy(scale.mean * unit).reshape(shape).to(device),
        factor=torch.from_numpy(factor).reshape(shape).to(device),
        n_outputs=data.n_outputs,
        mapped=mapped,
    )


def joined(parts: Iterable[Tensor], n: int) -> Tensor:
    """Concatenate parts with `n` rows in total into one tensor, without a copy of all parts.

    A list of parts would fragment memory, by gigabytes for images.
    """
    whole, start = torch.empty(0), 0
    for part in parts:
        if start == 0:
            whole = part.new_empty((n, *part.shape[1:]))
        whole[start : start + len(part)] = part
        start += len(part)
    return whole


def choose_device(name: str) -> torch.device:
    """Return the device of a setting.

    Args:
        name: "cpu", "cuda", "cuda:1", "mps", or "auto": the CPU, whose cores train small networks in parallel.

    Raises:
        SettingsError: The name is unknown, or the machine has no such device.
    """
    if name == "auto":
        name = "cpu"
    kind = name.split(":")[0]
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if kind not in present:
        raise unknown_name("device", name, ("auto", *present))
    if not present[kind]:
        raise SettingsError(f"device = {name!r}, but this machine has none; use 'auto' or 'cpu'")
    if name.startswith("cuda:") and (torch.device(name).index or 0) >= torch.cuda.device_count():
        raise SettingsError(
            f"device = {name!r}, but this machine has {counted(torch.cuda.device_count(), 'GPU')}, counted from cuda:0"
        )
    if kind == "cuda":  # in this process it rounds as float32 says, and chooses the same algorithms every time
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the first matrix is multiplied
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
    return torch.device(name)


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor to a device, asynchronously on CUDA only, since on MPS the memory could be freed first."""
    return tensor.to(device, non_blocking=device.type == "cuda")


def exact_device(name: str) -> torch.device:
    """Return the device of diagnostics, which need float64: the CPU instead of MPS.

    Raises:
        SettingsError: As in `choose_device`.
    """
    device = choose_device(name)
    return torch.device("cpu") if device.type == "mps" else device


def random_states(device: torch.device) -> dict[str, Tensor]:
    """Return the state of the global generator of the CPU, and of the device if it is another."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_random_states(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Restore global generators; see `random_states`."""
    torch.set_rng_state(states["cpu"].cpu())
    if "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].cpu(), device)
    if "mps" in states:
        torch.mps.set_rng_state(states["mps"].cpu())


@contextmanager
def forked_random_states(device: torch.device) -> Iterator[None]:
    """Restore global generators on exit."""
    states = random_states(device)
    try:
        yield
    finally:
        set_random_states(states, device)


def choose_precision(
    asked: Literal["float32", "bfloat16", "auto"], device: torch.device
) -> Literal["float32", "bfloat16"]:
    """Return the precision of a setting.

    Args:
        asked: The setting; "auto" is "bfloat16" if the device is faster with it, otherwise "float32": NVIDIA GPUs since
            Ampere; for a CPU, a matrix product is timed once (without bfloat16 instructions it is several times
            slower).
    """
    if asked != "auto":
        return asked
    if device.type == "cuda":
        native = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = device.type == "cpu" and _halves_are_faster()
    return "bfloat16" if native else "float32"


@lru_cache(maxsize=1)
def _halves_are_faster() -> bool:
    """Return whether a product of matrices takes at most four fifths of the processor time in bfloat16."""
    least = []
    for dtype in (torch.bfloat16, torch.float32):
        matrix, seconds = torch.ones(512, 512, dtype=dtype), []
        for _ in range(5):
            began = process_time()
            matrix @ matrix
            seconds.append(process_time() - began)
        least.append(min(seconds))
    return least[0] <= 0.8 * least[1]
