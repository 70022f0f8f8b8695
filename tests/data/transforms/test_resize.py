import numpy as np
import pytest
import torch
from PIL import Image

from transferscope.data.transforms.images import side_of_images
from transferscope.data.transforms.resize import resampling_matrix, resized
from transferscope.errors import SettingsError

SIZES = [(16, 28), (28, 16), (32, 28), (31, 7), (9, 40), (1, 5)]


@pytest.mark.parametrize(("before", "after"), SIZES)
def test_bytes_are_resized_as_pillow_does(before: int, after: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (1, 1, before, before)).astype(np.uint8)
    pillow = Image.fromarray(image[0, 0]).resize((after, after), Image.Resampling.BILINEAR)
    difference = resized(image, after)[0, 0].astype(int) - np.asarray(pillow).astype(int)
    assert np.abs(difference).max() <= 1  # Pillow rounds between its two passes


@pytest.mark.parametrize(("before", "after"), SIZES)
def test_floats_are_resized_as_torch_does(before: int, after: int) -> None:
    images = np.random.default_rng(0).random((3, 2, before, before + 2)).astype(np.float32)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(images), (after, after), mode="bilinear", antialias=True
    )
    np.testing.assert_allclose(resized(images, after), expected.numpy(), atol=1e-5)


def test_weights_sum_to_one() -> None:
    np.testing.assert_allclose(resampling_matrix(31, 7).sum(axis=1), 1, atol=1e-6)


def test_images_of_the_right_size_are_not_touched() -> None:
    images = np.zeros((2, 1, 8, 8), np.uint8)
    assert resized(images, 8) is images


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "big", "²"])
def test_an_argument_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        side_of_images(text, "resize:28")
    assert str(caught.value) == (
        f"a transform was given the argument {text!r}; expected a whole number >= 1, as in 'resize:28'"
    )


def test_a_mistyped_size_does_not_take_all_memory() -> None:
    with pytest.raises(SettingsError) as caught:
        side_of_images("280028", "resize:28")
    assert str(caught.value) == "resize:280028 asks for images of 280028 pixels on a side; expected 1 to 4096"
