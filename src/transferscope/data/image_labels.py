"""A user's images with a table of their labels: one row per image."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.data.apart import group_note
from transferscope.data.arrays import Parts, read_apart
from transferscope.data.frame import read_frame
from transferscope.data.image_files import ImageForm, read_images
from transferscope.data.image_folder import image_files_below
from transferscope.data.tables import (
    TableSettings,
    apart_by,
    read_labels,
    require_column,
    rows_of_table,
    with_labels,
)
from transferscope.errors import DataError
from transferscope.wording import few, listed

_FILE_COLUMNS = ("file", "filename", "file_name", "image", "path")


def load_labelled_images(
    folder: Path, table_path: Path, settings: TableSettings, *, file_column: str | None, form: ImageForm, seed: int
) -> Parts:
    """Read the images listed in a csv file.

    Args:
        folder: Folder of the images, at any depth.
        file_column: Column with the path of each image within the folder; None for a column named file, filename,
            file_name, image or path.

    Raises:
        CorruptDataError: The table or an image cannot be read.
        UnknownNameError: A named column does not exist.
        DataError: A file is missing or listed twice, or the labels do not match their kind.
    """
    frame = read_frame(table_path, "csv")
    settings, kind, (table,) = with_labels([frame.as_text(frame.written).rows], settings, [table_path])
    column = _file_column(table, file_column, table_path)
    files = _files(table, column, folder, table_path)
    train, test, left_out = rows_of_table(table, settings, kind, table_path, inputs=[column], seed=seed)
    order = np.concatenate([train, test])
    images = read_images([files[row] for row in order], folder, form)
    n_train = int(np.searchsorted(images.kept, len(train)))  # slices of one array, without a copy
    rows = order[images.kept]
    if not 0 < n_train < len(rows):
        part = "test" if n_train else "training"
        raise DataError(f"{table_path} has no {part} image that can be decoded; fix some ({images.skipped})")
    own, names = read_labels(table.iloc[rows[:n_train]], settings, kind, table_path)
    others, _ = read_labels(table.iloc[rows[n_train:]], settings, kind, table_path, names=names)
    inputs = (images.pixels[:n_train], images.pixels[n_train:])
    parts = read_apart(inputs, (own, others), name=str(table_path), kind=kind, label_names=names)
    parts = apart_by(table.iloc[rows], settings, table_path).kept(parts)
    hint = "" if settings.group else group_note(table.drop(columns=[column, *settings.labels]))
    beside = len(image_files_below(folder)) - len(files)
    note = f"{beside} images of the folder have no row in {table_path.name} and are left out" if beside > 0 else ""
    words = "; ".join(filter(None, (images.words, images.skipped, note, left_out, *frame.notes, parts.words, hint)))
    return replace(parts, about=images.about, words=words)


def _file_column(table: pd.DataFrame, given: str | None, path: Path) -> str:
    if given is not None:
        require_column(table.columns, given, path)
        return given
    names = [str(name) for name in table.columns]
    columns = [name for name in names if name.lower() in _FILE_COLUMNS]
    if len(columns) != 1:
        raise DataError(
            f"{path} has {len(columns)} columns named {listed(_FILE_COLUMNS, last='or')} among "
            f"{', '.join(names[:10])}; name the column of image files with file=COLUMN"
        )
    return columns[0]


def _files(table: pd.DataFrame, column: str, folder: Path, path: Path) -> Sequence[Path]:
    """Return the image of each row; raises DataError if one is missing, lies elsewhere, or is listed twice."""
    named = table[column]
    if named.isna().any():
        raise DataError(
            f"{path}: column {column!r} is empty in {named.isna().sum()} rows; expected a file in every row"
        )
    names = [str(name).strip() for name in named]
    files = [folder / name for name in names]
    outside = [name for name in names if Path(name).is_absolute() or ".." in Path(name).parts]
    if outside:
        raise DataError(f"{path} lists {outside[0]!r}; expected paths within {folder}")
    missing = [name for name, file in zip(names, files, strict=True) if not file.is_file()]
    if missing:
        raise DataError(
            f"{len(missing)} of the {len(names)} images in {path} are missing from {folder}: {few(missing)}; add "
            "them, or remove their rows"
        )
    twice = named[named.duplicated()]
    if len(twice):
        raise DataError(f"{path} has {twice.iloc[0]!r} twice; give each image one row (with several labels in one row)")
    return files
