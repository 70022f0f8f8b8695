"""Changes that leave inputs as they are: other labels, or fewer training examples."""

import re
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms.pixels import Images, check_images
from transferscope.errors import DataError, SettingsError, unknown_name, unsupported

_CHUNK = 4096


def relabel(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Replace labels by classes of brightness or redness, as many as before.

    "relabel:brightness" goes by the mean of all pixels, "relabel:colour" by mean red minus mean blue. The classes are
    quantiles of the training images, so that they have equal sizes there. Inputs are unchanged, and the new task is
    unrelated to the old one (Liu et al. 2019, section 5.1, relabel images by their colour).

    Returns:
        The data set with new labels and class names such as "brightness 1 of 10".

    Raises:
        DataError: The inputs are not images, have no colour, or hardly differ; or the labels are numbers.
        UnknownNameError: The argument is neither "brightness" nor "colour".
    """
    if argument not in _MEASURES:
        raise unknown_name("argument of relabel", argument, _MEASURES)
    check_images(dataset)
    n_classes = len(_several_classes(dataset, "relabel"))
    measure = _MEASURES[argument]
    train, test = measure(dataset.train.inputs), measure(dataset.test.inputs)
    thresholds = np.quantile(train, np.arange(1, n_classes) / n_classes)
    if len(np.unique(thresholds)) < n_classes - 1:
        raise DataError(
            f"{dataset.name} cannot be divided into {n_classes} classes by {argument}: too many images have equal "
            "values; use fewer"
        )
    classes = tuple(f"{argument} {index} of {n_classes}" for index in range(1, n_classes + 1))
    return replace(
        dataset,
        train=_labelled(dataset.train, np.searchsorted(thresholds, train, side="right"), classes),
        test=_labelled(dataset.test, np.searchsorted(thresholds, test, side="right"), classes),
    )


def label_noise(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Replace a share of the training labels by wrong ones ("label-noise:0.2"); test labels stay correct.

    The examples are drawn at random, and each gets one of the other classes, all equally likely.

    Args:
        argument: The share, in [0, 1]; rounded to a whole number of examples.

    Raises:
        DataError: The labels are numbers, or there is only one class.
        SettingsError: The argument is not a share.
    """
    try:
        share = float(argument)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SettingsError(
            f"label-noise has the argument {argument!r}, which is invalid; expected a share from 0 to 1, as in "
            "'label-noise:0.2'"
        )
    n_classes = len(_several_classes(dataset, "label-noise"))
    random = np.random.default_rng(seed)
    n_wrong = round(share * len(dataset.train))
    wrong = random.permutation(len(dataset.train))[:n_wrong]
    labels = dataset.train.labels.copy()
    labels[wrong] = (labels[wrong] + random.integers(1, n_classes, size=n_wrong)) % n_classes
    return replace(dataset, train=replace(dataset.train, labels=labels))


def brightness(images: Images) -> Float[np.ndarray, " N"]:
    """Return the mean over all pixels and channels of each image (N, C, H, W), in its own unit."""
    return np.concatenate(
        [
            images[start : start + _CHUNK].mean(axis=(1, 2, 3), dtype=np.float64)
            for start in range(0, len(images), _CHUNK)
        ]
    )


def redness(images: Images) -> Float[np.ndarray, " N"]:
    """Return mean red minus mean blue of each image (N, 3, H, W), in its own unit; a DataError without three
    channels."""
    if images.shape[1] != 3:
        raise DataError(f"relabel:colour needs 3 channels, but images have {images.shape[1]}; use relabel:brightness")
    red, blue = images[:, :1], images[:, 2:]
    return np.asarray(brightness(red) - brightness(blue))


_MEASURES = {"brightness": brightness, "colour": redness}


def _labelled(data: LabelledSet, labels: Shaped[np.ndarray, " N"], classes: tuple[str, ...]) -> LabelledSet:
    return replace(data, labels=labels.astype(np.int64), classes=classes)


def single_classes(dataset: Dataset, name: str) -> tuple[str, ...]:
    """Return the names of the classes; raises DataError unless inputs have one class each."""
    classes = dataset.train.classes
    if classes is None:
        raise unsupported(name, "classes", f"the labels of {dataset.name} are numbers")
    if dataset.train.kind == "multi-label":
        raise unsupported(name, "one class per input", f"{dataset.name} has several labels")
    if dataset.train.grid is not None:
        raise unsupported(name, "one class per image", f"{dataset.name} has a grid of labels")
    return classes


def _several_classes(dataset: Dataset, name: str) -> tuple[str, ...]:
    classes = single_classes(dataset, name)
    if len(classes) < 2:
        raise unsupported(name, "at least 2 classes", f"{dataset.name} has one")
    return classes


def train_rows(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Keep a range of the training examples in their original order, so that two sets can be disjoint parts of one.

    "train-rows:0-500" keeps the first 500; "train-rows:500-2000" continues from there. The test set is unchanged.

    Raises:
        SettingsError: The argument is not such a range.
        DataError: There are fewer training examples than END.
    """
    match = re.fullmatch(r"(\d+)-(\d+)", argument)
    if match is None or int(match[1]) >= int(match[2]):
        raise SettingsError(f"train-rows has the argument {argument!r}; expected FIRST-END, as in 'train-rows:0-500'")
    first, end = int(match[1]), int(match[2])
    if end > len(dataset.train):
        raise DataError(
            f"train-rows:{argument} is out of range; expected END of at most {len(dataset.train)}, the training "
            f"examples of {dataset.name}"
        )
    return replace(dataset, train=dataset.train.take(np.arange(first, end)))


def only_classes(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Keep the examples of some classes, so that two sets can be different classes of one.

    "classes:0-5" keeps the first five, in the order of the data set's classes; "classes:cat+dog" keeps those with these
    names. Classes and examples keep their order.

    Raises:
        DataError: There are no such classes, fewer than two, or one without a training or a test example; or the labels
            are not classes.
    """
    classes = _several_classes(dataset, "classes")
    match = None if argument in classes else re.fullmatch(r"(\d+)-(\d+)", argument)
    names = classes[int(match[1]) : int(match[2])] if match else tuple(dict.fromkeys(argument.split("+")))
    missing = [name for name in names if name not in classes]
    if missing or len(names) < 2 or (match and int(match[2]) > len(classes)):
        raise DataError(
            f"classes has the argument {argument!r}; expected two or more of the {len(classes)} classes of "
            f"{dataset.name}, as in 'classes:0-{max(2, len(classes) // 2)}' or 'classes:{classes[0]}+{classes[1]}'"
        )
    kept = [index for index, name in enumerate(classes) if name in names]
    parts = []
    for part, what in ((dataset.train, "training"), (dataset.test, "test")):
        rows = np.flatnonzero(np.isin(part.labels, kept))
        labels = np.searchsorted(kept, part.labels[rows])
        for index, count in zip(kept, np.bincount(labels, minlength=len(kept)), strict=True):
            if not count:
                raise DataError(f"class {classes[index]!r} of {dataset.name} has no {what} example; leave it out")
        parts.append(_labelled(part.take(rows), labels, tuple(classes[index] for index in kept)))
    return replace(dataset, train=parts[0], test=parts[1])
