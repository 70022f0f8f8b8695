"""Transformations of whole data sets, named in a study file, for controlled similarity of source and target.

`apply_transforms(dataset, ["resize:28", "grey"], seed=0)`; `TRANSFORMS` lists them. `pixels` changes images; `labels`
changes labels or the choice of rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from transferscope.arguments import checks_arguments
from transferscope.data.counter_random import check_seed
from transferscope.data.task import Dataset
from transferscope.data.transforms.labels import label_noise, only_classes, relabel, train_rows
from transferscope.data.transforms.pixels import (
    colour,
    crop,
    grey,
    invert,
    mirror,
    pad,
    permuted,
    resize,
    short_side,
    upside_down,
)
from transferscope.errors import DataError, SettingsError, unknown_name


@dataclass(frozen=True, slots=True)
class Transform:
    """A transformation of a data set.

    Attributes:
        apply: Takes a data set, the text after the colon ("" for none) and a seed; returns a new data set.
        example: A valid argument; "" if it takes none.
        random: Whether it draws from the seed.
        of_labels: Whether it changes labels or the choice of rows, and no input.
        moves: Whether it moves the content of images, which separates it from labels on a grid.
    """

    apply: Callable[[Dataset, str, int], Dataset]
    example: str = ""
    random: bool = False
    of_labels: bool = False
    moves: bool = False


TRANSFORMS: dict[str, Transform] = {
    "resize": Transform(resize, "28"),
    "short-side": Transform(short_side, "28"),
    "crop": Transform(crop, "4", moves=True),
    "pad": Transform(pad, "32", moves=True),
    "grey": Transform(grey),
    "colour": Transform(colour),
    "upside-down": Transform(upside_down, moves=True),
    "mirror": Transform(mirror, moves=True),
    "invert": Transform(invert),
    "permuted": Transform(permuted, random=True, moves=True),
    "relabel": Transform(relabel, "brightness", of_labels=True),
    "label-noise": Transform(label_noise, "0.2", random=True, of_labels=True),
    "train-rows": Transform(train_rows, "0-3", of_labels=True),
    "classes": Transform(only_classes, "0-2", of_labels=True),
}


@checks_arguments
def apply_transforms(dataset: Dataset, names: Sequence[str], *, seed: int) -> Dataset:
    """Change a data set step by step, for controlled similarity of source and target.

    Args:
        names: Transforms in order, each "name" or "name:argument", as in ("resize:28", "grey").
        seed: Seed of the random ones; the same seed gives two data sets the same pixel permutation.

    Returns:
        The new data set, the same on every processor; its provenance lists what was done under "transforms".

    Raises:
        UnknownNameError: There is no such transform.
        SettingsError: An argument is missing, superfluous or wrong, or the seed negative.
        DataError: The data cannot be changed in this way.

    Example:
        >>> from transferscope.data.glyphs import load_glyphs
        >>> small = apply_transforms(load_glyphs(n_train=10, n_test=10), ["resize:16", "upside-down"], seed=0)
        >>> small.train.input_shape, small.provenance["transforms"]
        ((1, 16, 16), 'resize:16, upside-down')
    """
    check_seed(seed)
    check_transforms(names)
    for spec in names:
        name, _, argument = spec.partition(":")
        if TRANSFORMS[name].moves and dataset.train.grid is not None:
            raise DataError(
                f"transform {name!r} moves pixels but not the grid of labels of {dataset.name}; leave it out, or "
                "transform images and masks together beforehand"
            )
        dataset = TRANSFORMS[name].apply(dataset, argument, seed)
        done = f"{spec} (seed {seed})" if TRANSFORMS[name].random else spec
        before = dataset.provenance.get("transforms")
        provenance = {**dataset.provenance, "transforms": done if before is None else f"{before}, {done}"}
        dataset = replace(dataset, provenance=provenance)
    return dataset


def check_transforms(names: Sequence[str]) -> None:
    """Refuse transforms that do not exist (UnknownNameError) or are written wrongly (SettingsError)."""
    for spec in names:
        name, _, argument = spec.partition(":")
        if name not in TRANSFORMS:
            raise unknown_name("transform", name, TRANSFORMS)
        example = TRANSFORMS[name].example
        if example and not argument:
            raise SettingsError(f"transform {name!r} needs an argument, as in '{name}:{example}'")
        if argument and not example:
            raise SettingsError(f"transform {name!r} has the argument {argument!r}, but accepts none; leave it out")


__all__ = ["TRANSFORMS", "Transform", "apply_transforms", "check_transforms"]
