"""Layout of a scene: solids, camera, light and colours of walls, from random numbers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from transferscope.data.counter_random import uniform_rows
from transferscope.data.portable import cosine, sine, tangent
from transferscope_papers.sources.scenes.settings import MOST_OBJECTS, SceneSettings

_DRAWS_PER_OBJECT = 12
_GOLDEN_ANGLE = np.float32(2.39996323)
_N_WAVES = 3


@dataclass(frozen=True)
class Objects:
    """The solids of n scenes, padded to the same number m; lengths in units of the largest solid's radius.

    Attributes:
        kind: Index of the kind of each.
        centre: Centre of its bounding sphere; the floor is z = 0.
        radius: Radius of its bounding sphere.
        turn: Rotation matrix from the solid's own coordinates to the scene's.
        proportions: Two numbers in [0, 1], see `solids`.
        pattern: Two numbers in [0, 1]: phase and darkness of the texture.
    """

    present: Bool[np.ndarray, "n m"]
    kind: Int[np.ndarray, "n m"]
    centre: Float[np.ndarray, "n m 3"]
    radius: Float[np.ndarray, "n m"]
    turn: Float[np.ndarray, "n m 3 3"]
    proportions: Float[np.ndarray, "n m 2"]
    pattern: Float[np.ndarray, "n m 2"]


@dataclass(frozen=True)
class View:
    """Camera, light and walls of n scenes.

    Attributes:
        axes: Unit vectors to the right, upwards and forwards, as rows.
        spread: Half the height of the image over its distance from the eye.
        light: Unit vector towards the light.
        light_colour: Its colour times its strength, at least 0.
        ambient: Ambient light, in [0, 1].
        wall: Unit normal of the wall behind the scene, horizontal and towards the camera.
        wall_distance: Distance of the wall from the middle of the scene.
        paints: Two colours for floor and wall each, in [0, 1]; equal where they are flat.
        waves: Direction, length and phase of the waves that mix both colours, for floor and wall.
        sharpness: How abruptly the colours change, for floor and wall.
    """

    eye: Float[np.ndarray, "n 3"]
    axes: Float[np.ndarray, "n 3 3"]
    spread: Float[np.ndarray, " n"]
    light: Float[np.ndarray, "n 3"]
    light_colour: Float[np.ndarray, "n 3"]
    ambient: Float[np.ndarray, " n"]
    wall: Float[np.ndarray, "n 3"]
    wall_distance: Float[np.ndarray, " n"]
    paints: Float[np.ndarray, "n 2 2 3"]
    waves: Float[np.ndarray, "n 2 w 3"]
    sharpness: Float[np.ndarray, "n 2"]


def draw_objects(n: int, settings: SceneSettings, *, seed: int, start: int) -> Objects:
    """Return the solids of the scenes start, ..., start + n - 1 of a seed.

    The first solid stands near the middle and is the largest; the others stand around it, at successive golden angles,
    so that they occlude each other and seldom intersect. All are rotated at random, by uniform rotations (Shoemake,
    "Uniform random rotations", Graphics Gems III, 1992).
    """
    draws = uniform_rows(n, MOST_OBJECTS * _DRAWS_PER_OBJECT, seed=seed, purpose="scenes/objects", start=start)
    draws = draws.astype(np.float32).reshape(n, MOST_OBJECTS, _DRAWS_PER_OBJECT)
    number = uniform_rows(n, 2, seed=seed, purpose="scenes/number", start=start).astype(np.float32)
    most = settings.objects if settings.appearance == "several" else 1
    count = (
        np.ones(n, np.int64) if most == 1 else 2 + np.minimum((number[:, 0] * (most - 1)).astype(np.int64), most - 2)
    )
    draws = draws[:, :most]
    kind = np.minimum((draws[..., 0] * len(settings.kinds)).astype(np.int64), len(settings.kinds) - 1)
    radius = 0.4 + 0.3 * draws[..., 3]
    radius[:, 0] = 0.75 + 0.25 * draws[:, 0, 3]
    away = radius[:, :1] + radius + np.float32(0.15) * np.arange(most, dtype=np.float32) + 0.3 * draws[..., 7]
    away[:, 0] = 0.35 * draws[:, 0, 7]
    angle = 2 * np.pi * number[:, 1:] + _GOLDEN_ANGLE * (np.arange(most, dtype=np.float32) + 0.5 * draws[..., 8])
    height = radius * (1 + 0.6 * draws[..., 9])
    return Objects(
        present=np.arange(most) < count[:, None],
        kind=kind,
        centre=np.stack((away * cosine(angle), away * sine(angle), height), axis=2).astype(np.float32),
        radius=radius,
        turn=_rotations(draws[..., 4:7]),
        proportions=draws[..., 1:3],
        pattern=draws[..., 10:12],
    )


def _rotations(draws: Float[np.ndarray, "n m 3"]) -> Float[np.ndarray, "n m 3 3"]:
    inner, outer = np.sqrt(1 - draws[..., 0]), np.sqrt(draws[..., 0])
    one, two = 2 * np.pi * draws[..., 1], 2 * np.pi * draws[..., 2]
    x, y, z, w = inner * sine(one), inner * cosine(one), outer * sine(two), outer * cosine(two)  # a quaternion
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2).astype(np.float32)


def draw_view(n: int, settings: SceneSettings, *, seed: int, start: int) -> View:
    """Return camera, light and walls of the scenes start, ..., start + n - 1 of a seed.

    The camera moves in height, distance, aim, roll and angle of view; its rotation around the scene is part of the
    random positions of the solids.
    """
    draws = uniform_rows(n, 12, seed=seed, purpose="scenes/camera", start=start).astype(np.float32)
    elevation = np.deg2rad(12 + 48 * draws[:, 0])
    distance = 3.8 + 1.8 * draws[:, 1]
    backwards = _unit(np.zeros_like(elevation), -cosine(elevation), sine(elevation))
    aim = np.stack((draws[:, 2] - 0.5, draws[:, 3] - 0.5, 0.7 + 0.5 * draws[:, 4]), axis=1) * np.array(
        [0.9, 0.9, 1], np.float32
    )
    right, forward = np.broadcast_to(np.array([1, 0, 0], np.float32), (n, 3)), -backwards
    up = np.stack([np.zeros_like(elevation), sine(elevation), cosine(elevation)], axis=1)
    roll = np.deg2rad(24 * draws[:, 5, None] - 12)
    turned = (cosine(roll) * right + sine(roll) * up, cosine(roll) * up - sine(roll) * right, forward)
    aside = np.deg2rad(70 * draws[:, 6] - 35)
    light, colour, ambient = _lights(n, settings, seed=seed, start=start)
    paints, waves, sharpness = _paints(n, settings, seed=seed, start=start)
    return View(
        eye=(aim + distance[:, None] * backwards).astype(np.float32),
        axes=np.stack(turned, axis=1).astype(np.float32),
        spread=tangent(np.deg2rad(16 + 7 * draws[:, 7])),
        light=light,
        light_colour=colour,
        ambient=ambient,
        wall=_unit(sine(aside), -cosine(aside), np.zeros_like(aside)),
        wall_distance=3 + 3 * draws[:, 8],
        paints=paints,
        waves=waves,
        sharpness=sharpness,
    )


def _lights(n: int, settings: SceneSettings, *, seed: int, start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return direction, colour times strength, and ambient light; fixed: from above on the camera's left, white."""
    if settings.light == "fixed":
        towards = np.array([-0.5, -0.6, 0.75], np.float32) / np.sqrt(np.float32(1.1725))
        return np.tile(towards, (n, 1)), np.full((n, 3), 0.8, np.float32), np.full(n, 0.3, np.float32)
    draws = uniform_rows(n, 8, seed=seed, purpose="scenes/light", start=start).astype(np.float32)
    azimuth, elevation = np.deg2rad(220 * draws[:, 0] - 110), np.deg2rad(20 + 60 * draws[:, 1])
    towards = _unit(cosine(elevation) * sine(azimuth), -cosine(elevation) * cosine(azimuth), sine(elevation))
    colour = (1 - 0.4 * draws[:, 2:5]) * (0.5 + 0.6 * draws[:, 5:6])
    return towards, colour, 0.15 + 0.3 * draws[:, 6]


def _paints(n: int, settings: SceneSettings, *, seed: int, start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return colours, waves and sharpness of floor and wall; fixed: grey, the wall darker than the floor."""
    if settings.background == "fixed":
        flat = np.broadcast_to(np.array([0.35, 0.22], np.float32)[None, :, None, None], (n, 2, 2, 3))
        return flat, np.zeros((n, 2, 1, 3), np.float32), np.ones((n, 2), np.float32)
    width = 6 + 3 * _N_WAVES + 1
    draws = uniform_rows(n, 2 * width, seed=seed, purpose="scenes/background", start=start).astype(np.float32)
    draws = draws.reshape(n, 2, width)
    waves = draws[..., 6 : 6 + 3 * _N_WAVES].reshape(n, 2, _N_WAVES, 3)
    angle, cycles, phase = 2 * np.pi * waves[..., 0], 0.15 + 1.2 * np.square(waves[..., 1]), 2 * np.pi * waves[..., 2]
    rate = np.float32(2 * np.pi) * cycles
    mixed = np.stack((rate * cosine(angle), rate * sine(angle), phase), axis=-1).astype(np.float32)
    paints = draws[..., :6].reshape(n, 2, 2, 3)
    grey = paints.mean(axis=3, keepdims=True)
    return 0.1 + 0.7 * (grey + 0.6 * (paints - grey)), mixed, 0.5 + 4 * np.square(draws[..., -1])


def _unit(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    length = np.sqrt(x * x + y * y + z * z)
    return np.stack((x / length, y / length, z / length), axis=1).astype(np.float32)
