"""Changes of pixels that keep the labels."""

import numpy as np

from transferscope.data.task import Dataset
from transferscope.data.transforms.images import (
    Images,
    Reshaped,
    as_type_of,
    check_images,
    full_scale,
    map_images,
    side_of_images,
)
from transferscope.errors import DataError

LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as in Pillow's conversion to "L"
_CHUNK = 1024


def grey(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """One channel: the luma 0.299 R + 0.587 G + 0.114 B; grey images stay as they are."""
    return map_images(dataset, _luma)


def colour(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Three channels: grey is repeated; images with three channels stay as they are."""
    return map_images(dataset, _three_channels)


def upside_down(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Rows in reverse order (Liu et al. 2019, section 5.1)."""
    return map_images(dataset, lambda images: images[:, :, ::-1])


def mirror(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Columns in reverse order."""
    return map_images(dataset, lambda images: images[:, :, :, ::-1])


def invert(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """White becomes black: 255 - x in bytes, 1 - x in floating point."""
    return map_images(dataset, lambda images: full_scale(images) - images)


def permuted(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Pixels moved to other places, by one random permutation for all images and channels, drawn from `seed`.

    Every label can still be told from the pixels, and nothing is near what it was near before: what convolutions and
    pooling assume about images is gone.
    """
    check_images(dataset)
    height, width = dataset.train.input_shape[-2:]
    order = np.random.default_rng(seed).permutation(height * width)

    def move(images: Images) -> Images:
        flat = images.reshape(*images.shape[:2], -1)
        return flat[:, :, order].reshape(images.shape)

    return map_images(dataset, move)


def pad(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Black borders up to a square of the given side, the image in the middle ("pad:32").

    Raises:
        DataError: The inputs are no images, or larger than that.
        SettingsError: The argument is no whole number.
    """
    side = side_of_images(argument, "pad:32")
    return map_images(dataset, lambda images: _padded(images, side))


def _luma(images: Images) -> Reshaped:
    if images.shape[1] == 1:
        return images
    _check_three(images)
    result = np.empty((len(images), 1, *images.shape[2:]), images.dtype)
    for start in range(0, len(images), _CHUNK):
        chunk = images[start : start + _CHUNK].astype(np.float32)
        result[start : start + _CHUNK, 0] = as_type_of(np.tensordot(chunk, LUMA, axes=(1, 0)), images)
    return result


def _three_channels(images: Images) -> Reshaped:
    if images.shape[1] == 1:
        return np.repeat(images, 3, axis=1)
    _check_three(images)
    return images


def _padded(images: Images, side: int) -> Reshaped:
    height, width = images.shape[2:]
    if max(height, width) > side:
        raise DataError(f"images of {height} x {width} pixels cannot be padded to {side}; use resize:{side}")
    top, left = (side - height) // 2, (side - width) // 2
    return np.pad(images, ((0, 0), (0, 0), (top, side - height - top), (left, side - width - left)))


def _check_three(images: Images) -> None:
    if images.shape[1] != 3:
        raise DataError(f"images have {images.shape[1]} channels; grey and colour need 1 or 3")
