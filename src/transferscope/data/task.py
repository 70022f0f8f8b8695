"""Labelled sets, data sets (training and test part), and the transfer task made of a source and a target."""

import hashlib
import math
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
from jaxtyping import Int64, Num, Shaped

from transferscope.data.places import cache_folder
from transferscope.errors import DataError, wrong_shape

Kind = Literal["classification", "regression", "multi-label", "segmentation", "dense regression"]
"""Kind of labels: one class per input, numbers, or any number of labels per input (multi-label classification:
Tsoumakas and Katakis, "Multi-label classification: an overview", 2007); or, on a grid over each image, one class
(semantic segmentation) or numbers (as surface normals or depths) per cell."""

KINDS: tuple[Kind, ...] = ("classification", "regression", "multi-label")
"""Kinds that options accept; labels on a grid are recognised by their shape."""

UNLABELLED = -1
"""Label of cells of a segmentation that are excluded from training and test."""


@dataclass(frozen=True)
class LabelledSet:
    """Inputs with their labels.

    Attributes:
        inputs: Shape (N, *input_shape). Images are (N, C, H, W): uint8 in 0..255, or floating point in [0, 1]. Texts
            are tokens, int32 (N, 2, L): [:, 0] ids, [:, 1] the text that each belongs to (0, or 1 for the second of a
            pair), both -1 beyond the end; or (N, 4, L) for pairs of separate texts, two rows for each.
            Other inputs are floating-point vectors (N, D).
        labels: Classification: integers in 0..n_classes-1, shape (N,). Regression: float32, shape (N, n_outputs).
            Multi-label: booleans, shape (N, n_labels), whether an input has each label. Segmentation: integers in
            0..n_classes-1, or `UNLABELLED`, shape (N, h, w), on a grid over each image that may be coarser than its
            pixels. Dense regression: float32, shape (N, n_outputs, h, w).
        classes: The name of each class in label order, or of each label; None for numbers.
        indicators: For tables, whether each feature (D,) is an indicator (a category value, a boolean or a missing
            value), also if it is constant in this set; None if unknown.
        vocabulary: For texts, the text of each token in id order; None if unknown.
        groups: Group of each example, such as a patient, int64 (N,); no group is in two parts of a split. None without
            groups.

    Raises:
        DataError: The arrays are empty, of unequal length, not finite, or labels outside the classes.
    """

    inputs: Num[np.ndarray, "N ..."]
    labels: Shaped[np.ndarray, "N ..."]
    classes: tuple[str, ...] | None = None
    indicators: tuple[bool, ...] | None = None
    vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    groups: Int64[np.ndarray, " N"] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_arrays(self.inputs, self.labels)
        if self.groups is not None and (self.groups.shape != self.labels.shape[:1] or self.groups.dtype != np.int64):
            raise wrong_shape("groups", self.groups, f"one int64 for each of {len(self.labels)} examples")
        if self.indicators is not None and self.input_shape != (len(self.indicators),):
            raise wrong_shape("inputs", self.inputs, f"{len(self.indicators)} features, as in indicators")
        if self.vocabulary is not None and self.is_tokens and self.inputs[:, ::2].max() >= len(self.vocabulary):
            raise DataError(
                f"the texts contain the token {self.inputs[:, ::2].max()}, but the vocabulary has "
                f"{len(self.vocabulary)}; give that of their tokenizer"
            )
        if self.classes is None:
            if self.labels.ndim not in (2, 4) or not np.issubdtype(self.labels.dtype, np.floating):
                expected = "floats (N, n_outputs), or (N, n_outputs, h, w) on a grid over each image"
                raise wrong_shape("regression labels", self.labels, expected)
            if not np.isfinite(self.labels).all():
                raise DataError("regression labels contain NaN or infinity; drop those examples")
        elif self.kind == "multi-label":
            _check_label_columns(self.labels, self.classes)
        else:
            _check_classes(self.labels, self.classes)
        if self.grid is not None and (not self.is_image or min(self.grid) < 1):
            raise wrong_shape("inputs with a grid of labels", self.inputs, "images (N, C, H, W)")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def kind(self) -> Kind:
        """Kind of the labels."""
        if self.classes is None:
            return "regression" if self.grid is None else "dense regression"
        if self.labels.dtype == np.bool_:
            return "multi-label"
        return "classification" if self.grid is None else "segmentation"

    @property
    def grid(self) -> tuple[int, int] | None:
        """Rows and columns of the grid of labels over each image; None for labels of whole inputs."""
        return (int(self.labels.shape[-2]), int(self.labels.shape[-1])) if self.labels.ndim > 2 else None

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.inputs.shape[1:])

    @property
    def is_image(self) -> bool:
        """Whether inputs are images (C, H, W)."""
        return len(self.input_shape) == 3

    @property
    def is_tokens(self) -> bool:
        """Whether inputs are texts, as ids of tokens."""
        return self.inputs.dtype == np.int32

    @property
    def n_outputs(self) -> int:
        """Width of a head for these labels: the number of classes, of labels, or of regression targets."""
        return int(self.labels.shape[1]) if self.classes is None else len(self.classes)

    @cached_property
    def fingerprint(self) -> str:
        """Checksum of the content (inputs, labels and class names), 16 hexadecimal digits."""
        digest = hashlib.sha256()
        for array in (self.inputs, self.labels):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            for rows in pieces(array):
                digest.update(np.ascontiguousarray(rows).data)
        digest.update(repr(self.classes).encode())
        if self.groups is not None:  # which decide what is drawn
            digest.update(b"groups" + np.unique(self.groups, return_inverse=True)[1].astype(np.int64).tobytes())
        return digest.hexdigest()[:16]

    def take(self, index: Num[np.ndarray, " n"]) -> "LabelledSet":
        """Return the examples at `index` (integers, shape (n,)), in that order, as a new set.

        A large part of a memory-mapped array is memory-mapped, too, in a temporary file.
        """
        groups = None if self.groups is None else self.groups[index]
        return replace(self, inputs=take_rows(self.inputs, index), labels=self.labels[index], groups=groups)

    def class_counts(self) -> Num[np.ndarray, " C"]:
        """Count the examples of each class or label, or with cells of that class; raises DataError for regression."""
        if self.classes is None:
            raise DataError("the labels are numbers; expected classes to count")
        if self.kind == "multi-label":
            return np.asarray(self.labels.sum(axis=0), dtype=np.int64)
        if self.kind == "segmentation":
            has = [(self.labels == label).any(axis=(1, 2)).sum() for label in range(len(self.classes))]
            return np.asarray(has, dtype=np.int64)
        return np.bincount(self.labels, minlength=len(self.classes))


@dataclass(frozen=True)
class Dataset:
    """A training set and a test set of one problem, and their provenance.

    Attributes:
        name: A short name for tables and figures.
        test: Examples for evaluation only, never for training or for any choice.
        provenance: Where the data came from: keys such as "spec", "address", "licence", "checksum",
            "transforms"; all values are text.

    Raises:
        DataError: Training and test examples differ in shape or label space.
    """

    name: str
    train: LabelledSet
    test: LabelledSet
    provenance: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))
        if self.train.input_shape != self.test.input_shape:
            raise DataError(
                f"{self.name}: training inputs have shape {self.train.input_shape} but test inputs "
                f"{self.test.input_shape}; give both the same shape"
            )
        own, other = ((part.kind, part.classes, part.n_outputs, part.grid) for part in (self.train, self.test))
        if own != other:
            raise DataError(
                f"{self.name}: training and test labels have different classes or outputs; give both the same"
            )

    @property
    def fingerprint(self) -> str:
        """Checksum of the content of both parts."""
        return hashlib.sha256(f"{self.train.fingerprint}{self.test.fingerprint}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class TransferTask:
    """A target problem, and the source to transfer from.

    Attributes:
        target: The problem of interest; `target.train` holds the few labels a method may use.
        source: Labelled data to transfer from; None when there is only a network, or nothing.

    Raises:
        DataError: Source and target inputs differ in shape.
    """

    target: Dataset
    source: Dataset | None = None

    def __post_init__(self) -> None:
        if self.source is None:
            return
        if self.source.train.is_tokens != self.target.train.is_tokens:
            raise DataError(
                f"only one of source {self.source.name} and target {self.target.name} is texts; give data of one kind"
            )
        if self.source.train.input_shape != self.target.train.input_shape:
            if self.source.train.is_tokens:
                raise DataError(
                    f"source {self.source.name} has texts of shape {self.source.train.input_shape} but target "
                    f"{self.target.name} {self.target.train.input_shape}; give both the same max_length and pairs"
                )
            raise DataError(
                f"source {self.source.name} has inputs of shape {self.source.train.input_shape} but target "
                f'{self.target.name} {self.target.train.input_shape}; add transforms ("resize:28", "grey", '
                '"colour") to one'
            )

    def with_target_train(self, train: LabelledSet) -> "TransferTask":
        """Return the same task with other target training examples (a few-shot subset)."""
        return replace(self, target=replace(self.target, train=train))


def check_label_units(one: Dataset, other: Dataset) -> None:
    """Refuse, with a DataError, to compare regression targets in different units."""
    if one.provenance.get("label_units") != other.provenance.get("label_units"):
        raise DataError(
            f"the labels of {one.name} and {other.name} have different units (see `transferscope show`); give both in "
            "one unit, near 1"
        )


_LARGE = 2**28
"""Bytes from which arrays derived from a memory-mapped one are memory-mapped, too."""


def pieces(array: np.ndarray, n_bytes: int = _LARGE) -> Iterator[np.ndarray]:
    """Yield an array in consecutive parts of at most `n_bytes`, or of one row.

    Pages of a memory-mapped array are released after each part, so that reading all of it needs little memory.
    """
    size = max(1, n_bytes // max(array[:1].nbytes, 1))
    for start in range(0, len(array), size):
        yield array[start : start + size]
        give_back(array)


def give_back(array: np.ndarray | None) -> None:
    """Release the pages of a memory-mapped array, or of a part of one; they are read again if needed.

    Nothing may have been written to the array.
    """
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


def made_of(array: np.ndarray, n: int, shape: tuple[int, ...], parts: Callable[[], Iterable[np.ndarray]]) -> np.ndarray:
    """Write an array part by part, memory-mapped if it is large and derived from a memory-mapped one.

    Args:
        array: The array it is derived from, with the same type.
        parts: Returns consecutive rows, starting again with each call.
    """
    n_bytes = n * array.dtype.itemsize * math.prod(shape)
    if isinstance(array, np.memmap) and n_bytes >= _LARGE:
        with suppress(OSError), tempfile.TemporaryFile(dir=cache_folder()) as file:  # unnamed, so deleted when unmapped
            for part in parts():
                file.write(np.ascontiguousarray(part).data)
                give_back(array)
            file.flush()
            return np.memmap(file, dtype=array.dtype, mode="c", shape=(n, *shape))
    made, start = np.empty((n, *shape), array.dtype), 0  # also if the disk is full or not writable
    for part in parts():
        made[start : start + len(part)] = part
        start += len(part)
    return made


def take_rows(inputs: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the rows at `index`, memory-mapped if they are large and from a memory-mapped array."""
    if not isinstance(inputs, np.memmap) or len(index) * inputs[0].nbytes < _LARGE:
        return np.asarray(inputs[index])
    size = max(1, _LARGE // 16 // inputs[0].nbytes)

    def parts() -> Iterator[np.ndarray]:
        return (np.asarray(inputs[index[start : start + size]]) for start in range(0, len(index), size))

    return made_of(inputs, len(index), inputs.shape[1:], parts)


def _check_arrays(inputs: np.ndarray, labels: np.ndarray) -> None:
    for name, given in (("inputs", inputs), ("labels", labels)):
        if not isinstance(given, np.ndarray):  # a pandas.Series is indexed by label, not position
            raise DataError(f"{name} are a {type(given).__name__}; expected a NumPy array, as from np.asarray({name})")
    if inputs.ndim < 2 or inputs.size == 0:
        raise wrong_shape("inputs", inputs, "an array (N, ...) with at least one example and no empty side")
    rows, columns, last = inputs.shape[1:] if inputs.ndim == 4 else (0, 0, 0)
    if min(rows, columns) > 4 and (last in (3, 4) or (last == 1 and rows == columns)):  # (N, 8, 100, 1) are signals
        raise wrong_shape("inputs", inputs, "channels second, (N, C, H, W), as from inputs.transpose(0, 3, 1, 2)")
    if len(inputs) != len(labels):
        raise DataError(f"there are {len(inputs)} inputs and {len(labels)} labels; expected one label per input")
    if inputs.dtype == np.int32:
        _check_tokens(inputs)
    elif inputs.dtype != np.uint8 and not np.issubdtype(inputs.dtype, np.floating):
        raise wrong_shape("inputs", inputs, "uint8 images, floating-point numbers or int32 tokens")
    if np.issubdtype(inputs.dtype, np.floating) and not all(np.isfinite(part).all() for part in pieces(inputs, 2**20)):
        rows = np.flatnonzero(~np.isfinite(inputs.reshape(len(inputs), -1)).all(axis=1))
        raise DataError(
            f"inputs contain NaN or infinity in {len(rows)} of {len(inputs)} examples (first: {rows[0]}); drop or "
            "fill them"
        )


def _check_tokens(inputs: np.ndarray) -> None:
    if inputs.ndim != 3 or inputs.shape[1] not in (2, 4):
        raise wrong_shape("tokens", inputs, "ids and texts, (N, 2, L), or (N, 4, L) for pairs")
    ids, texts = inputs[:, ::2], inputs[:, 1::2]
    if ids.min() < -1 or texts.min() < -1 or texts.max() > 1 or not np.array_equal(ids < 0, texts < 0):
        raise DataError(
            "tokens have ids below 0, or segments other than 0 and 1; expected -1 in both as padding at the end"
        )


def _check_label_columns(labels: np.ndarray, names: tuple[str, ...]) -> None:
    if labels.ndim != 2 or labels.shape[1] != len(names) or not names:
        raise wrong_shape("labels of several classes", labels, f"booleans (N, {len(names)}), one column per name")
    if len(set(names)) < len(names):
        raise DataError(f"label names repeat: {', '.join(names)[:200]}; give each its own")
    _check_names(names)


def _check_classes(labels: np.ndarray, classes: tuple[str, ...]) -> None:
    if labels.ndim not in (1, 3) or not np.issubdtype(labels.dtype, np.integer):
        raise wrong_shape("class labels", labels, "integers (N,), or (N, h, w) on a grid over each image")
    _check_names(classes)
    if labels.ndim == 3 and labels.size and labels.min() == UNLABELLED:
        without = np.flatnonzero((labels == UNLABELLED).all(axis=(1, 2)))
        if len(without):
            raise DataError(
                f"{len(without)} of {len(labels)} masks have no label at all (first: {without[0]}); drop those"
            )
        labels = labels[labels != UNLABELLED]
    if labels.min() < 0 or labels.max() >= len(classes):
        raise DataError(f"class labels run from {labels.min()} to {labels.max()}; expected 0 to {len(classes) - 1}")


def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"the class name {name!a} is not UTF-8 text; give it another") from error
