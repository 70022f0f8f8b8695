"""A folder that `datasets` saved with `save_to_disk`: its Arrow files are read without that package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from transferscope.data.apart import read_apart_by
from transferscope.data.arrays import Parts, read_apart
from transferscope.data.image_files import ImageForm, PackedImage, read_images
from transferscope.data.label_sets import label_matrix, named_labels
from transferscope.data.split_names import ALL_NAMES, name_of, split_names
from transferscope.data.splits import rows_of_parts
from transferscope.data.task import Kind, take_rows
from transferscope.errors import CorruptDataError, DataError, SettingsError, unknown_name
from transferscope.files import json_object, require_regular, stamp_of

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_FILES = 100_000


@dataclass(frozen=True)
class SavedSplit:
    """One split of a saved data set, its columns still in their files.

    Attributes:
        features: Type of each column, from `dataset_info.json`.
        table: The columns, memory-mapped.
        stamp: Sizes and times of its files.
    """

    path: Path
    features: Mapping[str, Any]
    table: "pa.Table"
    stamp: tuple[tuple[int, ...], ...]

    def stored(self, name: str) -> "pa.ChunkedArray":
        """Return a column as stored in the files; raises UnknownNameError if missing."""
        if name not in self.table.column_names:
            raise unknown_name(f"column of {self.path.name}", name, self.table.column_names)
        return self.table.column(name)

    def column(self, name: str) -> pd.Series:
        """Return the Python values of a column; for class labels their names, and None for -1, as for hidden labels."""
        values = self.stored(name).to_pylist()
        feature = self.features.get(name)
        names = _class_names(feature)
        if names is None:
            return pd.Series(values, name=name, dtype=object)

        def named(value: Any) -> Any:
            if isinstance(value, list):
                return [named(one) for one in value]
            if value is None or value == -1:
                return None
            if not isinstance(value, int) or not 0 <= value < len(names):
                raise CorruptDataError(
                    f"{self.path}: column {name!r} has the class {value!r}; expected 0 to {len(names) - 1}: save it "
                    "again"
                )
            return names[value]

        return pd.Series([named(value) for value in values], name=name, dtype=object)


def open_splits(
    path: Path, *, train: str | None, test: str | None, labels: Sequence[str]
) -> tuple[SavedSplit, SavedSplit | None, str]:
    """Return the training split of a saved data set, its test split if any, and a note.

    Args:
        path: Folder written by `save_to_disk`: of a DatasetDict, with `dataset_dict.json`; of a Dataset, with
            `state.json`.
        train: Name of the training split of a DatasetDict; None for the default of `split_names`.
        test: Name of the test split; None for the default of `split_names`.
        labels: The label columns: a test split with hidden labels is replaced by the validation split.

    Raises:
        CorruptDataError: A file is corrupt or has another format.
        DataError: The path is not such a folder.
        UnknownNameError: The split does not exist.
    """
    if (path / "dataset_dict.json").is_file():
        splits = _json(path / "dataset_dict.json").get("splits")
        names = [name for name in splits if isinstance(name, str)] if isinstance(splits, list) else []
        for name in filter(None, (train, test)):
            if name not in names:
                raise unknown_name(f"split of {path.name}", name, names)

        def labels_of(name: str) -> list[object] | None:
            split = _open(path / name)
            known = [column for column in labels if column in split.table.column_names]
            return [value for column in known for value in split.column(column)] if known else None

        named = None if test else split_names(names, str(path), train=train, labels=labels_of)
        own = train or (named.train if named else name_of("training", names, str(path)))
        held_out = test or (named.test if named else None)
        if own is None or held_out is None:
            raise DataError(
                f"{path} has the splits {', '.join(names)}; expected one of {', '.join(ALL_NAMES)} as the "
                f"{'test' if own else 'training'} part: name it with &{'test' if own else 'train'}=SPLIT"
            )
        return _open(path / own), _open(path / held_out), named.note if named else ""
    if not (path / "state.json").is_file():
        raise DataError(
            f"{path} has neither dataset_dict.json nor state.json; expected a folder written by save_to_disk of "
            "datasets"
        )
    if train or test:
        raise SettingsError(f"{path} has no splits; leave out train and test (part of it becomes the test set)")
    return _open(path), None, ""


def load_saved_images(
    splits: tuple[SavedSplit, SavedSplit | None, str],
    *,
    image: str | None,
    label: str,
    kind: Kind | None,
    form: ImageForm,
    test_share: float | None,
    group: str | None = None,
    time: str | None = None,
    seed: int,
) -> Parts:
    """Load images of a saved data set with their labels.

    Args:
        splits: From `open_splits`.
        image: The column of the images; None for the only one.
        label: The column of the labels: class labels, numbers, text, or lists of them for several labels of each input.
        kind: Kind of the labels; None for that of the column.
        test_share: Share of a seeded, stratified test set without a test split; None for .2.
        group: Column of the groups, as `time` of the times; see `TableSettings`.

    Raises:
        CorruptDataError: An image cannot be decoded.
        DataError: There are no images or several columns of them, or the labels have no supported kind.
    """
    train, test, note = splits
    if test is not None and test_share is not None:
        raise SettingsError(f"{train.path.parent} has a test split, and test_share is given; leave one out")
    columns = [name for name, feature in train.features.items() if _type(feature) == "Image"]
    if image is None and len(columns) != 1:
        raise DataError(
            f"{train.path} has {len(columns)} columns of images among {', '.join(train.features)}; choose one with "
            "image=COLUMN, or use text=COLUMN for texts"
        )
    parts = [train] if test is None else [train, test]
    labels, names = _labels(parts, label, kind)
    name = image or columns[0]
    packed = [one for split in parts for one in _packed(split, name)]
    root = train.path if test is None else train.path.parent
    images = read_images(packed, root, form)
    known = np.concatenate(labels)[images.kept]
    marks = {one: pd.concat([split.column(one) for split in parts]) for one in (group, time) if one is not None}
    apart = read_apart_by(pd.DataFrame(marks).iloc[images.kept if marks else []], group, time, str(root))
    n_train = int(np.searchsorted(images.kept, len(labels[0]))) if test is not None else len(known)
    if not 0 < n_train < len(known) + (test is None):
        raise DataError(f"{root} has a split without images that can be decoded ({images.skipped}); fix some")
    kind = "multi-label" if names is not None else kind
    if test is None:
        *rows, left_out = rows_of_parts(
            known, test_share, name=str(root), kind=kind, label_names=names, seed=seed, apart=apart
        )
        inputs = [take_rows(images.pixels, part) for part in rows]
    else:
        rows, left_out = [np.arange(n_train), np.arange(n_train, len(known))], ""
        inputs = [images.pixels[:n_train], images.pixels[n_train:]]
    own = [known[part] for part in rows]
    done = read_apart(inputs, own, name=str(root), kind=kind, label_names=names)
    done = apart.take(np.concatenate(rows)).kept(done)
    words = "; ".join(filter(None, (note, left_out, images.words, images.skipped, done.words)))
    return replace(done, words=words, about=images.about)


def read_columns(path: Path, names: Sequence[str]) -> pd.DataFrame:
    """Return columns of one split, class labels by name; raises like `open_splits` and `SavedSplit.column`."""
    split = _open(path)
    return pd.DataFrame({name: split.column(name) for name in names})


def _labels(
    splits: Sequence[SavedSplit], name: str, kind: Kind | None
) -> tuple[list[np.ndarray], tuple[str, ...] | None]:
    columns = [split.column(name) for split in splits]
    for column, split in zip(columns, splits, strict=True):
        missing = int(column.isna().sum())
        if missing:
            raise DataError(
                f"{split.path}: label column {name!r} is empty in {missing} of {len(column)} rows; "
                f"{'' if missing == len(column) else 'remove them, or '}choose another split with &test=SPLIT"
            )
    if columns[0].map(lambda value: isinstance(value, list)).all():
        rows = [named_labels(column, None, split.path) for column, split in zip(columns, splits, strict=True)]
        names = tuple(sorted({one for row in rows[0] for one in row}))
        return [label_matrix(own, names, split.path) for own, split in zip(rows, splits, strict=True)], names
    held = columns[0].iloc[0]
    if kind == "multi-label" or isinstance(held, Mapping):
        expected = "lists of labels for kind=multi-label" if kind == "multi-label" else "classes, numbers or text"
        raise DataError(f"{splits[0].path}: label column {name!r} holds {str(held)[:40]!r}; expected {expected}")
    return [np.array(column.tolist()) for column in columns], None


def _packed(split: SavedSplit, name: str) -> list[PackedImage]:
    """Return the images of a column, each still in its file."""
    import pyarrow as pa

    column = split.stored(name)
    if not (pa.types.is_struct(column.type) and {"bytes", "path"} <= {field.name for field in column.type}):
        raise DataError(f"{split.path}: column {name!r} has type {column.type}; expected images as bytes")

    def reader(row: int) -> bytes:
        value = column[row].as_py()
        if not value or not value.get("bytes"):
            where = f" (their path is {value['path']!r})" if value and value.get("path") else ""
            raise CorruptDataError(
                f"{split.path.name}/{row} has no image bytes{where}; save the data set with its images in it"
            )
        content: bytes = value["bytes"]
        return content

    return [PackedImage(f"{split.path.name}/{row}", split.stamp, reader, row) for row in range(len(column))]


def _open(folder: Path) -> SavedSplit:
    import pyarrow as pa

    state, info = _json(folder / "state.json"), _json(folder / "dataset_info.json")
    files = state.get("_data_files")
    named = [one.get("filename") for one in files] if isinstance(files, list) else []
    if (
        not named
        or len(named) > _MOST_FILES
        or not all(isinstance(one, str) and Path(one).name == one for one in named)
    ):
        raise CorruptDataError(f"{folder / 'state.json'} lists no data files; save the data set again")
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise DataError(f"{folder} is a selection with separate indices; save it again after flatten_indices()")
    tables, stamp = [], []
    for one in named:
        file = folder / one
        require_regular(file, "an Arrow file")
        try:
            own, source = stamp_of(file), pa.memory_map(str(file))
            try:
                tables.append(pa.ipc.open_stream(source).read_all())
            except pa.ArrowInvalid:  # the Arrow file format, with a footer
                tables.append(pa.ipc.open_file(source).read_all())
            stamp.append(own)
        except (pa.ArrowException, OSError) as error:
            raise CorruptDataError(f"{file} cannot be read as an Arrow file; save the data set again") from error
    try:
        table = pa.concat_tables(tables)
    except pa.ArrowException as error:
        raise CorruptDataError(f"the files of {folder} have different columns; save the data set again") from error
    if not table.num_rows:
        raise DataError(f"{folder} has no rows; expected at least one example")
    features = info.get("features")
    return SavedSplit(folder, features if isinstance(features, dict) else {}, table, tuple(stamp))


def _json(file: Path) -> Mapping[str, Any]:
    return json_object(file, "a file of a saved data set", "save the data set again")


def _type(feature: object) -> str:
    return str(feature.get("_type", "")) if isinstance(feature, Mapping) else ""


def _class_names(feature: object) -> list[str] | None:
    """Return the class names of a column of class labels, or of lists of them; None for another."""
    while isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    if isinstance(feature, Mapping) and _type(feature) in ("Sequence", "List", "LargeList"):
        return _class_names(feature.get("feature"))
    names = feature.get("names") if isinstance(feature, Mapping) and _type(feature) == "ClassLabel" else None
    return [str(name) for name in names] if isinstance(names, list) else None
