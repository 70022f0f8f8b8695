"""Settings, transformations and computed data that cannot be: one sentence that names what was asked for."""

from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch

from transferscope.data import load
from transferscope.data.counter_random import uniform_rows
from transferscope.data.glyphs import GlyphSettings, glyphs
from transferscope.data.glyphs.atlas import find_fonts
from transferscope.data.task import Dataset, LabelledSet, _check_arrays
from transferscope.data.transforms import TRANSFORMS, apply_transforms, check_transforms
from transferscope.errors import DataError, SettingsError, TransferscopeError
from transferscope.testing.methods import blobs

ABCD = ("a", "b", "c", "d")


def same(inputs: np.ndarray, labels: np.ndarray, classes: tuple[str, ...] | None = ABCD) -> Dataset:
    part = LabelledSet(inputs, labels, classes)
    return Dataset("set", part, part)


def images(channels: int = 3, n_classes: int = 4) -> Dataset:
    pixels = np.random.default_rng(0).integers(0, 256, (4 * n_classes, channels, 6, 6)).astype(np.uint8)
    return same(pixels, np.arange(4 * n_classes) % n_classes, tuple(ABCD + tuple("efghijk"))[:n_classes])


NUMBERS = same(np.zeros((4, 1, 2, 2), np.uint8), np.zeros((4, 1), np.float32), None)
VECTORS = same(np.zeros((4, 5)), np.arange(4) % 4)
NO_TEST_OF_B = Dataset("set", images().train, images().test.take(np.array([0, 2, 3])))
TRANSFORMATIONS: list[tuple[Dataset, str, str]] = [
    *((images(), f"train-rows:{rows}", repr(rows)) for rows in ("5", "3-3", "7-2", "a-b", "-1-4")),
    *((images(), f"classes:{names}", repr(names)) for names in ("0-1", "2-9", "a", "a+e", "a-c", "4-6")),
    *((images(), f"label-noise:{share}", repr(share)) for share in ("1.5", "-0.1", "nan", "much")),
    *((images(), f"resize:{side}", repr(side)) for side in ("0", "-3", "2.5", "big", "²")),
    (images(), "resize:280028", "280028 pixels"),
    (images(), "resize", "'resize:28'"),
    (images(), "grey:3", "'3'"),
    (images(), "gray", "did you mean 'grey'"),
    (images(), "relabel:color", "did you mean 'colour'"),
    (images(1), "relabel:colour", "images have 1;"),
    (images(2), "grey", "the images have 2"),
    (images(1), "pad:4", "images of 6 x 6"),
    (same(np.zeros((8, 3, 2, 2), np.uint8), np.arange(8) % 4), "relabel:brightness", "4 classes by brightness"),
    (NUMBERS, "relabel:brightness", "are numbers; leave it out"),
    (NUMBERS, "label-noise:0.1", "are numbers; leave it out"),
    (same(np.zeros((4, 5)), np.zeros(4, np.int64), ("a",)), "label-noise:0.1", "needs at least 2 classes"),
    (Dataset("blobs", blobs(10, 2, seed=0), blobs(4, 2, seed=1)), "train-rows:0-11", "at most 10,"),
    (NO_TEST_OF_B, "classes:a+b", "class 'b' of set has no test example"),
]


@pytest.mark.parametrize(("data", "name", "said"), TRANSFORMATIONS, ids=[name for _, name, _ in TRANSFORMATIONS])
def test_transformations_are_refused(data: Dataset, name: str, said: str) -> None:
    with pytest.raises(TransferscopeError) as refused:
        apply_transforms(data, [name], seed=0)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", sorted(set(TRANSFORMS) - {"classes", "label-noise", "train-rows"}))
def test_most_need_images(name: str) -> None:
    example = TRANSFORMS[name].example
    with pytest.raises(TransferscopeError, match="needs images"):
        apply_transforms(VECTORS, [f"{name}:{example}" if example else name], seed=0)


def test_arguments_are_checked_before_anything_is_done() -> None:
    with pytest.raises(TransferscopeError, match="'resize' needs an argument"):
        check_transforms(["invert", "resize"])


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda: GlyphSettings(characters=""), "characters = ''"),
        (lambda: GlyphSettings(characters="aba"), "characters = 'aba'"),
        (lambda: GlyphSettings(characters="a b"), "characters = 'a b'"),
        (lambda: GlyphSettings(size=7), "size = 7"),
        (lambda: GlyphSettings(pose=2.5), r"pose = 2\.5"),
        (lambda: GlyphSettings(pose=float("nan")), "pose = nan"),
        (lambda: uniform_rows(1, 1, seed=-1, purpose="test"), "seed = -1"),
        (lambda: glyphs(1, seed=-2), "seed = -2"),
        (lambda: glyphs(0, seed=0), "n = 0"),
        (lambda: glyphs(1, seed=0, start=-1), "start = -1"),
        (lambda: find_fonts(None, "0\U0010fffe"), r"'0\\U0010fffe'"),
    ],
)
def test_data_that_cannot_be_computed_are_refused(attempt: Callable[[], object], said: str) -> None:
    with pytest.raises(TransferscopeError, match=said):
        attempt()


def test_folders_of_fonts_that_are_none_are_named(tmp_path: Path) -> None:
    for folder, said in ((tmp_path / "none", "there is no folder of fonts"), (tmp_path, "has no .ttf")):
        with pytest.raises(TransferscopeError, match=said):
            find_fonts(str(folder), "0")
    (tmp_path / "bad.ttf").write_text("no font")
    with pytest.raises(TransferscopeError, match=r"bad\.ttf cannot be read as a font"):
        find_fonts(str(tmp_path), "0")


_VECTORS, _CLASSES = np.zeros((4, 2), np.float32), np.array([0, 1, 1, 0])


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        (_VECTORS, pd.Series(_CLASSES, index=[3, 2, 1, 0]), "labels are a Series; expected a NumPy array"),
        (pd.DataFrame(_VECTORS), _CLASSES, "inputs are a DataFrame"),
        (torch.tensor(_VECTORS), _CLASSES, "inputs are a Tensor"),
        (_VECTORS.tolist(), _CLASSES, "inputs are a list"),
        (np.zeros((4, 9, 8, 3), np.uint8), _CLASSES, r"expected channels second, \(N, C, H, W\)"),
        (np.zeros((4, 9, 9, 1), np.uint8), _CLASSES, "channels second"),
    ],
)
def test_arrays_of_another_kind_are_not_read_as_what_they_are_not(inputs: Any, labels: Any, message: str) -> None:
    """A series gives rows by its index, so that shuffled ones would be the labels of other inputs."""
    with pytest.raises(DataError, match=message):
        unwrap(_check_arrays)(inputs, labels)
    _check_arrays(np.zeros((4, 8, 100, 1), np.uint8), _CLASSES)  # signals of eight channels, one column wide


def test_images_with_few_pixels_in_a_row_are_images() -> None:
    """Channels may be many where the rows are short."""
    for shape in ((4, 8, 3, 3), (4, 3, 9, 3), (4, 3, 3, 3)):
        assert LabelledSet(np.zeros(shape, np.uint8), _CLASSES, ("a", "b")).is_image


def test_one_transform_is_a_list_of_it() -> None:
    with pytest.raises(SettingsError, match=r"'grey'; expected a list of texts, as in \['grey'\]"):
        load("digits", transforms=cast(Any, "grey"))
