"""Changes of images that keep the labels: pixel values, channels and sizes."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Num

from transferscope.data.arrays import check_side
from transferscope.data.task import Dataset, made_of
from transferscope.errors import DataError, SettingsError, unknown_name, unsupported

Images = Num[np.ndarray, "N C H W"]
Reshaped = Num[np.ndarray, "N K h w"]  # equally many images, with other channels or sizes


def map_images(dataset: Dataset, change: Callable[[np.ndarray], np.ndarray]) -> Dataset:
    """Return the data set with one change applied to training and test images.

    Args:
        change: Takes images (N, C, H, W) and returns images; each image must be changed independently.

    Raises:
        DataError: The inputs are not images.
    """
    check_images(dataset)
    train, test = (
        replace(part, inputs=np.ascontiguousarray(change(part.inputs))) for part in (dataset.train, dataset.test)
    )
    return replace(dataset, train=train, test=test)


def check_images(dataset: Dataset) -> None:
    """Refuse, with a DataError, a data set whose inputs are not images."""
    if not dataset.train.is_image:
        raise DataError(
            f"the transform needs images (channels, height, width), but inputs of {dataset.name} have shape "
            f"{dataset.train.input_shape}; leave it out"
        )


def side_of_images(text: str, what: str) -> int:
    """Parse the argument of a transform as height and width in pixels; raises SettingsError if it is invalid."""
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(f"the argument of a transform is {text!r}; expected a whole number >= 1, as in {what!r}")
    check_side(int(text), f"{what.partition(':')[0]}:{text}")
    return int(text)


def full_scale(inputs: np.ndarray) -> int:
    """Return the value of white: 255 in bytes, 1 in floating point."""
    return 255 if inputs.dtype == np.uint8 else 1


def as_type_of(values: Float[np.ndarray, "*shape"], images: Images) -> Num[np.ndarray, "*shape"]:
    """Return floating-point pixel values in the type of `images`, rounded and clamped when that is bytes."""
    if images.dtype == np.uint8:
        values = np.clip(np.rint(values), 0, 255)
    return values.astype(images.dtype)


LUMA = np.array([19595, 38470, 7471]) / 2**16  # ITU-R BT.601 (.299, .587, .114) as in Pillow's conversion to "L"
_CHUNK = 128


def grey(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Convert images to one channel, the luma 0.299 R + 0.587 G + 0.114 B; grey images are unchanged."""
    return map_images(dataset, _luma)


def colour(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Convert images to three channels, repeating grey; images with three channels are unchanged."""

    def three_channels(images: Images) -> Reshaped:
        if images.shape[1] == 1:
            return np.repeat(images, 3, axis=1)
        _check_three(images)
        return images

    return map_images(dataset, three_channels)


def upside_down(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Reverse the rows of images (Liu et al. 2019, section 5.1)."""
    return map_images(dataset, lambda images: images[:, :, ::-1])


def mirror(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Reverse the columns of images."""
    return map_images(dataset, lambda images: images[:, :, :, ::-1])


def invert(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Invert images: 255 - x in bytes, 1 - x in floating point."""
    return map_images(dataset, lambda images: full_scale(images) - images)


def permuted(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Permute the pixels of all images and channels alike, by a permutation drawn from `seed`.

    No information is lost, but spatial locality is, which convolutions and pooling rely on.
    """
    check_images(dataset)
    height, width = dataset.train.input_shape[-2:]
    order = np.random.default_rng(seed).permutation(height * width)

    def move(images: Images) -> Images:
        flat = images.reshape(*images.shape[:2], -1)
        return flat[:, :, order].reshape(images.shape)

    return map_images(dataset, move)


def pad(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Pad images with black borders to a square of the given side ("pad:32"); raises DataError if they are larger."""
    side = side_of_images(argument, "pad:32")

    def padded(images: Images) -> Reshaped:
        height, width = images.shape[2:]
        if max(height, width) > side:
            raise DataError(f"images of {height} x {width} pixels cannot be padded to {side}; use resize:{side}")
        top, left = (side - height) // 2, (side - width) // 2
        return np.pad(images, ((0, 0), (0, 0), (top, side - height - top), (left, side - width - left)))

    return map_images(dataset, padded)


def _luma(images: Images) -> Reshaped:
    if images.shape[1] == 1:
        return images
    _check_three(images)
    result = np.empty((len(images), 1, *images.shape[2:]), images.dtype)
    for start in range(0, len(images), _CHUNK):
        red, green, blue = images[start : start + _CHUNK].transpose(1, 0, 2, 3)
        result[start : start + _CHUNK, 0] = as_type_of(red * LUMA[0] + green * LUMA[1] + blue * LUMA[2], images)
    return result


def _check_three(images: Images) -> None:
    if images.shape[1] != 3:
        raise unsupported("grey and colour", "1 or 3 channels", f"the images have {images.shape[1]}")


_RESIZED_AT_ONCE = 512  # images at a time, of at most 64 x 64 x 3 numbers each; fewer of larger ones


def resize(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Resize images to squares by antialiased interpolation ("resize:28", bilinear; "resize:28:bicubic").

    Args:
        argument: Height and width in pixels, and optionally one of `KERNELS`, rounded as in Pillow.

    Raises:
        DataError: The inputs are not images.
        SettingsError: The argument is not a whole number, or the interpolation is unknown.
    """
    side, kernel = _side_and_kernel(argument, "resize:28")
    return map_images(dataset, lambda images: resized(images, (side, side), kernel))


def short_side(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Resize the shorter side to the given length, keeping proportions ("short-side:28:bicubic").

    The longer side is rounded down, as in torchvision and transformers. Arguments and errors as in `resize`.
    """
    side, kernel = _side_and_kernel(argument, "short-side:28")

    def scaled(images: Images) -> Reshaped:
        height, width = images.shape[2:]
        longer = int(side * max(height, width) / min(height, width))
        return resized(images, (side, longer) if height <= width else (longer, side), kernel)

    return map_images(dataset, scaled)


def _side_and_kernel(argument: str, example: str) -> tuple[int, str]:
    text, _, kernel = argument.partition(":")
    if kernel and kernel not in KERNELS:
        raise unknown_name("interpolation", kernel, list(KERNELS))
    return side_of_images(text, example), kernel


def crop(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Crop the centred square of the given side ("crop:4"); an odd margin is larger at the bottom and right.

    With "crop:4:even", half of the margin is rounded to an even number, as in `CenterCrop` of torchvision and timm;
    transformers rounds down.

    Raises:
        DataError: The inputs are not images, or smaller than that.
        SettingsError: The argument is not a whole number, or the rounding is unknown.
    """
    text, _, rounding = argument.partition(":")
    if rounding not in ("", "even"):
        raise unknown_name("rounding of half a rest", rounding, ["even"])
    side, half = side_of_images(text, "crop:4"), round if rounding else int

    def cropped(images: Images) -> Reshaped:
        height, width = images.shape[2:]
        if min(height, width) < side:
            raise DataError(
                f"images of {height} x {width} pixels cannot be cropped to {side} x {side}; use resize:{side}"
            )
        top, left = half((height - side) / 2), half((width - side) / 2)
        return images[:, :, top : top + side, left : left + side]

    return map_images(dataset, cropped)


def resized(images: Images, shape: tuple[int, int], kernel: str = "") -> Reshaped:
    """Resize images by antialiased interpolation along one axis and then the other.

    Bytes are the same on every processor: the weights are whole numbers of 2^-22, so that all sums are exact.

    Args:
        shape: Height and width, each at least 1.
        kernel: One of `KERNELS`, with bytes rounded after each axis, halves up, as in Pillow 13; "" for bilinear,
            rounded once.

    Returns:
        Images of the same type.
    """
    n, channels, height, width = images.shape
    if (height, width) == shape:
        return images
    rows, columns = (
        resampling_matrix(before, after, kernel) for before, after in zip((height, width), shape, strict=True)
    )
    size = max(1, min(_RESIZED_AT_ONCE, _RESIZED_AT_ONCE * 3 * 64**2 // (channels * height * width)))

    def rounded(values: Float[np.ndarray, "*shape"]) -> Num[np.ndarray, "*shape"]:
        return as_type_of(np.floor(values + 0.5) if kernel and images.dtype == np.uint8 else values, images)

    lower_first = kernel and height > shape[0] and height - shape[0] > 2 * (width - shape[1])  # the order of Pillow 13

    def parts() -> Iterator[np.ndarray]:
        for start in range(0, n, size):
            part = images[start : start + size].astype(np.float64)
            part = rows @ part if lower_first else part @ columns.T
            part = rounded(part).astype(np.float64) if kernel else part
            yield rounded(part @ columns.T if lower_first else rows @ part)

    return made_of(images, n, (channels, *shape), parts)


def _cubic(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


KERNELS: dict[str, Callable[[Float[np.ndarray, "*shape"]], Float[np.ndarray, "*shape"]]] = {
    "bilinear": lambda x: np.maximum(0.0, 1.0 - x),
    "bicubic": _cubic,
    "lanczos": lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0.0),
}
"""Interpolations of Pillow, as functions of the distance in pixels, at least 0: bicubic has a = -1/2."""

_UNIT = 2.0**22
"""255 times its square is below 2^53: sums of bytes by two such weights are exact in double precision."""


def resampling_matrix(n_in: int, n_out: int, kernel: str = "") -> Float[np.ndarray, "n_out n_in"]:
    """Return weights of resampling along one axis, with a kernel k that is wider by n_in / n_out when shrinking.

        w_ij = k(|j + 1/2 - c_i| / s) / sum_l k(|l + 1/2 - c_i| / s),
        c_i = (i + 1/2) n_in / n_out,   s = max(1, n_in / n_out)

    This is the rule of Pillow's and torchvision's antialiased resize; k(x) = max(0, 1 - x) is bilinear.

    Args:
        n_in: Pixels before.
        n_out: Pixels after.
        kernel: One of `KERNELS`; "" for bilinear, of which every row sums to exactly 1.

    Returns:
        Whole numbers of 2^-22, as in Pillow.
    """
    ratio = n_in / n_out
    centres = (np.arange(n_out) + 0.5) * ratio
    distances = (np.arange(n_in) + 0.5)[None, :] - centres[:, None]
    weights = KERNELS[kernel or "bilinear"](np.abs(distances) / max(1.0, ratio))
    counts = np.rint(weights / weights.sum(axis=1, keepdims=True) * _UNIT)
    if not kernel:
        counts[np.arange(n_out), counts.argmax(axis=1)] += _UNIT - counts.sum(axis=1)
    return np.asarray(counts / _UNIT)
