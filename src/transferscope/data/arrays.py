"""Conversion of users' arrays to the shapes and types of a LabelledSet."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float64, Num, Shaped

from transferscope.data.task import UNLABELLED, Kind, LabelledSet
from transferscope.errors import DataError, SettingsError, wrong_shape
from transferscope.wording import few

LARGEST_SIDE = 4096
"""Largest height or width of images, in pixels."""

ChannelAxis = Literal["first", "last"]
"""Images (N, C, H, W), or (N, H, W, C)."""

_MOST_CHANNELS = 4
_SOME = 64  # examples read to infer the kind of labels on a grid
_MANY_CLASSES = 20  # whole numbers above which labels are taken for classes only if each has ten examples
_EPOCHS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_EPOCH_RANGE = (6.3e8, 4.11e9)  # seconds since 1970: 1990 to 2100, unambiguous in any unit
_YEARS = (1800, 2100)
_NO_CHANCE = float(np.log(1e-6))
_REAL = "biuf"  # NumPy's kinds of real numbers, booleans among them


@dataclass(frozen=True)
class Parts:
    """A training and a test set that share their label space.

    Attributes:
        label_units: Offset and unit of numeric labels: label = offset + unit * stored; empty if stored unchanged.
        words: Notes on what was left out or converted, and on the choice of the test set; may be empty.
        about: Further provenance, by key.
    """

    train: LabelledSet
    test: LabelledSet
    label_units: tuple[tuple[float, float], ...] = field(default=(), kw_only=True)
    words: str = field(default="", kw_only=True)
    about: Mapping[str, str] = field(default_factory=dict, kw_only=True)


def to_parts(
    inputs: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    *,
    name: str,
    kind: Kind | None = None,
    label_names: Sequence[str] | None = None,
    channels: ChannelAxis | None = None,
) -> Parts:
    """Convert a training and a test part to the common form of data.

    Args:
        inputs: Inputs of both parts: shape (N, D), (N, H, W), (N, H, W, C) or (N, C, H, W); numbers of any type.
        labels: Labels of both parts: shape (N,) or (N, n_outputs); numbers of any type, or text. Booleans (N, n_labels)
            are several labels of each input. On a grid over each image, whole numbers (N, h, w) are masks of classes,
            and floating-point numbers (N, h, w) or (N, n_outputs, h, w) a dense regression.
        name: Name of the data in messages.
        kind: Kind of the labels; None to infer it: floating-point labels are a regression, several columns of booleans
            or of integers 0 and 1 several labels of each input, others classes; ambiguous labels are refused.
        label_names: Names of several labels, in the order of their columns; None for "1", "2", ... For masks, the names
            of the classes 0, 1, ...; None for the numbers in the training masks.
        channels: Axis of the channels of images; None to infer it where it is unambiguous.

    Returns:
        Both parts. Classes are the distinct training labels, sorted, and named by their text; regression targets are in
        the units of `label_units`.

    Raises:
        DataError: Inputs or labels have an unsupported shape, type or range; a test label does not occur in training;
            there is only one column of several labels, or a label that all or no training examples have; or two classes
            differ only by spaces or capital letters.
    """
    if kind is None:
        kind = _kind_of(labels[0], name=name)
    check_spellings(label_names or (), f"{name}: the labels", "labels")
    kinds = [part.dtype.kind.replace("u", "i") for part in inputs]
    if inputs[0].ndim > 2 and kinds[0] != kinds[1]:  # white is True, 255 or 1.0
        raise DataError(
            f"{name}: training images have type {inputs[0].dtype} but test images {inputs[1].dtype}; save both as one "
            "type"
        )
    inputs = [to_inputs(part, name=name, channels=channels) for part in inputs]
    classes: tuple[str, ...] | None = None
    if kind == "regression":
        labels = [_to_targets(part, name=name) for part in labels]
    elif kind == "dense regression":
        maps = (part[:, None] if part.ndim == 3 else part for part in labels)
        labels = [to_float32(part, name=name, what="labels") for part in maps]
    elif kind == "segmentation":
        labels = [_to_masks(part, name=name) for part in labels]
        known = np.unique(labels[0][labels[0] != UNLABELLED])
        values = known if label_names is None else np.arange(len(label_names))
        codes = [_to_class_labels(mask[mask != UNLABELLED], values, name=name) for mask in labels]
        for mask, places in zip(labels, codes, strict=True):
            mask[mask != UNLABELLED] = places
        classes = tuple(map(str, values if label_names is None else label_names))
    elif kind == "multi-label":
        labels = [_to_flags(part, name=name) for part in labels]
        classes = tuple(label_names or map(str, range(1, labels[0].shape[1] + 1)))
    else:
        labels = _comparable_labels(labels[0], labels[1], name=name)
        values = np.unique(labels[0])
        check_spellings(values.tolist(), f"{name}: the labels", "classes")
        labels = [_to_class_labels(part, values, name=name) for part in labels]
        classes = tuple(str(value) for value in values)
    parts = Parts(
        _labelled(inputs[0], labels[0], classes, what=f"{name}, training part"),
        _labelled(inputs[1], labels[1], classes, what=f"{name}, test part"),
    )
    if kind == "multi-label":
        _check_labels(parts.train.labels, classes or (), name)
    if kind != "regression":
        return parts
    units = label_units(parts.train.labels)
    offset, unit = np.transpose(units) if units else (0.0, 1.0)
    counted = (
        replace(part, labels=((part.labels - offset) / unit).astype(np.float32)) for part in (parts.train, parts.test)
    )
    return Parts(*counted, label_units=units)


def read_apart(
    inputs: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    *,
    name: str,
    kind: Kind | None,
    label_names: Sequence[str] | None,
) -> Parts:
    """Return a training and a test part whose inputs have the form of `LabelledSet`, such as tokens."""
    none = [np.zeros((len(part), 1)) for part in labels]
    parts = to_parts(none, labels, name=name, kind=kind, label_names=label_names)
    own, other = (replace(part, inputs=one) for part, one in zip((parts.train, parts.test), inputs, strict=True))
    return replace(parts, train=own, test=other)


@np.errstate(invalid="ignore")  # infinite labels are refused by the caller
def kind_of_numbers(labels: Num[np.ndarray, " N"], *, what: str, how: str) -> Kind:
    """Return the kind of one number per input: floating-point numbers for regression, integers for classes.

    Raises:
        DataError: They are ambiguous: repeated integers in floating point, or many different integers.
    """
    values = np.unique(labels)
    n, floating = len(values), np.issubdtype(labels.dtype, np.floating)
    if floating:
        few = n <= _MANY_CLASSES and 2 * n <= len(labels)
        if n and (values % 1 == 0).all() and (few or np.isin(values, (0, 1)).all()):
            shown = "only 0 and 1" if np.isin(values, (0, 1)).all() else f"only {n} different whole numbers"
            raise DataError(
                f"{what} is floating point with {shown}, which could be classes or a number to predict; {how}"
            )
        return "regression"
    counted = n > 0 and values[0] in (0, 1) and values[-1] - values[0] == n - 1
    if n > _MANY_CLASSES and len(labels) < 10 * n and not counted:
        raise DataError(
            f"{what} has {n} different whole numbers in {len(labels)} rows, which could be classes or a number to "
            f"predict; {how}"
        )
    return "classification"


@np.errstate(invalid="ignore")
def _kind_of(labels: np.ndarray, *, name: str) -> Kind:
    """Infer the kind of labels; raises DataError if it is ambiguous."""
    if labels.ndim in (3, 4) and labels.dtype.kind in _REAL and 0 not in labels.shape:
        if not np.issubdtype(labels.dtype, np.floating):
            return "segmentation"
        some = labels[:_SOME]
        if (some % 1 == 0).all() and len(np.unique(some)) <= _MANY_CLASSES:
            raise DataError(
                f"{name}: labels of shape {labels.shape} are whole numbers in floating point, which could be masks of "
                "classes or numbers to predict; save masks (N, h, w) as integers, or give kind=regression"
            )
        return "dense regression"
    several = labels.ndim == 2 and labels.shape[1] > 1
    if not several:
        if labels.ndim == 0 or labels.dtype.kind not in "iuf" or not np.isfinite(labels).all():
            return "regression" if labels.dtype.kind == "f" else "classification"
        return kind_of_numbers(
            labels.reshape(-1), what=f"{name}: the label", how="say which with kind=, as in npz:FILE?kind=regression"
        )
    real = labels.dtype.kind in _REAL and labels.size > 0
    if not real or not np.isin(labels, (0, 1)).all() or not labels.any():
        return "regression" if labels.dtype.kind == "f" else "classification"
    if (labels.sum(axis=1) == 1).all():
        raise DataError(f"{name}: the labels are one-hot over {labels.shape[1]} columns; save the class numbers")
    if np.issubdtype(labels.dtype, np.floating):
        raise DataError(
            f"{name}: the labels are {labels.shape[1]} columns of 0 and 1 in floating point, which could be several "
            "labels or numbers to predict; save several labels as booleans, or give kind=regression"
        )
    return "multi-label"


def _to_masks(labels: np.ndarray, *, name: str) -> np.ndarray:
    """Convert masks (N, h, w) to int64."""
    if labels.ndim != 3 or labels.dtype.kind not in "bui" or labels.min() < UNLABELLED:
        raise DataError(
            f"{name}: labels of shape {labels.shape} and type {labels.dtype} start at {labels.min()}; expected masks "
            f"(N, h, w) of integers from 0, with {UNLABELLED} for unlabelled, or floating-point numbers (N, "
            "n_outputs, h, w) for regression"
        )
    return labels.astype(np.int64)


def _to_flags(labels: np.ndarray, *, name: str) -> Bool[np.ndarray, "N K"]:
    if labels.ndim != 2 or labels.dtype.kind not in _REAL or not np.isin(labels, (0, 1)).all():
        raise wrong_shape(f"{name}: several labels of each input", labels, "0 and 1 or booleans, (N, n_labels)")
    return labels.astype(np.bool_)


def to_inputs(
    array: Shaped[np.ndarray, "N ..."], *, name: str, channels: ChannelAxis | None = None
) -> Num[np.ndarray, "N ..."]:
    """Convert images to (N, C, H, W), uint8 or float32 in [0, 1], and vectors to float32 (N, D).

    Args:
        array: Shape (N, D), (N, H, W), (N, H, W, C) or (N, C, H, W). With more than 4 channels, images must be square
            and have fewer channels than pixels on a side, so that the axes are unambiguous, unless `channels` is given.
        channels: Axis of the channels of images; None to infer it where it is unambiguous.

    Returns:
        The inputs; the same memory if unchanged.

    Raises:
        DataError: The shape or range matches neither images nor vectors.
    """
    if array.dtype.kind not in _REAL:
        raise wrong_shape(f"{name}: inputs", array, "numbers")
    if array.ndim == 2:
        return to_float32(array, name=name, what="inputs")
    if array.ndim == 3:
        return _to_pixels(array[:, None], name=name)
    if array.ndim != 4:
        expected = "vectors (N, D), grey images (N, H, W), or colour images (N, H, W, C) or (N, C, H, W)"
        raise wrong_shape(f"{name}: inputs", array, expected)
    _, one, two, three = array.shape
    if channels is not None:
        return _to_pixels(array if channels == "first" else array.transpose(0, 3, 1, 2), name=name)
    first, last = one <= _MOST_CHANNELS, three <= _MOST_CHANNELS
    if not first and not last:
        first, last = one < two == three, three < one == two
    if first == last:
        raise DataError(
            f"{name}: inputs have shape {array.shape}, and it is unclear which axis is the channels; expected at most "
            f"{_MOST_CHANNELS} channels, as (N, C, H, W) or (N, H, W, C): for a file, add ?channels=first or "
            "?channels=last"
        )
    return _to_pixels(array if first else array.transpose(0, 3, 1, 2), name=name)


def _to_targets(labels: np.ndarray, *, name: str) -> Float64[np.ndarray, "N K"]:
    """Return numbers (N,) or (N, n_outputs) as float64 (N, n_outputs), within the range of float32."""
    if labels.ndim not in (1, 2) or labels.dtype.kind not in _REAL:
        raise wrong_shape(f"{name}: regression labels", labels, "numbers (N,) or (N, n_outputs)")
    numbers = labels.reshape(len(labels), -1)
    to_float32(numbers, name=name, what="labels")
    return numbers.astype(np.float64)


def label_units(labels: Float64[np.ndarray, "N K"]) -> tuple[tuple[float, float], ...]:
    """Round offsets and units in which numeric labels are within some 10 units of 0, as training takes them.

    A unit is a power of ten, and an offset an integer number of units, as a person who knows the quantity would choose
    (prices in thousands), so almost no information on labels beyond a study's budget is used.

    Args:
        labels: Labels of the training examples, finite.

    Returns:
        (offset, unit) of each column; empty if all columns have an absolute mean of at most 10 and a standard deviation
        of 0.1 to 10, or are constant up to rounding. A constant column has the unit of its size if that is above 10,
        else 1.
    """
    mean, std = labels.mean(axis=0), labels.std(axis=0)
    size, same = np.abs(mean), std <= np.abs(mean) * 2.0**-44
    if ((size <= 10) & ((std <= 10) & (std >= 0.1) | same)).all():
        return ()
    spread = np.where(same, np.where(size > 10, size, 1.0), std)
    unit = 10.0 ** np.round(np.log10(spread))
    offset = np.where(np.abs(mean) > 2 * unit, np.round(mean / unit) * unit, 0.0)
    return tuple((float(o), float(u)) for o, u in zip(offset, unit, strict=True))


def lost_in_float32(numbers: Float64[np.ndarray, "N ..."]) -> Bool[np.ndarray, "..."]:
    """Return which features of finite examples (N, ...) float32 cannot distinguish, such as times.

    This is where rounding changes an example by more than 1/256 of the standard deviation, for numbers some 65,000
    standard deviations from 0. Numbers with relative differences below 2^-44 count as constant.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.std(numbers, axis=0)
        size = np.maximum(numbers.max(axis=0), -numbers.min(axis=0))
        if (size * 2.0**-24 + 2.0**-149 <= spread / 256).all():  # the most by which rounding moves a number
            return np.zeros(numbers.shape[1:], dtype=np.bool_)
        moved = np.abs(numbers.astype(np.float32) - numbers).max(axis=0)
        return np.asarray(np.isfinite(moved) & (moved > spread / 256) & (spread > size * 2.0**-44), dtype=np.bool_)


def _comparable_labels(train: np.ndarray, test: np.ndarray, *, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return class labels of both parts as columns that NumPy compares exactly: as text if one is text."""
    first, second = (_label_column(labels, name=name) for labels in (train, test))
    kinds = {first.dtype.kind, second.dtype.kind}
    if kinds <= set(_REAL):
        common = np.result_type(first, second)
        for column in (first, second):
            if not np.array_equal(column.astype(common).astype(column.dtype), column):
                raise DataError(
                    f"{name}: training labels of type {first.dtype} cannot be compared with test labels of type "
                    f"{second.dtype}; save both as one type, or as text"
                )
    elif len(kinds) > 1:
        return first.astype(np.str_), second.astype(np.str_)
    return first, second


def epoch_unit(numbers: Num[np.ndarray, " N"]) -> set[str]:
    """Return the units in which integers could be times since 1970; empty if one of them is outside 1990 to 2100."""
    low, high = _EPOCH_RANGE
    if not len(numbers) or numbers.min() < low or (np.floor(numbers) != numbers).any():
        return set()
    within = {unit: (numbers >= low * times) & (numbers < high * times) for unit, times in _EPOCHS.items()}
    if not np.any(list(within.values()), axis=0).all():
        return set()
    return {unit for unit, here in within.items() if here.any()}


def counts_rows(numbers: Num[np.ndarray, " N"]) -> bool:
    """Return whether numbers are row numbers: integers in equal steps, each once, in any order, some perhaps missing.

    n integers drawn from a range of m all differ with probability prod (1 - i / m) over i = 0 ... n - 1, and
    measurements repeat more often. Below one in a million they count as row numbers. Years and times since 1970 do not.
    """
    if len(numbers) < 2 or not np.isfinite(numbers).all() or (np.floor(numbers) != numbers).any():
        return False
    values = np.unique(numbers)
    low, high = float(values[0]), float(values[-1])
    if len(values) < len(numbers) or (low >= _YEARS[0] and high <= _YEARS[1]) or high - low >= 2**53:
        return False
    step = int(np.gcd.reduce(np.diff(values).astype(np.int64)))
    n_possible = (high - low) / step + 1
    chance = float(np.log1p(-np.arange(len(values)) / n_possible).sum())
    return chance < _NO_CHANCE and not epoch_unit(values)


def check_spellings(names: Iterable[object], where: str, what: str) -> None:
    """Refuse names that differ by spaces or, of two letters or more, by capital letters alone.

    Args:
        names: Names of classes, arms, tasks or columns; values other than text are ignored.

    Raises:
        DataError: There are two.
    """
    known: dict[str, str] = {}
    for name in sorted({one for one in names if isinstance(one, str)}):
        stripped = " ".join(name.split())
        other = known.setdefault(stripped.casefold() if len(stripped) > 1 else stripped, name)
        if other != name:
            how = "spaces" if " ".join(other.split()) == stripped else "capital letters"
            raise DataError(
                f"{where} contain both {other!r} and {name!r}, which differ only by {how}; write the {what} in one way"
            )


def _to_class_labels(labels: np.ndarray, values: np.ndarray, *, name: str) -> Num[np.ndarray, " N"]:
    """Convert labels (N,) to int64 indices into the sorted class values; raises DataError for other labels."""
    places = np.minimum(np.searchsorted(values, labels), len(values) - 1)
    if (strange := values[places] != labels).any():
        raise DataError(
            f"{name}: the test label {str(np.unique(labels[strange])[0])!r} is not among the training labels "
            f"{few(values.tolist(), 10)}; add training examples of it, or drop its test examples"
        )
    return places.astype(np.int64, copy=False)


def _check_labels(train: Bool[np.ndarray, "N K"], names: Sequence[str], what: str) -> None:
    if len(names) < 2:
        raise DataError(
            f"{what} has one label, {''.join(names)!r}; several labels need at least two: add some, or leave out "
            "kind=multi-label"
        )
    for name, n in zip(names, train.sum(axis=0), strict=True):
        if n in (0, len(train)):
            raise DataError(
                f"{what}: {'no' if n == 0 else 'every'} training example has the label {name!r}, so it cannot be "
                "learnt; leave it out"
            )


def check_side(side: int, what: str) -> None:
    """Refuse, with a SettingsError, a side of images beyond 1 to `LARGEST_SIDE`, before it takes up all memory."""
    if not 1 <= side <= LARGEST_SIDE:
        raise SettingsError(f"{what} has images of {side} pixels a side; expected 1 to {LARGEST_SIDE}")


def _label_column(labels: np.ndarray, *, name: str) -> np.ndarray:
    """Return the class labels (N,) or (N, 1) as a column (N,) of numbers, text or dates; bytes are text in UTF-8."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        expected = "one label for each input (N,), or floating-point numbers (N, n_outputs) for regression"
        raise wrong_shape(f"{name}: class labels", labels, expected)
    if labels.dtype.kind == "S":
        try:
            return np.char.decode(labels, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: class labels are not UTF-8 text; save them as text") from error
    if labels.dtype.kind not in _REAL + "UMO":
        raise wrong_shape(f"{name}: class labels", labels, "whole numbers or text")
    if n_missing := int((labels != labels).sum()):  # NaN or NaT
        raise DataError(f"{name}: {n_missing} of {len(labels)} class labels are NaN; drop those examples")
    return labels


def _labelled(inputs: np.ndarray, labels: np.ndarray, classes: tuple[str, ...] | None, *, what: str) -> LabelledSet:
    try:
        return LabelledSet(inputs, labels, classes)
    except DataError as error:
        raise DataError(f"{what}: {error}") from error


def to_float32(numbers: np.ndarray, *, name: str, what: str) -> np.ndarray:
    """Return numbers as float32.

    Raises:
        DataError: A number is beyond the range of float32.
    """
    if numbers.dtype == np.float32:
        return numbers
    with np.errstate(over="ignore"):
        values = numbers.astype(np.float32)
    if not np.isfinite(values).all() and np.isfinite(numbers).all():
        raise DataError(
            f"{name}: {what} run from {numbers.min():.3g} to {numbers.max():.3g}, too large for 32 bits (3.4e38); "
            "give them in another unit"
        )
    return values


def _to_pixels(images: np.ndarray, *, name: str) -> np.ndarray:
    """Convert integers in 0..255 to uint8, and floating-point numbers in [0, 1] to float32."""
    if images.dtype == np.uint8 or images.size == 0:
        return np.ascontiguousarray(images)
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    low, high = images.min(), images.max()
    floating = np.issubdtype(images.dtype, np.floating)
    if floating and not np.isfinite([low, high]).all():
        return np.ascontiguousarray(images, dtype=np.float32)  # LabelledSet refuses it and names the examples
    if low < 0 or high > (1 if floating else 255):
        expected = "floating-point pixels in [0, 1]" if floating else "whole pixels in 0..255"
        raise DataError(f"{name}: pixels of type {images.dtype} run from {low} to {high}; expected {expected}")
    return np.ascontiguousarray(images, dtype=np.float32 if floating else np.uint8)
