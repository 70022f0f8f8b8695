"""A user's arrays: an .npz file with x_train, y_train, x_test and y_test, or x and y, and label_names for several."""

import io
import json
import lzma
import math
import struct
import zlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd

from transferscope.data.apart import Apart, read_apart_by
from transferscope.data.arrays import ChannelAxis, Parts, counts_rows, epoch_unit, lost_in_float32, to_parts
from transferscope.data.places import check_bytes
from transferscope.data.split_names import split_names
from transferscope.data.splits import rows_of_parts
from transferscope.data.task import Kind
from transferscope.errors import CorruptDataError, DataError, wrong_shape
from transferscope.files import require_regular
from transferscope.wording import few, listed

KEYS = ("x_train", "y_train", "x_test", "y_test")
WHOLE = ("x", "y")
"""Arrays of a file without a test part; a share becomes the test set."""
LABEL_NAMES = "label_names"

LEFT_OUT = "left_out"
"""Key of the provenance under which features of vectors that count the rows are listed, as JSON."""

_SOME = 64  # rows tried first, which excludes most features as row numbers
_LONGEST_HEADER = 10_000  # bytes; as in NumPy


def load_npz(
    path: Path,
    *,
    channels: ChannelAxis | None = None,
    kind: Kind | None = None,
    keep: Collection[int] = (),
    test_share: float | None = None,
    group: str | None = None,
    time: str | None = None,
    seed: int = 0,
) -> Parts:
    """Read a training and a test set from an .npz file, without unpickling anything.

    Args:
        path: A file with the arrays `x_train`, `y_train`, `x_test` and `y_test`, or with other names of the parts, as
            `x_val` (see `split_names`); or with `x` and `y` alone. Inputs are grey images (N, H, W), colour images (N,
            H, W, C) or (N, C, H, W), or vectors (N, D); labels are integers or text (N,) for classes, floating-point
            numbers (N,) or (N, n_outputs) for regression, booleans (N, n_labels) for several labels of each input, with
            optional names in `label_names` (n_labels,). On a grid over each image, integers (N, h, w) are masks of
            classes (-1 for cells without a label), with optional names in `label_names`
            (n_classes,), and floating-point numbers (N, h, w) or (N, n_outputs, h, w) a regression.
        channels: Axis of the channels of images; None to infer it where it is unambiguous.
        kind: Kind of the labels, on a grid "regression" for a dense one; None to infer it from type and shape.
        keep: Features of vectors, from 0, to keep although they number the rows.
        test_share: Share of `x` and `y` for a seeded, stratified test set; None for .2.
        group: Name of the array of groups, such as "patient" for `x`, or for "patient_train" and "patient_test"; `time`
            likewise for numbers. See `TableSettings`.
        seed: Seed of that split.

    Returns:
        Both parts; features left out as row numbers are listed in `words` and `about`.

    Raises:
        CorruptDataError: The file is not an .npz file, or is damaged.
        DataError: It is not a regular file; its arrays are larger than `places.most_bytes`; or an array is missing, has
        objects, or an unsupported shape or type.
    """
    marks = [one for one in (group, time) if one is not None]
    arrays, note = _read_arrays(path, beside=marks)
    of_inputs = [key for key in arrays if key[0] == "x" and f"y{key[1:]}" in arrays]
    for key in of_inputs:
        inputs, labels = arrays[key], arrays[f"y{key[1:]}"]
        if inputs.ndim == 0 or labels.ndim == 0 or len(inputs) != len(labels):
            raise DataError(
                f"{path}: {key} has shape {inputs.shape} and y{key[1:]} {labels.shape}; expected one label per input"
            )
        if len(inputs) == 0:
            raise DataError(f"{path}: {key} has shape {inputs.shape}; expected at least one example")
    x, y = ([arrays[f"{array}{key[1:]}"] for key in of_inputs] for array in "xy")
    if len(x) == 2 and test_share is not None:
        raise DataError(f"{path} has a test part, {of_inputs[1]}, and test_share is given; leave one out")
    names = None
    if LABEL_NAMES in arrays:
        held, labels = arrays[LABEL_NAMES], y[0]
        of_masks = labels.ndim == 3 and held.ndim == 1 and labels.dtype.kind in "bui"
        if held.dtype.kind != "U" or not (of_masks or held.shape == labels.shape[1:]):
            raise wrong_shape(
                f"{path}: {LABEL_NAMES}",
                held,
                f"one text per column of labels or class of masks; the labels have shape {labels.shape}",
            )
        names = [str(name) for name in held]
    columns = {mark: [arrays[f"{mark}{one[1:]}"] for one in of_inputs] for mark in marks}
    for mark, values in columns.items():
        for one, labels in zip(values, y, strict=True):
            if one.shape != (len(labels),):
                raise wrong_shape(f"{path}: array {mark!r}", one, f"one value per example, ({len(labels)},)")
    table = pd.DataFrame({mark: np.concatenate(values) for mark, values in columns.items()})
    apart = read_apart_by(table, group, time, str(path))
    if len(x) == 1:
        *rows, left_out = _drawn(
            y[0],
            test_share,
            name=str(path),
            kind=kind,
            label_names=names,
            seed=seed,
            apart=apart,
        )
        apart = apart.take(np.concatenate(rows))
        how = f"the latest by {time!r}" if time else "drawn by seed"
        note = f"{len(rows[1])} of {len(y[0])} examples, {how}, are the test set{'; ' if left_out else ''}{left_out}"
        x, y = ([arrays[key][part] for part in rows] for key in WHOLE)
    about: dict[str, str] = {}
    if x[0].ndim == 2 and x[0].dtype.kind in "iuf" and x[1].shape[1:] == x[0].shape[1:]:
        counting = [k for k in _row_numbers(*x) if k not in keep]
        if counting and len(counting) == x[0].shape[1]:
            raise DataError(
                f"{path}: all features of x_train are row numbers; add others, or give keep=0 for feature 0"
            )
        if counting:
            x = [np.delete(part, counting, axis=1) for part in x]
            said = f"feature {listed(list(map(str, counting)))} (the first is 0) counts the rows and is left out"
            note = "; ".join(filter(None, (note, f"{said}; keep={counting[0]} keeps it")))
            about = {LEFT_OUT: json.dumps(counting)}
    if x[0].ndim == 2 and x[0].dtype.kind in "iuf" and x[0].dtype != np.float32:
        _check_digits(x[0], path)
        _check_epochs(x[0], x[1], path)
    if kind == "regression" and y[0].ndim > 2:
        kind = "dense regression"
    parts = to_parts(x, y, name=str(path), kind=kind, label_names=names, channels=channels)
    return apart.kept(replace(parts, words=note, about=about))


def _drawn(
    labels: np.ndarray,
    share: float | None,
    *,
    name: str,
    kind: Kind | None,
    label_names: list[str] | None,
    seed: int,
    apart: Apart,
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the rows of the training part and of a drawn test part, ignoring labels on a grid."""
    if labels.ndim > 2:
        labels, kind, label_names = np.zeros(len(labels)), "regression", None
    return rows_of_parts(labels, share, name=name, kind=kind, label_names=label_names, seed=seed, apart=apart)


def _row_numbers(train: np.ndarray, test: np.ndarray) -> list[int]:
    """Return the features of vectors that are row numbers of the training rows, or of all rows."""
    some = np.sort(train[:_SOME], axis=0)
    candidates = np.flatnonzero(((some % 1 == 0).all(axis=0)) & (np.diff(some, axis=0) > 0).all(axis=0))
    both = (np.concatenate([train[:, k], test[:, k]]).astype(np.float64) for k in candidates)
    counting = (counts_rows(one) or counts_rows(one[: len(train)]) for one in both)
    return [int(k) for k, is_counting in zip(candidates, counting, strict=True) if is_counting]


def _check_digits(inputs: np.ndarray, path: Path) -> None:
    """Refuse vectors with a feature so far from 0 that float32 loses nearly all of its variation."""
    for feature, column in enumerate(inputs.T):
        numbers = column.astype(np.float64)
        if np.isfinite(numbers).all() and lost_in_float32(numbers):
            raise DataError(
                f"{path}: feature {feature} of x_train (counted from 0) runs from {numbers.min():.15g} to "
                f"{numbers.max():.15g}, too far from 0 to distinguish examples in 32 bits; subtract one number, such "
                f"as {np.median(numbers):.15g}, from it in x_train and x_test"
            )


def _check_epochs(train: np.ndarray, test: np.ndarray, path: Path) -> None:
    """Refuse a feature of times since 1970 that are counted in several units."""
    for feature, column in enumerate(train.T if train.shape[1:] == test.shape[1:] else ()):
        units = sorted(epoch_unit(column) and epoch_unit(np.concatenate([column, test[:, feature]])))
        if len(units) > 1:
            raise DataError(
                f"{path}: feature {feature} (counted from 0) holds times since 1970 in {' and in '.join(units)}; save "
                "them in one unit"
            )


def read_array(path: Path, names: Sequence[str]) -> np.ndarray:
    """Return the first of these arrays in an .npz file, without unpickling.

    Raises:
        CorruptDataError: The file is not an .npz file, or is damaged.
        DataError: It has none of them, or the array holds objects or is larger than `places.most_bytes`.
    """
    (array,) = _read_arrays(path, first_of=names)[0].values()
    return array


def _read_arrays(
    path: Path, *, first_of: Sequence[str] = (), beside: Collection[str] = ()
) -> tuple[dict[str, np.ndarray], str]:
    """Return the first of some arrays, or both parts with the names of labels if present; and a note."""
    require_regular(path, "an .npz file")
    note, keys = "", list(first_of or KEYS)
    try:
        with path.open("rb") as stream, _open(stream, path) as archive:
            if first_of:
                keys = [key for key in keys if key in archive][:1] or keys
            else:
                parts = {key[2:] for key in archive.files if key.startswith("x_")}  # duplicate names count once

                def labels(part: str) -> list[object] | None:
                    assert archive.zip is not None
                    if (key := f"y_{part}") not in archive:
                        return None
                    _check_headers(archive.zip, path, [key])
                    return list(np.unique(archive[key]).tolist())

                split = split_names(sorted(parts), str(path), labels=labels)
                if not parts and set(WHOLE) <= set(archive.files):
                    keys = list(WHOLE)
                if split is not None:
                    keys = [f"{array}_{part}" for part in (split.train, split.test) for array in "xy"]
                    note = split.note
            keys += [f"{mark}{key[1:]}" for mark in beside for key in keys if key[0] == "x"]
            missing = [key for key in keys if key not in archive]
            if missing:
                wanted = f"the array {' or '.join(keys)}" if first_of else f"the arrays {', '.join(keys)}"
                held = few(archive.files, 10) or "nothing"
                raise DataError(f"{path} has no {' and no '.join(missing)}; expected {wanted}: it has {held}")
            if not first_of and LABEL_NAMES in archive:
                keys.append(LABEL_NAMES)
            assert archive.zip is not None
            _check_headers(archive.zip, path, keys)
            return {key: np.asarray(archive[key]) for key in keys}, note
    except DataError:
        raise
    except MemoryError as error:
        raise DataError(f"{path} does not fit into memory ({error}); save less of it") from error
    except (BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise CorruptDataError(f"{path} cannot be read as an .npz file ({error}); get or write it again") from error


def _open(stream: BinaryIO, path: Path) -> "np.lib.npyio.NpzFile":
    begin = stream.read(6)
    stream.seek(0)
    if begin == b"\x93NUMPY":
        raise CorruptDataError(f"{path} is a single array; expected an .npz file with {', '.join(KEYS)}")
    try:
        archive = np.load(stream, allow_pickle=False)
    except ValueError as error:
        raise CorruptDataError(f"{path} is not an .npz file; write one with numpy.savez_compressed") from error
    assert isinstance(archive, np.lib.npyio.NpzFile)
    return archive


def _check_headers(archive: ZipFile, path: Path, keys: Sequence[str]) -> None:
    """Compare the declared sizes of arrays with the file and with the limit, before unpacking."""
    declared = 0
    for key in keys:
        entries = [entry for entry in archive.infolist() if entry.filename.removesuffix(".npy") == key]
        if len(entries) > 1:
            raise CorruptDataError(f"{path} has {key} {len(entries)} times; write the file again, with one of each")
        with archive.open(entries[0]) as stream:
            head = io.BytesIO(stream.read(_LONGEST_HEADER))
        try:
            version = np.lib.format.read_magic(head)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(head)
        except ValueError as error:
            raise CorruptDataError(f"{path}: {key} cannot be read ({error}); write the file again") from error
        if dtype.hasobject:
            raise DataError(
                f"{path}: {key} is an array of objects, which is never unpickled; save plain numbers or text (images "
                "of one size, labels of one type)"
            )
        size, there = math.prod(shape) * dtype.itemsize, entries[0].file_size - head.tell()
        if size != there or min(shape, default=0) < 0 or dtype.itemsize == 0:
            raise CorruptDataError(
                f"{path}: {key} declares {size:,} bytes ({shape} of {dtype}) but has {there:,}; write the file again"
            )
        declared += size
    check_bytes(path, declared)
