"""Labels of rendered scenes, one function for each task."""

import numpy as np
from jaxtyping import Bool, Float, Int

from transferscope_papers.sources.scenes.render import Scenes
from transferscope_papers.sources.scenes.settings import SceneSettings

_SEEN = 0.01
"""Least share of an image at which a solid counts as visible."""


def areas(scenes: Scenes) -> Int[np.ndarray, "n m"]:
    """Return the number of rays that meet each solid first."""
    slots = range(scenes.kind.shape[1])
    return np.stack([(scenes.owner == slot).sum(axis=(1, 2)) for slot in slots], axis=1)


def visible(scenes: Scenes) -> Bool[np.ndarray, "n m"]:
    """Return which solids cover at least 1 % of an image; if none, the largest one."""
    area = areas(scenes)
    seen = area >= _SEEN * scenes.owner[0].size
    first = np.arange(area.shape[1]) == area.argmax(axis=1)[:, None]
    return np.asarray(seen | (first & ~seen.any(axis=1, keepdims=True)))


def class_of_largest(scenes: Scenes, settings: SceneSettings) -> Int[np.ndarray, " n"]:
    """Return the kind of the largest solid in each image."""
    return np.asarray(scenes.kind[np.arange(len(scenes.kind)), areas(scenes).argmax(axis=1)])


def kinds_seen(scenes: Scenes, settings: SceneSettings) -> Bool[np.ndarray, "n k"]:
    """Return whether each kind is visible in an image."""
    seen = visible(scenes)
    kinds = range(len(settings.kinds))
    return np.stack([(seen & (scenes.kind == kind)).any(axis=1) for kind in kinds], axis=1)


def count(scenes: Scenes, settings: SceneSettings) -> Int[np.ndarray, " n"]:
    """Return the number of visible solids minus one: a class of 1 to `objects`."""
    return np.asarray(visible(scenes).sum(axis=1) - 1)


def box_of_largest(scenes: Scenes, settings: SceneSettings) -> Float[np.ndarray, "n 4"]:
    """Return centre (x, y from the top left), width and height of the visible part of the largest solid, over the
    side."""
    largest = areas(scenes).argmax(axis=1)
    shown = scenes.owner == largest[:, None, None]
    side = shown.shape[1]
    sides = []
    for across in (shown.any(axis=1), shown.any(axis=2)):
        first, last = across.argmax(axis=1), side - across[:, ::-1].argmax(axis=1)
        sides.append(((first + last) / (2 * side), (last - first) / side))
    (x, width), (y, height) = sides
    return np.stack((x, y, width, height), axis=1).astype(np.float32)


def segmentation(scenes: Scenes, settings: SceneSettings) -> Int[np.ndarray, "n g g"]:
    """Return the most frequent class in each grid cell: 0 for floor and wall, 1 + kind for a solid; the first of
    ties."""
    owner, g = scenes.owner, settings.grid
    slot = np.maximum(owner.reshape(len(owner), -1), 0).astype(np.int64)
    shown = np.where(owner >= 0, 1 + np.take_along_axis(scenes.kind, slot, axis=1).reshape(owner.shape), 0)
    cells = shown.reshape(len(owner), g, owner.shape[1] // g, g, owner.shape[2] // g)
    rays = np.stack([(cells == label).sum(axis=(2, 4)) for label in range(len(settings.kinds) + 1)], axis=-1)
    return np.asarray(rays.argmax(axis=-1))


def normals(scenes: Scenes, settings: SceneSettings) -> Float[np.ndarray, "n 3 g g"]:
    """Return the mean normal of each cell, as a unit vector in the camera's coordinates."""
    n, side, _, _ = scenes.normal.shape
    g = settings.grid
    mean = scenes.normal.reshape(n, g, side // g, g, side // g, 3).mean(axis=(2, 4))
    mean /= np.maximum(np.linalg.norm(mean, axis=3, keepdims=True), 1e-6)
    return np.ascontiguousarray(mean.transpose(0, 3, 1, 2), dtype=np.float32)


LABELS = {"class": class_of_largest, "kinds": kinds_seen, "count": count, "box": box_of_largest}
"""Labels of each task of whole images."""

ON_GRID = {"segmentation": segmentation, "normals": normals}
"""Labels of each task on a grid."""


def names(settings: SceneSettings) -> tuple[str, ...] | None:
    """Return the names of classes or labels; None for numbers."""
    if settings.task in ("box", "normals"):
        return None
    if settings.task == "segmentation":
        return ("background", *settings.kinds)
    if settings.task == "count":
        return tuple(str(number) for number in range(1, settings.objects + 1))
    return settings.kinds
