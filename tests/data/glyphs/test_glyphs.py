import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from transferscope.data.glyphs import TEST_START, GlyphSettings, glyphs, load_glyphs
from transferscope.errors import SettingsError

EVERYTHING = GlyphSettings(
    colour=True, appearance="several", light="random", background="random", texture="with", size=20
)


def combinations() -> Iterator[GlyphSettings]:
    """The 16 combinations of the complexity settings, in grey and in colour."""
    for several, light, background, texture, colour in product((False, True), repeat=5):
        yield GlyphSettings(
            appearance="several" if several else "single",
            light="random" if light else "fixed",
            background="random" if background else "fixed",
            texture="with" if texture else "without",
            colour=colour,
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


def test_rounding_of_matrix_products_does_not_show() -> None:
    settings = replace(EVERYTHING, size=28)
    whole = glyphs(100, settings, seed=0)
    for index in (90, 91, 92):  # image 92 differed by one grey level in one pixel when it was rendered alone
        np.testing.assert_array_equal(glyphs(1, settings, seed=0, start=index).inputs[0], whole.inputs[index])


def test_the_number_of_threads_does_not_show() -> None:
    images = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            images.append(glyphs(256, seed=0, start=TEST_START).inputs)
    np.testing.assert_array_equal(images[0], images[1])  # one pixel of image 165 differed by one grey level


def test_ten_thousand_images_take_seconds() -> None:
    settings = replace(EVERYTHING, size=28, colour=False)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        glyphs(1024, settings, seed=0)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 10  # about .3; it is no loop over pixels


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


def test_the_classes_can_be_learnt() -> None:
    data = load_glyphs(n_train=1500, n_test=300, settings=GlyphSettings(size=14), seed=0)
    model = LogisticRegression(max_iter=200).fit(data.train.inputs.reshape(1500, -1) / 255, data.train.labels)
    assert model.score(data.test.inputs.reshape(300, -1) / 255, data.test.labels) > 0.85


def test_training_and_test_images_are_apart_and_noted() -> None:
    data = load_glyphs(n_train=300, n_test=50, seed=2)
    train = {image.tobytes() for image in data.train.inputs}
    assert not train & {image.tobytes() for image in data.test.inputs}
    assert load_glyphs(n_train=5, n_test=50, seed=2).test.fingerprint == data.test.fingerprint
    assert data.provenance["seed"] == "2"
    assert "DejaVuSans" in data.provenance["fonts"]
    assert data.train.classes == tuple("0123456789")


@pytest.mark.parametrize(("n", "start"), [(0, 0), (1, -1)])
def test_no_images_are_refused(n: int, start: int) -> None:
    with pytest.raises(SettingsError) as caught:
        glyphs(n, seed=0, start=start)
    assert str(caught.value) == (
        f"{n} glyphs from index {start} were asked for; expected at least 1, from index 0 or more"
    )


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        glyphs(1, replace(GlyphSettings(), size=8), seed=-2)
    assert str(caught.value) == "seed = -2 is negative; seeds are 0, 1, 2, ..."
