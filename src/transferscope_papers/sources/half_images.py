"""Images with a transferable half and a half that is useful for the source task only."""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int, Num

from transferscope.data import Dataset, DataSpec, LabelledSet, load, reads_name
from transferscope.data.counter_random import TEST_START, check_seed, uniform_rows
from transferscope.data.transforms.labels import single_classes
from transferscope.data.transforms.pixels import full_scale
from transferscope.errors import out_of_range, unknown_name, unsupported

Parts = Literal["AB", "A", "B"]

NOISE_STD = 0.2
"""Standard deviation of the pixels that encode the label, white being 1; 0.2^2 is the variance in section 3."""

_CHUNK = 1024


@reads_name
def read_half_images(spec: DataSpec, seed: int) -> Dataset:
    """Read another data set with half images, as in "half-images:cifar10?parts=AB&resize=16".

    Options: `parts`; `resize`, the side to which images are resized before the noise is added, which is then not
        averaged; `noise`, its standard deviation.
    """
    spec.allow(("parts", "resize", "noise"))
    side, noise = spec.integer("resize"), spec.number("noise")
    whole = load(spec.path, transforms=() if side is None else (f"resize:{side}",), seed=seed)
    parts: Parts = spec.choice("parts", ("AB", "A", "B")) or "AB"
    return half_images(whole, parts=parts, seed=seed, noise=NOISE_STD if noise is None else noise)


def half_images(dataset: Dataset, *, parts: Parts, seed: int, noise: float = NOISE_STD) -> Dataset:
    """Make the semi-synthetic data of the MeRLin paper from any set of images.

    The upper half is that of the image. In the lower half, pixels are independent draws from N(c / 10, noise^2) for
    class index c, which encodes the class: the mean is easier to learn than the upper half, and useless for other
    tasks. All pixels are clamped to [0, 1].

    - "AB": both halves: a source that can be learnt from either.
    - "A": the lower half replaced by the channel means of the training images; the upper half transfers.
    - "B": the upper half replaced by the channel means; the lower half does not transfer.

    Section 3 and appendix A.1 of "Meta-learning Transferable Representations with a Single Target Domain" (Liu et al.
    2020). Section 3 has a standard deviation of 0.2; in appendix A.1, 0.2 is the variance, a standard deviation of
    0.447. The means are those of the training images given, where the paper uses [0.485, 0.456, 0.406], the usual means
    of ImageNet. The middle row of an odd height belongs to the lower half.

    Args:
        dataset: Images with class labels; at most 10 classes, so that every mean is below 1.
        seed: Seed of the noise, at least 0; image i has the same noise in "AB" and "B", for any number of images.
        noise: Its standard deviation, white being 1; above 0 and at most 1.

    Returns:
        The data set with uint8 images of the same shape and the same labels.

    Raises:
        DataError: The inputs are not images of at least 2 rows, the labels are not classes, or there are more than 10.
        SettingsError: `parts` is unknown, the seed negative, or the noise out of its range.

    Example:
        >>> from transferscope.data.glyphs import load_glyphs
        >>> source = half_images(load_glyphs(n_train=20, n_test=10), parts="AB", seed=0)
        >>> source.name, source.train.input_shape
        ('glyphs-AB', (1, 28, 28))
    """
    check_seed(seed)
    if parts not in get_args(Parts):
        raise unknown_name("parts of half images", parts, get_args(Parts))
    if not 0 < noise <= 1:
        raise out_of_range("noise", f"{noise:g}", "a standard deviation above 0 and at most 1, as in 0.2")
    shape = dataset.train.input_shape
    if len(shape) != 3 or shape[1] < 2:
        raise unsupported("half-images", "images of at least 2 rows", f"inputs of {dataset.name} have shape {shape}")
    classes = single_classes(dataset, "half-images")
    if len(classes) > 10:
        raise unsupported(
            "half-images",
            "at most 10 classes, of means c / 10 below 1",
            f"{dataset.name} has {len(classes)}",
        )
    means = channel_means(dataset.train.inputs)

    def halved(data: LabelledSet, start: int) -> LabelledSet:
        n, channels, height, width = data.inputs.shape
        middle = height // 2
        images = np.empty((n, channels, height, width), np.uint8)
        for first in range(0, n, _CHUNK):
            here = slice(first, first + _CHUNK)
            pixels = np.empty(data.inputs[here].shape)
            pixels[:] = means[:, None, None]
            if "A" in parts:
                pixels[:, :, :middle] = data.inputs[here, :, :middle] / full_scale(data.inputs)
            if "B" in parts:
                lower = (channels, height - middle, width)
                drawn = signature(data.labels[here], lower, noise=noise, seed=seed, start=start + first)
                pixels[:, :, middle:] = drawn
            images[here] = np.rint(np.clip(pixels, 0, 1) * 255)
        return replace(data, inputs=images)

    return replace(
        dataset,
        name=f"{dataset.name}-{parts}",
        train=halved(dataset.train, 0),
        test=halved(dataset.test, TEST_START),
        provenance={**dataset.provenance, "halves": parts, "noise": f"{noise:g}", "halves_seed": str(seed)},
    )


def channel_means(images: Num[np.ndarray, "N C H W"]) -> Float[np.ndarray, " C"]:
    """Return the mean of every channel over all images and pixels, white being 1; float64."""
    chunks = (images[first : first + _CHUNK] for first in range(0, len(images), _CHUNK))
    total = sum(chunk.sum(axis=(0, 2, 3), dtype=np.float64) for chunk in chunks)
    n, _, height, width = images.shape
    return np.asarray(total / (n * height * width * full_scale(images)))


def signature(
    labels: Int[np.ndarray, " n"], shape: tuple[int, int, int], *, noise: float, seed: int, start: int
) -> Float[np.ndarray, "n C H W"]:
    """Return draws from N(c / 10, noise^2) for class indices c, one for every pixel and channel.

    Returns:
        Pixels before clamping, white being 1; float64.
    """
    from scipy.special import ndtri  # imported here: slow, and other data do not need it

    uniforms = uniform_rows(len(labels), int(np.prod(shape)), seed=seed, purpose="half_images", start=start)
    normal = ndtri(np.maximum(uniforms, 2.0**-54)).reshape(len(labels), *shape)  # 0 would give -infinity
    return np.asarray(labels[:, None, None, None] / 10 + noise * normal)
