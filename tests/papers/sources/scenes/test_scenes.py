from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from transferscope.data.load import load
from transferscope.errors import SettingsError
from transferscope_papers.sources.scenes import SceneSettings, load_scenes, scenes
from transferscope_papers.sources.scenes.layout import draw_objects, draw_view
from transferscope_papers.sources.scenes.render import FLOOR, Scenes, render
from transferscope_papers.sources.scenes.solids import SIMPLE

PLAIN = SceneSettings(size=64)  # 16 images are rendered at once
EVERYTHING = replace(PLAIN, appearance="several", light="random", background="random", texture="with")
N = 16


def made(settings: SceneSettings) -> Scenes:
    return render(N, settings, seed=0, start=0)


@pytest.mark.long
@pytest.mark.parametrize("settings", [PLAIN, EVERYTHING])
def test_an_image_depends_on_its_index_and_seed_only(settings: SceneSettings) -> None:
    whole = scenes(40, settings, seed=3)
    for start, n in ((0, 5), (14, 20), (39, 1)):
        part = scenes(n, settings, seed=3, start=start)
        np.testing.assert_array_equal(part.inputs, whole.inputs[start : start + n])
        np.testing.assert_array_equal(part.labels, whole.labels[start : start + n])
    assert not np.array_equal(scenes(5, settings, seed=4).inputs, whole.inputs[:5])


def test_rendering_in_other_chunks_gives_the_same_images() -> None:
    whole = made(EVERYTHING).images
    for start, n in ((0, 3), (3, 6), (9, 7)):
        part = render(n, EVERYTHING, seed=0, start=start).images.astype(int)
        assert np.abs(part - whole[start : start + n]).max() <= 1  # but for rounding, which whole chunks keep out


@pytest.mark.long
def test_all_attributes_give_different_images_of_the_same_solids() -> None:
    seen = set()
    for several, light, background, texture in product((False, True), repeat=4):
        settings = replace(
            PLAIN,
            appearance="several" if several else "single",
            light="random" if light else "fixed",
            background="random" if background else "fixed",
            texture="with" if texture else "without",
        )
        found = made(settings)
        np.testing.assert_array_equal(found.kind[:, 0], made(PLAIN).kind[:, 0])
        assert (found.images.reshape(N, -1).std(axis=1) > 3).all()
        seen |= {image.tobytes() for image in found.images}
    assert len(seen) == 16 * N


def test_light_background_and_texture_change_no_shape() -> None:
    plain, changed = made(PLAIN), made(replace(EVERYTHING, appearance="single"))
    np.testing.assert_array_equal(plain.owner, changed.owner)
    np.testing.assert_array_equal(plain.normal, changed.normal)


def test_a_random_background_leaves_the_solids_and_textures_leave_the_background() -> None:
    plain = made(PLAIN)
    whole = (plain.owner >= 0).reshape(N, 64, 2, 64, 2)
    solid, none = whole.all(axis=(2, 4)), ~whole.any(axis=(2, 4))
    behind = made(replace(PLAIN, background="random")).images.transpose(0, 2, 3, 1)
    painted = made(replace(PLAIN, texture="with")).images.transpose(0, 2, 3, 1)
    images = plain.images.transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(behind[solid], images[solid])
    np.testing.assert_array_equal(painted[none], images[none])
    assert (painted[solid] != images[solid]).any(axis=1).mean() > 0.9


def test_spheres_and_their_shadows_are_where_geometry_says() -> None:
    """Rays of a pinhole camera against exact spheres and planes in float64, and a second ray towards the light."""
    settings = replace(PLAIN, kinds=("sphere", "octahedron"))
    found, objects = made(settings), draw_objects(N, settings, seed=0, start=0)
    view = draw_view(N, settings, seed=0, start=0)
    side = 128
    steps = ((np.arange(side) + 0.5) / side * 2 - 1)[None, :]
    shown = [i for i in range(N) if objects.kind[i, 0] == 0]
    assert len(shown) >= 4
    for i in shown:
        right, up, forward = view.axes[i].astype(float)
        spread = float(view.spread[i])
        rays = forward + spread * (steps[..., None] * right - steps.T[..., None] * up)
        rays /= np.linalg.norm(rays, axis=2, keepdims=True)
        eye, middle, radius = view.eye[i].astype(float), objects.centre[i, 0].astype(float), float(objects.radius[i, 0])
        ball = hits(eye - middle, rays, radius)
        assert (np.isfinite(ball) == (found.owner[i] == 0)).mean() > 0.99
        on = np.isfinite(ball) & (found.owner[i] == 0)
        outward = (eye + ball[on][:, None] * rays[on] - middle) / radius
        np.testing.assert_allclose(found.normal[i][on] @ np.array([1, 0, 0]), outward @ right, atol=0.15)
        assert np.abs(found.normal[i][on] @ np.array([0, 0, 1]) + outward @ forward).mean() < 0.02
        floor = found.owner[i] == FLOOR
        ground = eye + (-eye[2] / rays[floor][:, 2])[:, None] * rays[floor]
        np.testing.assert_allclose(ground[:, 2], 0, atol=1e-9)
        dark = np.isfinite(hits(ground - middle, view.light[i].astype(float), radius))
        assert 20 < dark.sum() < len(dark) - 20
        bright = np.repeat(np.repeat(found.images[i, 0], 2, axis=0), 2, axis=1)[floor]
        levels = 255 * 0.35 * np.array([0.3, 0.3 + 0.8 * view.light[i, 2]])
        assert (np.abs(bright - levels[np.where(dark, 0, 1)]) < 1).mean() > 0.95  # other pixels are cut by an edge


def hits(begin: np.ndarray, along: np.ndarray, radius: float) -> np.ndarray:
    """Distance at which rays meet a sphere about the origin from outside; infinite where they do not."""
    half = (begin * along).sum(axis=-1)
    room = half**2 - (begin * begin).sum(axis=-1) + radius**2
    first = -half - np.sqrt(np.maximum(room, 0))
    return np.where((room > 0) & (first > 0), first, np.inf)


def test_labels_say_what_the_images_show() -> None:
    found = made(EVERYTHING)
    label = {task: scenes(N, replace(EVERYTHING, task=task), seed=0).labels for task in ("class", "kinds", "count")}
    boxes = scenes(N, replace(EVERYTHING, task="box"), seed=0)
    assert boxes.classes is None
    assert boxes.labels.dtype == np.float32
    for i in range(N):
        slots, area = np.unique(found.owner[i][found.owner[i] >= 0], return_counts=True)
        largest = slots[area.argmax()]
        seen = slots[area >= 0.01 * 128**2]
        assert label["class"][i] == found.kind[i, largest]
        assert set(np.flatnonzero(label["kinds"][i])) == set(found.kind[i, seen])
        assert label["count"][i] == len(seen) - 1
        rows, columns = np.nonzero(found.owner[i] == largest)
        x, y, width, height = boxes.labels[i] * 128
        assert (x - width / 2, x + width / 2) == (columns.min(), columns.max() + 1)
        assert (y - height / 2, y + height / 2) == (rows.min(), rows.max() + 1)


def test_kinds_are_about_equally_frequent_and_counts_vary() -> None:
    settings = SceneSettings(size=8, appearance="several")
    n = 1024
    classes = np.bincount(draw_objects(n, settings, seed=0, start=0).kind[:, 0], minlength=len(SIMPLE))
    assert abs(classes - n / len(SIMPLE)).max() < 4 * (n / len(SIMPLE)) ** 0.5
    counts = draw_objects(n, settings, seed=0, start=0).present.sum(axis=1)
    assert set(counts) == {2, 3, 4, 5, 6}


def test_turns_are_rotations_and_the_camera_has_right_angles() -> None:
    objects, view = draw_objects(N, EVERYTHING, seed=1, start=0), draw_view(N, EVERYTHING, seed=1, start=0)
    for frames in (objects.turn.reshape(-1, 3, 3), view.axes):
        np.testing.assert_allclose(
            frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (len(frames), 1, 1)), atol=1e-5
        )
    np.testing.assert_allclose(np.linalg.det(objects.turn.reshape(-1, 3, 3)), 1, atol=1e-5)
    assert (objects.centre[..., 2] >= objects.radius).all()  # nothing stands in the floor


def test_sets_of_a_name_and_of_settings_are_the_same() -> None:
    options = (
        "task=count&kinds=cone,sphere&size=64&colour=no&appearance=several&objects=3&light=random&n_train=8&n_test=4"
    )
    named = load(f"scenes?{options}", seed=2)
    settings = SceneSettings("count", ("cone", "sphere"), 64, False, "several", 3, "random")
    own = load_scenes(n_train=8, n_test=4, settings=settings, seed=2)
    assert named.fingerprint == own.fingerprint
    assert named.train.input_shape == (1, 64, 64)
    assert named.train.classes == ("1", "2", "3")
    assert not np.array_equal(own.train.inputs[:4], own.test.inputs)


def test_segmentation_and_normals_of_scenes_are_those_of_their_rays() -> None:
    settings = SceneSettings("segmentation", size=32, appearance="several", grid=4)
    found = render(64, settings, seed=0, start=0)
    labels = scenes(8, settings, seed=0)
    assert labels.classes == ("background", *settings.kinds)
    maps = scenes(8, SceneSettings("normals", size=32, appearance="several", grid=4), seed=0).labels
    np.testing.assert_allclose(np.linalg.norm(maps, axis=1), 1, atol=1e-5)
    for i in range(8):
        for row in range(4):
            for column in range(4):
                cell = np.s_[16 * row : 16 * row + 16, 16 * column : 16 * column + 16]
                rays = [0 if slot < 0 else 1 + found.kind[i, slot] for slot in found.owner[i][cell].ravel()]
                counts = np.bincount(rays)
                assert counts[labels.labels[i, row, column]] == counts.max()
                mean = found.normal[i][cell].reshape(-1, 3).mean(axis=0)
                np.testing.assert_allclose(maps[i, :, row, column], mean / np.linalg.norm(mean), atol=1e-4)
    with pytest.raises(SettingsError, match="grid = 8 does not divide size = 20"):
        SceneSettings("normals", size=20)
