from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from scipy import stats

from transferscope.data.glyphs import GlyphSettings, glyphs, load_glyphs

EVERYTHING = GlyphSettings(
    colour=True, appearance="several", light="random", background="random", texture="with", size=20
)


def combinations() -> Iterator[GlyphSettings]:
    """The 16 combinations of the complexity settings, those with texture in colour."""
    for several, light, background, texture in product((False, True), repeat=4):
        yield GlyphSettings(
            appearance="several" if several else "single",
            light="random" if light else "fixed",
            background="random" if background else "fixed",
            texture="with" if texture else "without",
            colour=texture,
        )


@pytest.mark.parametrize("settings", [GlyphSettings(), EVERYTHING])
def test_an_image_depends_on_its_index_and_seed_only(settings: GlyphSettings) -> None:
    whole = glyphs(600, settings, seed=3)
    for start, n in ((0, 5), (250, 20), (599, 1)):
        part = glyphs(n, settings, seed=3, start=start)
        np.testing.assert_array_equal(part.inputs, whole.inputs[start : start + n])
        np.testing.assert_array_equal(part.labels, whole.labels[start : start + n])
    assert not np.array_equal(glyphs(5, settings, seed=4).inputs, whole.inputs[:5])


@pytest.mark.parametrize("settings", list(combinations()))
def test_all_combinations_give_different_images_of_the_same_characters(settings: GlyphSettings) -> None:
    images = glyphs(40, settings, seed=0)
    assert images.inputs.shape == (40, 3 if settings.colour else 1, 28, 28)
    assert images.inputs.dtype == np.uint8
    np.testing.assert_array_equal(images.labels, glyphs(40, seed=0).labels)
    assert len({image.tobytes() for image in images.inputs}) == 40
    assert (images.inputs.reshape(40, -1).std(axis=1) > 10).all()


def test_default_images_are_white_on_black() -> None:
    images = glyphs(200, seed=0).inputs[:, 0] / 255
    assert (images[:, 0] == 0).mean() > 0.95
    assert (images.max(axis=(1, 2)) > 0.9).mean() > 0.95
    assert 0.08 < images.mean() < 0.25  # MNIST: 0.13


def test_each_setting_changes_its_own_aspect_only() -> None:
    plain = glyphs(50, seed=0).inputs[:, 0].astype(int)
    behind = glyphs(50, GlyphSettings(background="random"), seed=0).inputs[:, 0].astype(int)
    np.testing.assert_array_equal(behind[plain == 255], 255)
    several = glyphs(50, GlyphSettings(appearance="several"), seed=0).inputs[:, 0].astype(int)
    assert (several - plain).min() >= 0
    assert (several > plain).any(axis=(1, 2)).mean() > 0.9


def test_all_characters_are_equally_likely() -> None:
    counts = glyphs(5000, GlyphSettings(characters="abcde", size=8), seed=0).class_counts()
    assert stats.chisquare(counts).pvalue > 1e-3


def test_without_pose_only_the_font_differs() -> None:
    settings = GlyphSettings(characters="A", pose=0.0)
    distinct = {image.tobytes() for image in glyphs(300, settings, seed=0).inputs}
    assert 15 < len(distinct) <= 25


def test_a_larger_image_shows_the_same_scene() -> None:
    small = glyphs(30, GlyphSettings(size=28), seed=0).inputs[:, 0].astype(float)
    large = glyphs(30, GlyphSettings(size=84), seed=0).inputs[:, 0].astype(float)
    shrunk = large.reshape(30, 28, 3, 28, 3).mean(axis=(2, 4))
    assert np.abs(shrunk - small).mean() < 5


def test_training_and_test_images_are_apart_and_noted() -> None:
    data = load_glyphs(n_train=300, n_test=50, seed=2)
    train = {image.tobytes() for image in data.train.inputs}
    assert not train & {image.tobytes() for image in data.test.inputs}
    assert load_glyphs(n_train=5, n_test=50, seed=2).test.fingerprint == data.test.fingerprint
    assert data.provenance["seed"] == "2"
    assert "DejaVuSans" in data.provenance["fonts"]
    assert data.train.classes == tuple("0123456789")
