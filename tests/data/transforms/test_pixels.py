import numpy as np
import pytest
import torch
from PIL import Image

from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms
from transferscope.data.transforms.pixels import KERNELS, resampling_matrix, resized
from transferscope.errors import DataError, UnknownNameError


def make(channels: int, side: int = 6, dtype: type = np.uint8) -> Dataset:
    random = np.random.default_rng(0)

    def part(n: int) -> LabelledSet:
        images = random.integers(0, 256, (n, channels, side, side)).astype(np.uint8)
        inputs = images if dtype is np.uint8 else (images / 255).astype(dtype)
        return LabelledSet(inputs, np.arange(n) % 3, ("a", "b", "c"))

    return Dataset("set", part(30), part(9))


def train(dataset: Dataset, *names: str, seed: int = 0) -> np.ndarray:
    return apply_transforms(dataset, names, seed=seed).train.inputs


def test_grey_is_pillows_luma() -> None:
    dataset = make(3)
    for before, after in zip(dataset.train.inputs, train(dataset, "grey"), strict=True):
        pillow = np.asarray(Image.fromarray(before.transpose(1, 2, 0)).convert("L"))
        assert np.abs(after[0].astype(int) - pillow).max() <= 1


def test_grey_then_colour_repeats_the_grey() -> None:
    dataset = make(3)
    grey = train(dataset, "grey")
    np.testing.assert_array_equal(train(dataset, "grey", "colour"), np.concatenate([grey] * 3, axis=1))


@pytest.mark.parametrize(("name", "channels"), [("grey", 1), ("colour", 3)])
def test_images_that_are_so_already_stay(name: str, channels: int) -> None:
    dataset = make(channels)
    np.testing.assert_array_equal(train(dataset, name), dataset.train.inputs)


@pytest.mark.parametrize("name", ["upside-down", "mirror", "invert"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_twice_is_nothing(name: str, dtype: type) -> None:
    dataset = make(3, dtype=dtype)
    twice = train(dataset, name, name)
    assert twice.dtype == dtype
    np.testing.assert_allclose(twice, dataset.train.inputs, atol=1e-6)
    assert not np.allclose(train(dataset, name), dataset.train.inputs)


def test_upside_down_and_mirror_turn_rows_and_columns() -> None:
    dataset = make(1)
    np.testing.assert_array_equal(train(dataset, "upside-down"), np.flip(dataset.train.inputs, 2))
    np.testing.assert_array_equal(train(dataset, "mirror"), np.flip(dataset.train.inputs, 3))


def test_permuted_moves_all_images_and_channels_alike() -> None:
    side = 6
    places = np.arange(side * side, dtype=np.uint8).reshape(1, 1, side, side).repeat(2, 0).repeat(3, 1)
    data = LabelledSet(places, np.zeros(2, np.int64), ("a",))
    moved = apply_transforms(Dataset("set", data, data), ["permuted"], seed=1)
    order = moved.train.inputs[0, 0]
    assert sorted(order.ravel()) == list(range(side * side))
    assert (moved.train.inputs == order).all()
    assert (moved.test.inputs == order).all()


def test_padding_surrounds_with_black() -> None:
    dataset = make(1)
    padded = train(dataset, "pad:9")
    assert padded.shape == (30, 1, 9, 9)
    np.testing.assert_array_equal(padded[:, :, 1:7, 1:7], dataset.train.inputs)
    assert padded.sum(dtype=int) == dataset.train.inputs.sum(dtype=int)


SIZES = [(16, 28), (28, 16), (32, 28), (31, 7), (9, 40), (1, 5)]


@pytest.mark.parametrize(("before", "after"), SIZES)
def test_bytes_are_resized_as_pillow_does(before: int, after: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (1, 1, before, before)).astype(np.uint8)
    pillow = Image.fromarray(image[0, 0]).resize((after, after), Image.Resampling.BILINEAR)
    difference = resized(image, (after, after))[0, 0].astype(int) - np.asarray(pillow).astype(int)
    assert np.abs(difference).max() <= 1  # Pillow rounds between its two passes


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize(("before", "after"), SIZES)
@pytest.mark.parametrize("turned", [False, True])
def test_named_interpolations_are_those_of_pillow_bit_by_bit(
    before: int, after: int, kernel: str, turned: bool
) -> None:
    image = np.random.default_rng(0).integers(0, 256, (2, 3, before, before + 9)).astype(np.uint8)
    image = image.swapaxes(2, 3) if turned else image
    way = Image.Resampling[kernel.upper()]
    short = (after, int(after * (before + 9) / before))  # the longer side rounded down, as torchvision has it
    for name, (height, width) in {"resize": (after, after), "short-side": short[::-1] if turned else short}.items():
        pillow = [np.asarray(Image.fromarray(one.transpose(1, 2, 0)).resize((width, height), way)) for one in image]
        found = apply_transforms(make_of(image), [f"{name}:{after}:{kernel}"], seed=0).train.inputs
        assert np.array_equal(found, np.stack(pillow).transpose(0, 3, 1, 2))


def test_the_middle_is_cut_out_as_transformers_and_torchvision_do() -> None:
    images = np.arange(2 * 7 * 9).reshape(1, 2, 7, 9).astype(np.uint8)
    found = apply_transforms(make_of(images), ["crop:4"], seed=0).train.inputs
    assert np.array_equal(found, images[:, :, 1:5, 2:6])  # int(3 / 2), int(5 / 2)
    found = apply_transforms(make_of(images), ["crop:4:even"], seed=0).train.inputs
    assert np.array_equal(found, images[:, :, 2:6, 2:6])  # int(round(3 / 2.0)), int(round(5 / 2.0)) of CenterCrop
    found = apply_transforms(make_of(images), ["crop:2:even"], seed=0).train.inputs
    assert np.array_equal(found, images[:, :, 2:4, 4:6])  # int(round(5 / 2.0)), int(round(7 / 2.0))
    with pytest.raises(UnknownNameError, match="unknown rounding of half a rest 'up'"):
        apply_transforms(make_of(images), ["crop:4:up"], seed=0)
    with pytest.raises(DataError, match="images of 7 x 9 pixels cannot be cropped to 8 x 8"):
        apply_transforms(make_of(images), ["crop:8"], seed=0)
    with pytest.raises(UnknownNameError, match="unknown interpolation 'cubic'"):
        apply_transforms(make_of(images), ["resize:4:cubic"], seed=0)


def make_of(images: np.ndarray) -> Dataset:
    part = LabelledSet(images, np.zeros(len(images), dtype=np.int64), ("a",))
    return Dataset("pictures", part, part)


@pytest.mark.parametrize(("before", "after"), SIZES)
def test_floats_are_resized_as_torch_does(before: int, after: int) -> None:
    images = np.random.default_rng(0).random((3, 2, before, before + 2)).astype(np.float32)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(images), (after, after), mode="bilinear", antialias=True
    )
    np.testing.assert_allclose(resized(images, (after, after)), expected.numpy(), atol=1e-5)


def test_weights_sum_to_one() -> None:
    assert (resampling_matrix(31, 7).sum(axis=1) == 1).all()


def test_images_of_the_right_size_are_not_touched() -> None:
    images = np.zeros((2, 1, 8, 8), np.uint8)
    assert resized(images, (8, 8)) is images
