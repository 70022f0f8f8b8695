"""Images of several tiles: every tile shows the class in the source, only one in the target."""

from dataclasses import replace

import numpy as np

from transferscope.data import Dataset, DataSpec, LabelledSet, load
from transferscope.errors import SettingsError, unsupported


def tiles(spec: DataSpec, seed: int) -> Dataset:
    """Return images of K tiles: a semi-synthetic pair of tasks with natural images in every part.

    The K features of Theorem 1 of "Meta-learning Transferable Representations with a Single Target Domain" (Liu et al.
    2020) predict the source label equally well and the target label is the first of them; here each is an image. As a
    study file names them, source and target made of disjoint rows:

        "transferscope_papers.merlin2020.tiles:tiles?of=mnist&tiles=4&size=14&rows=0-40000"
        "transferscope_papers.merlin2020.tiles:tiles?of=mnist&tiles=4&size=14&rows=40000-60000&shown=1"

    Args:
        spec: Options: of (the name of a set of images with classes); tiles (K, at least 2); size (side of a tile
            in pixels; that of the images if not given); rows (FIRST-END, the training images that are used; all if not
            given); and shown (the only tile, from 1, that shows the class; every tile if not given).
        seed: Seed of all random draws.

    Returns:
        Equally many images of shape (C, size, K size), with their labels. The tile `shown`, or the
        first, is the image itself; every other tile is a random image of the same part: of the same class, or with
        `shown` of any class.

    Raises:
        SettingsError: An option is missing, unknown or out of range.
        DataError: The set has no images, or no classes.
    """
    spec.allow(("of", "tiles", "size", "rows", "shown"))
    of, n_tiles, shown = spec.one("of"), spec.integer("tiles") or 2, spec.integer("shown")
    if of is None:
        raise SettingsError(f"{spec.text!r} lacks the images of its tiles; add of=DATA, as in of=mnist")
    if n_tiles < 2 or (shown or 1) > n_tiles:
        raise SettingsError(
            f"{spec.text!r} has tiles={n_tiles} and shown={shown}; expected at least 2 tiles, and one of them"
        )
    size, rows = spec.integer("size"), spec.one("rows")
    dataset = load(of, transforms=[f"train-rows:{rows}"] * bool(rows) + [f"resize:{size}"] * bool(size), seed=seed)
    if dataset.train.kind != "classification" or not dataset.train.is_image:
        raise unsupported(
            "tiles",
            "images with one class each",
            f"{of} is {dataset.train.kind} of shape {dataset.train.input_shape}",
        )
    random = np.random.default_rng(seed)
    train, test = (_tiled(part, n_tiles, shown, random) for part in (dataset.train, dataset.test))
    return replace(dataset, name=f"{dataset.name} in {n_tiles} tiles", train=train, test=test)


def _tiled(part: LabelledSet, n_tiles: int, shown: int | None, random: np.random.Generator) -> LabelledSet:
    own = (shown or 1) - 1
    chosen = random.integers(len(part), size=(len(part), n_tiles))
    if shown is None:
        for label in np.unique(part.labels):
            same = np.flatnonzero(part.labels == label)
            chosen[same] = random.choice(same, size=(len(same), n_tiles))
    chosen[:, own] = np.arange(len(part))
    return replace(part, inputs=np.concatenate([part.inputs[column] for column in chosen.T], axis=-1))
