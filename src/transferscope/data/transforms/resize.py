"""Images at another resolution."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from transferscope.data.task import Dataset, made_of
from transferscope.data.transforms.images import Images, Reshaped, as_type_of, map_images, side_of_images

_CHUNK = 1024  # images at a time, of at most 64 x 64 x 3 numbers each; fewer of larger ones


def resize(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Square images of the given side, by antialiased bilinear interpolation ("resize:28").

    Args:
        dataset: Images of any size.
        argument: Height and width in pixels.
        seed: Unused.

    Returns:
        The data set with images (N, C, side, side) of the same type.

    Raises:
        DataError: The inputs are no images.
        SettingsError: The argument is no whole number.
    """
    side = side_of_images(argument, "resize:28")
    return map_images(dataset, lambda images: resized(images, side))


def resized(images: Images, side: int) -> Reshaped:
    """Images at `side` x `side` pixels, by antialiased bilinear interpolation along one axis and then the other.

    Args:
        images: Shape (N, C, H, W).
        side: New height and width, at least 1.

    Returns:
        Shape (N, C, side, side), in the type of `images`.
    """
    n, channels, height, width = images.shape
    if (height, width) == (side, side):
        return images
    rows = resampling_matrix(height, side)
    columns = resampling_matrix(width, side)
    size = max(1, min(_CHUNK, _CHUNK * 3 * 64**2 // (channels * height * width)))

    def parts() -> Iterator[np.ndarray]:
        for start in range(0, n, size):
            yield as_type_of(rows @ images[start : start + size].astype(np.float32) @ columns.T, images)

    return made_of(images, n, (channels, side, side), parts)


def resampling_matrix(n_in: int, n_out: int) -> Float[np.ndarray, "n_out n_in"]:
    """Weights of linear resampling along one axis, with a triangle as wide as a new pixel when shrinking.

        w_ij = t((j + 1/2 - c_i) / s) / sum_k t((k + 1/2 - c_i) / s),   t(x) = max(0, 1 - |x|),
        c_i = (i + 1/2) n_in / n_out,   s = max(1, n_in / n_out)

    This is the rule of Pillow's and torchvision's antialiased bilinear resize.

    Args:
        n_in: Pixels before, at least 1.
        n_out: Pixels after, at least 1.

    Returns:
        Shape (n_out, n_in), float32; every row sums to 1.
    """
    ratio = n_in / n_out
    centres = (np.arange(n_out) + 0.5) * ratio
    distances = (np.arange(n_in) + 0.5)[None, :] - centres[:, None]
    weights = np.maximum(0.0, 1.0 - np.abs(distances) / max(1.0, ratio))
    normalised: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return normalised.astype(np.float32)
