"""Arrays as people keep them, brought into the shapes and types of a LabelledSet."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Num, Shaped

from transferscope.data.task import Kind, LabelledSet
from transferscope.errors import DataError

_MOST_CHANNELS = 4


@dataclass(frozen=True)
class Parts:
    """A training and a test set that share their label space.

    Attributes:
        train: Examples to learn from.
        test: Examples to measure on.
    """

    train: LabelledSet
    test: LabelledSet


@dataclass(frozen=True)
class RawPart:
    """Inputs and labels as they were read.

    Attributes:
        inputs: Shape (N, D), (N, H, W), (N, H, W, C) or (N, C, H, W); numbers of any type.
        labels: Shape (N,) or (N, n_outputs); numbers of any type, or text.
    """

    inputs: Shaped[np.ndarray, "N ..."]
    labels: Shaped[np.ndarray, "N ..."]


def to_parts(train: RawPart, test: RawPart, *, name: str, kind: Kind | None = None) -> Parts:
    """Bring a training and a test part into the form that every later step reads.

    Args:
        train: The training part.
        test: The test part.
        name: What to call the data in messages.
        kind: What the labels are; None to take floating-point labels as regression and all others as classes.

    Returns:
        Both parts. Classes are the distinct training labels, sorted, and named by their text.

    Raises:
        DataError: Inputs or labels are of a shape, type or range that fits nothing; a test label is never trained on.
    """
    if kind is None:
        kind = "regression" if np.issubdtype(train.labels.dtype, np.floating) else "classification"
    inputs = [to_inputs(part.inputs, name=name) for part in (train, test)]
    if kind == "regression":
        targets = [to_targets(part.labels, name=name) for part in (train, test)]
        return Parts(LabelledSet(inputs[0], targets[0]), LabelledSet(inputs[1], targets[1]))
    values = np.unique(_one_column(train.labels, name=name))
    classes = tuple(str(value) for value in values)
    labels = [to_class_labels(part.labels, values, name=name) for part in (train, test)]
    return Parts(LabelledSet(inputs[0], labels[0], classes), LabelledSet(inputs[1], labels[1], classes))


def to_inputs(array: Shaped[np.ndarray, "N ..."], *, name: str) -> Num[np.ndarray, "N ..."]:
    """Images as (N, C, H, W), uint8 or float32 in [0, 1]; vectors as float32 (N, D).

    Args:
        array: Shape (N, D), (N, H, W), (N, H, W, C) or (N, C, H, W) with at most 4 channels.
        name: What to call the data in messages.

    Returns:
        The inputs; the same memory where nothing had to change.

    Raises:
        DataError: The shape or the range of values fits neither images nor vectors.
    """
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise DataError(f"{name}: inputs have type {array.dtype}; expected numbers")
    if array.ndim == 2:
        return array.astype(np.float32)
    if array.ndim == 3:
        return _to_pixels(array[:, None], name=name)
    if array.ndim != 4:
        raise DataError(
            f"{name}: inputs have shape {array.shape}; expected vectors (N, D), grey images (N, H, W), "
            "or colour images (N, H, W, C) or (N, C, H, W)"
        )
    first, last = array.shape[1] <= _MOST_CHANNELS, array.shape[3] <= _MOST_CHANNELS
    if first == last:
        raise DataError(
            f"{name}: inputs have shape {array.shape}; expected images with {_MOST_CHANNELS} channels at most, "
            "either second (N, C, H, W) or last (N, H, W, C)"
        )
    return _to_pixels(array if first else array.transpose(0, 3, 1, 2), name=name)


def to_targets(labels: Shaped[np.ndarray, "N ..."], *, name: str) -> Num[np.ndarray, "N K"]:
    """Regression targets as float32 (N, n_outputs), from numbers (N,) or (N, n_outputs).

    Raises:
        DataError: The labels are not numbers, or have more than two axes.
    """
    if labels.ndim not in (1, 2) or not np.issubdtype(labels.dtype, np.number):
        raise DataError(
            f"{name}: regression labels have shape {labels.shape} and type {labels.dtype}; "
            "expected numbers (N,) or (N, n_outputs)"
        )
    return labels.reshape(len(labels), -1).astype(np.float32)


def to_class_labels(
    labels: Shaped[np.ndarray, "N ..."], values: Shaped[np.ndarray, "K"], *, name: str
) -> Num[np.ndarray, "N"]:
    """Labels as int64 positions (N,) in the sorted list of class values (n_classes,).

    Raises:
        DataError: A label is not among the values.
    """
    column = _one_column(labels, name=name)
    strange = np.setdiff1d(column, values)
    if len(strange):
        raise DataError(
            f"{name}: the test labels hold {str(strange[0])!r}, which no training example has; "
            f"the training labels are {', '.join(str(value) for value in values[:10])}"
            f"{', ...' if len(values) > 10 else ''}"
        )
    return np.searchsorted(values, column).astype(np.int64)


def _one_column(labels: np.ndarray, *, name: str) -> np.ndarray:
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(
            f"{name}: class labels have shape {labels.shape}; expected one label for each input (N,), or "
            "floating-point numbers (N, n_outputs) for regression"
        )
    return labels


def _to_pixels(images: np.ndarray, *, name: str) -> np.ndarray:
    """uint8 stays; whole numbers in 0..255 become uint8; floating point in [0, 1] becomes float32."""
    if images.dtype == np.uint8 or images.size == 0:
        return np.ascontiguousarray(images)
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    low, high = images.min(), images.max()
    floating = np.issubdtype(images.dtype, np.floating)
    if floating and not np.isfinite([low, high]).all():
        return np.ascontiguousarray(images, dtype=np.float32)  # LabelledSet says which examples are not finite
    if low < 0 or high > (1 if floating else 255):
        expected = "floating-point pixels in [0, 1]" if floating else "whole pixels in 0..255"
        raise DataError(f"{name}: pixels have type {images.dtype} and run from {low} to {high}; expected {expected}")
    return np.ascontiguousarray(images, dtype=np.float32 if floating else np.uint8)
