"""Rendered scenes of solids: an unlimited synthetic source with adjustable complexity and task.

`solids` has distances to surfaces, `layout` positions, `render` rays and shading, `labels` the tasks.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from transferscope.data import Dataset, DataSpec
from transferscope.data.counter_random import TEST_START
from transferscope.data.readers.rendered import read_rendered
from transferscope.data.task import LabelledSet
from transferscope.errors import out_of_range, refuse_unused
from transferscope_papers.sources.scenes.labels import LABELS, ON_GRID, names
from transferscope_papers.sources.scenes.render import render
from transferscope_papers.sources.scenes.settings import SceneSettings
from transferscope_papers.sources.scenes.solids import SOLIDS

_PIXELS = 2**16  # images rendered at once, so that intermediate arrays fit in memory
_CHUNKS_KEPT = 320  # chunks of 20,480 images of 32 x 32 pixels, about 70 MB
_DEFAULT = SceneSettings()


def scenes(n: int, settings: SceneSettings = _DEFAULT, *, seed: int, start: int = 0) -> LabelledSet:
    """Return images of solids on a floor before a wall, with cast shadows, seen from a camera that moves.

    The i-th image of a seed does not depend on the number of images and calls, nor on the task.

    Args:
        n: Number of images, at least 1.
        seed: Seed of everything random, at least 0.
        start: Index of the first image, at least 0.

    Returns:
        uint8 images (n, C, size, size) with C = 1 or 3, and labels as `SceneSettings.task` says.

    Raises:
        SettingsError: `n` is below 1, or `start` or `seed` negative.

    Example:
        >>> ten = scenes(10, SceneSettings(kinds=("sphere", "cone"), size=16), seed=0)
        >>> ten.inputs.shape, ten.classes
        ((10, 3, 16, 16), ('sphere', 'cone'))
    """
    for name, value, least in (("n", n, 1), ("start", start, 0)):
        if value < least:
            raise out_of_range(name, value, f"at least {least}")
    alike = replace(settings, task="class")
    size = max(1, _PIXELS // settings.size**2)  # whole chunks start at its multiples, so that rounding is the same
    chunks = [_chunk(alike, size, seed, first) for first in range(start - start % size, start + n, size)]
    here = slice(start % size, start % size + n)
    images = np.concatenate([chunk[0] for chunk in chunks])[here]
    return LabelledSet(images, np.concatenate([chunk[1][settings.task] for chunk in chunks])[here], names(settings))


@lru_cache(maxsize=_CHUNKS_KEPT)
def _chunk(settings: SceneSettings, n: int, seed: int, start: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Render images with the labels of all tasks, cached since studies use several tasks of the same images."""
    made = render(n, settings, seed=seed, start=start)
    labels = LABELS if settings.size % settings.grid else {**LABELS, **ON_GRID}
    return made.images, {task: label(made, settings) for task, label in labels.items()}


def load_scenes(
    *, n_train: int = 10_000, n_test: int = 2_000, settings: SceneSettings = _DEFAULT, seed: int = 0
) -> Dataset:
    """Return a data set of rendered scenes; training and test images come from separate ranges of indices.

    Args:
        n_train: Number of training images, 1 to 2^40.
        n_test: Number of test images, at least 1; the same whatever `n_train`.
        seed: Seed of everything random, at least 0.

    Returns:
        The data set; its provenance names the settings and the seed.

    Raises:
        SettingsError: A number is out of its range.
    """
    return Dataset(
        name="scenes",
        train=scenes(n_train, settings, seed=seed),
        test=scenes(n_test, settings, seed=seed, start=TEST_START),
        provenance={"spec": "scenes", "settings": repr(settings), "seed": str(seed)},
    )


def read_scenes(spec: DataSpec, seed: int) -> Dataset:
    """Render the scenes of a data name, as in "scenes?task=kinds&appearance=several&size=16"."""
    kinds = spec.one("kinds")
    unused = "objects" in spec.options and spec.one("appearance") != "several"
    refuse_unused({"objects": unused}, "one solid is in an image but with appearance=several")
    own = {
        "task": spec.one("task"),
        "kinds": tuple(SOLIDS) if kinds == "all" else kinds and tuple(kind.strip() for kind in kinds.split(",")),
        "objects": spec.integer("objects"),
        "grid": spec.integer("grid"),
    }
    return read_rendered(spec, own, lambda chosen, n: load_scenes(**n, settings=SceneSettings(**chosen), seed=seed))


__all__ = ["SceneSettings", "load_scenes", "read_scenes", "scenes"]
