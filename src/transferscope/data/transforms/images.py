"""What every transformation of images shares."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Num

from transferscope.data.arrays import check_side
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import DataError, SettingsError

Images = Num[np.ndarray, "N C H W"]
Reshaped = Num[np.ndarray, "N K h w"]  # as many images, with other channels or sides


def map_images(dataset: Dataset, change: Callable[[np.ndarray], np.ndarray]) -> Dataset:
    """The data set with the same change made to training and test images.

    Args:
        dataset: Images with their labels.
        change: Takes images (N, C, H, W) and returns images; it must not look at one image to change another.

    Returns:
        A new data set; labels, name and provenance stay.

    Raises:
        DataError: The inputs are no images.
    """
    check_images(dataset)
    return replace(dataset, train=_changed(dataset.train, change), test=_changed(dataset.test, change))


def check_images(dataset: Dataset) -> None:
    """Refuse a data set whose inputs are not images.

    Raises:
        DataError: The inputs are no images.
    """
    if not dataset.train.is_image:
        raise DataError(
            f"{dataset.name} has inputs of shape {dataset.train.input_shape}; this transform needs images (channels, "
            "height, width)"
        )


def side_of_images(text: str, what: str) -> int:
    """The argument of a transform read as the height and width of images in pixels.

    Args:
        text: The argument as written after the colon.
        what: The transform with a good argument, for the message.

    Raises:
        SettingsError: It is no whole number, or too large or small for a side.
    """
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(
            f"a transform was given the argument {text!r}; expected a whole number >= 1, as in {what!r}"
        )
    check_side(int(text), f"{what.partition(':')[0]}:{text}")
    return int(text)


def full_scale(images: Images) -> int:
    """The value of white: 255 in bytes, 1 in floating point."""
    return 255 if images.dtype == np.uint8 else 1


def as_type_of(values: Float[np.ndarray, "*shape"], images: Images) -> Num[np.ndarray, "*shape"]:
    """Floating-point pixel values in the type of `images`, rounded and clamped when that is bytes."""
    if images.dtype == np.uint8:
        values = np.clip(np.rint(values), 0, 255)
    return values.astype(images.dtype)


def _changed(data: LabelledSet, change: Callable[[np.ndarray], np.ndarray]) -> LabelledSet:
    return replace(data, inputs=np.ascontiguousarray(change(data.inputs)))
