"""A user's tables: csv and parquet files with features of any kind and one or more label columns."""

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Literal
from zipfile import ZipFile

import numpy as np
import pandas as pd
from jaxtyping import Num
from pandas.errors import ParserError

from transferscope.data.arrays import Parts, RawPart, check_labels, lost_in_float32, to_inputs, to_parts
from transferscope.data.column_encoding import DayOrder, TableEncoding, check_same_columns, fit_encoding
from transferscope.data.label_sets import flags, label_matrix, named_labels
from transferscope.data.places import check_bytes, most_bytes
from transferscope.data.splits import split_off_test
from transferscope.data.task import Kind
from transferscope.errors import (
    CorruptDataError,
    DataError,
    SettingsError,
    UnknownNameError,
    missing_extra,
    unknown_name,
)
from transferscope.files import require_regular

Format = Literal["csv", "parquet"]
_TEST_SHARE = 0.2
_MANY_CLASSES = 20  # whole numbers above which a label column is taken for classes only if each has ten rows


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Which columns of a table are what, and which rows are the test set.

    Attributes:
        labels: The label columns: one for classes, one or more for regression, and for several labels of each input a
            column of 0 and 1 for each, or one that holds their names. Names with commas between them are several.
        drop: Columns that are neither features nor labels, such as an identifier; here and in `categories` too, names
            with commas between them are several.
        kind: What the labels are; None to take one floating-point column as regression, any other one as classes, and
            several columns as regression unless they could be several yes-or-no labels, which is refused.
        separator: What stands between the names of several labels in one column, which it makes them; None for none.
        categories: Columns that are categories although they hold numbers.
        dates: How dates as 3/4/2021 are read; None to refuse them.
        test_file: Another file of the same columns that is the test set.
        split: A column that says "train" or "test" for each row.
        test_share: Share of rows for a seeded, stratified test set, between 0 and 1; None for 0.2, unless one of the
            two above is given.

    Raises:
        SettingsError: No label is named, or more than one way to a test set is.
    """

    labels: tuple[str, ...]
    drop: tuple[str, ...] = ()
    kind: Kind | None = None
    separator: str | None = None
    categories: tuple[str, ...] = ()
    dates: DayOrder | None = None
    test_file: Path | None = None
    split: str | None = None
    test_share: float | None = None

    def __post_init__(self) -> None:
        """Check what cannot hold together."""
        if not self.labels:
            raise SettingsError("a table needs its label column named, as in 'csv:houses.csv?label=price'")
        ways = [way for way in (self.test_file, self.split, self.test_share) if way is not None]
        if len(ways) > 1:
            raise SettingsError("a table takes one of test, split and test_share; several were given")
        twice = [name for name in self.labels if self.labels.count(name) > 1 or name in self.drop]
        if twice:
            raise SettingsError(f"column {twice[0]!r} is given twice as a label, or as a label and in drop; keep one")
        if self.separator is not None and self.kind not in (None, "multi-label"):
            raise SettingsError(
                f"separator is for several labels of each input, and kind = {self.kind!r}; leave one out"
            )
        if self.separator is not None and len(self.labels) > 1:
            raise SettingsError("separator is for one column with the names of several labels; name one label column")


@dataclass(frozen=True)
class TableParts(Parts):
    """Both parts of a table.

    Attributes:
        encoding: What its columns became.
        remarks: What rows have that the encoding does not know, a sentence for each column: test rows, and
            training rows where the encoding is that of another table.
    """

    encoding: TableEncoding
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SharedEncoding:
    """The encoding of another table, for one with the same columns.

    Attributes:
        encoding: What the columns become.
        path: The other table.
    """

    encoding: TableEncoding
    path: Path


def load_table(
    path: Path, settings: TableSettings, *, form: Format, seed: int, shared: SharedEncoding | None = None
) -> TableParts:
    """Read a training and a test set from a table.

    Features are decided on the rows of the training part, all of them, whatever number of labels is studied: they read
    no label, and sources share them.

    Args:
        path: A csv or parquet file; a csv file has its column names in the first line.
        settings: Which columns are what.
        form: How the file is written.
        seed: Seed of the split, when the settings name no test set.
        shared: An encoding to take over; None to fit one.

    Returns:
        Both parts: features float32 (N, D) in the order of the columns, or of the shared encoding.

    Raises:
        CorruptDataError: The file cannot be parsed.
        UnknownNameError: A named column does not exist.
        DataError: It is no regular file or unpacks to too much; a column cannot be told for what it is, or is not one
            of those whose encoding is shared; or the labels do not fit their kind or could mean several things.
        MissingExtraError: A parquet file is given and pyarrow is absent.
    """
    known = () if shared is None else shared.encoding.categories
    own_categories = settings.categories if shared is None else ()
    table = read_table(path, form, labels=settings.labels, categories=own_categories, texts=known)
    test_file, other = settings.test_file, None
    if test_file is not None:
        texts = [*known, *(name for name in table.columns if _is_text(table[name]))]
        other = read_table(test_file, form, labels=settings.labels, texts=texts)
        other = _like(table, other, test_file)
    settings, kind = label_kind(table, settings, path)
    if form == "csv" and kind == "classification":
        _refuse_one_number_in_two_spellings(settings.labels[0], [path] if test_file is None else [path, test_file])
    if other is not None:
        rows = [table, other]
    elif settings.split is not None:
        rows = split_rows(table, settings.split, path)
    else:
        found, names = read_labels(table, settings, kind, path)
        places = RawPart(np.arange(len(table), dtype=np.float64)[:, None], found)  # in place of inputs
        whole = to_parts(places, places, name=str(path), kind=kind, label_names=names).train
        both = split_off_test(whole, settings.test_share or _TEST_SHARE, seed=seed)
        rows = [table.iloc[part.inputs[:, 0].astype(np.int64)] for part in (both.train, both.test)]
    train, test = rows
    test_path = test_file or path
    features = _feature_columns(train, settings, path)
    if shared is not None:
        read = {one.name: one.kind != "left out" for one in shared.encoding.columns}
        given = [name for name in features if read.get(name, True)]
        check_same_columns(given, [name for name, is_read in read.items() if is_read], path, shared.path)
        encoding = shared.encoding
    else:
        for name in settings.categories:
            _require_column(table, name, path)
        encoding = fit_encoding(train[features], path, categories=set(settings.categories), order=settings.dates)
    if not encoding.features:
        said = "; ".join(f"{one.name} {one.words}" for one in encoding.columns[:5])
        raise DataError(f"{path} has no column left to learn from ({said}); add some")
    own, names = read_labels(train, settings, kind, path)
    others, _ = read_labels(test, settings, kind, test_path, names=names)
    if kind == "multi-label":
        check_labels(own, names or (), str(path))
    inputs = encoding.apply(train, path)
    parts = to_parts(
        RawPart(inputs, own),
        RawPart(encoding.apply(test, test_path), others),
        name=str(path),
        kind=kind,
        label_names=names,
    )
    if shared is None:
        new = encoding.remarks(test, train)
    else:
        lost = np.flatnonzero(lost_in_float32(inputs)).tolist()
        new = encoding.remarks(pd.concat([train, test])) + tuple(
            f"feature {encoding.features[k]!r} lies so far from the rows that decided the encoding that the 32 bits of "
            "training lose the digits in which rows differ (subtract one number from the column in both tables)"
            for k in lost
        )
    own_part, other_part = (replace(part, indicators=encoding.indicators) for part in (parts.train, parts.test))
    return TableParts(own_part, other_part, encoding, new, label_units=parts.label_units)


def read_features(
    path: Path, columns: Sequence[str], encoding: TableEncoding | None, *, form: Format
) -> tuple[Num[np.ndarray, "N ..."], tuple[str, ...]]:
    """Features of a table without labels, and what its rows have that no training row had, in sentences.

    Args:
        path: The file.
        columns: Names of the features, in the order that is wanted, where there is no encoding; the table may have
            others, in any order.
        encoding: What the columns become; None for numbers without gaps.
        form: How the file is written.

    Raises:
        CorruptDataError: The file cannot be parsed.
        UnknownNameError: It lacks columns.
        DataError: A column is not of the kind that it had in training.
    """
    needed = [one.name for one in encoding.columns if one.kind != "left out"] if encoding is not None else columns
    if not needed:
        raise DataError(f"{path} is a table and the network was trained on data of another kind; give such data")
    table = read_table(path, form, texts=() if encoding is None else encoding.categories)
    lacking = [column for column in needed if column not in table.columns]
    if lacking:
        raise UnknownNameError(
            f"{path.name} lacks {', '.join(map(repr, lacking[:5]))}, which the network reads; its columns are "
            f"{', '.join(map(str, table.columns))}"
        )
    if encoding is None:
        return to_inputs(_features(table[list(columns)], path), name=str(path)), ()
    return to_inputs(encoding.apply(table, path), name=str(path)), encoding.remarks(table)


def _named(columns: Sequence[str], table: pd.DataFrame) -> tuple[str, ...]:
    """Columns of a table, of which several may be named with commas between them."""
    split = [[one] if one in table.columns else one.split(",") for one in columns]
    return tuple(name.strip() for names in split for name in names)


def _feature_columns(table: pd.DataFrame, settings: TableSettings, path: Path) -> list[str]:
    used = {*settings.labels, *settings.drop, settings.split}
    features = [column for column in table.columns if column not in used]
    if not features:
        raise DataError(f"{path} has no feature columns beside {', '.join(map(str, table.columns))}; add some")
    unnamed = [str(column) for column in features if re.fullmatch(r"Unnamed: \d+", str(column))]
    if unnamed:
        raise DataError(
            f"{path}: column {int(unnamed[0].split()[1]) + 1} has no name, as row numbers have none; name it, or leave "
            f"it out with drop={unnamed[0]}"
        )
    return features


def label_kind(table: pd.DataFrame, settings: TableSettings, path: Path) -> tuple[TableSettings, Kind]:
    """The settings with every column by itself, and what the labels are.

    Raises:
        UnknownNameError: A label column does not exist.
        DataError: They could mean several things.
    """
    labels, drop, categories = (_named(one, table) for one in (settings.labels, settings.drop, settings.categories))
    settings = replace(settings, labels=labels, drop=drop, categories=categories)
    found = _labels(table, settings, path)
    return settings, settings.kind or ("multi-label" if settings.separator else _kind_of(found, path))


def read_labels(
    rows: pd.DataFrame, settings: TableSettings, kind: Kind, path: Path, *, names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Labels of some rows, and the names of several labels.

    Args:
        rows: The rows, with all columns.
        settings: From `label_kind`, as the kind is.
        kind: What the labels are.
        path: Where the rows are from, for messages.
        names: The names of several labels, of the training rows; None for those of these rows.

    Raises:
        DataError: The labels do not fit their kind.
    """
    labels = _labels(rows, settings, path)
    if kind != "multi-label":
        return _checked_labels(labels, kind, path), None
    if labels.shape[1] > 1:
        return flags(labels, path), tuple(map(str, labels.columns))
    held = named_labels(labels.iloc[:, 0], settings.separator, path)
    found = tuple(names if names is not None else sorted({name for row in held for name in row}))
    return label_matrix(held, found, path), found


def read_table(
    path: Path,
    form: Format,
    *,
    labels: Sequence[str] = (),
    categories: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> pd.DataFrame:
    """A csv or parquet file with all of its columns; raises as `load_table`.

    What the columns of a csv file are is guessed by pandas from the values of this file alone, which may be other ones
    than those of the file that a study was planned with.

    Args:
        path: The file.
        form: How it is written.
        labels: Of a csv file, label columns by the names of the settings: a text such as None or NA is a class.
        categories: Of a csv file, columns by the names of the settings that become categories: whole numbers that would
            be one as numbers of 15 digits (007 and 7, or accounts of 17 digits) are text.
        texts: Of a csv file, columns that are read as the text that stands there.
    """
    require_regular(path, f"a {form} file")
    try:
        check_bytes(path, _unpacked_bytes(path, form))
        table = pd.read_csv(path, low_memory=False) if form == "csv" else pd.read_parquet(path)
        for position, kind in enumerate(table.dtypes):
            if form == "parquet" and not pd.api.types.is_numeric_dtype(kind):
                table.iloc[:, position].map(str)  # text that is no UTF-8 is decoded here and nowhere later
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", "reading parquet files") from error
    except (DataError, SettingsError, MemoryError):
        raise
    except Exception as error:  # on a damaged file the readers raise whatever comes first
        reason = "" if form == "parquet" else f" ({_first_line(error)})"  # of parquet, a reader's inner names
        raise CorruptDataError(f"{path} cannot be read as a {form} file{reason}; write it again") from error
    if form == "csv":
        _check_csv(table, path)
        table = _as_written(table, path, labels=labels, categories=categories, texts=texts)
    if table.empty:
        raise DataError(f"{path} has no rows; expected at least one below the column names")
    return table


def _unpacked_bytes(path: Path, form: Format) -> int:
    """How much a file unpacks to, without unpacking more of it at a time than a megabyte.

    Raises:
        DataError: It is packed in a way of which this cannot be told.
    """
    if form == "parquet":
        from pyarrow.parquet import read_metadata

        about = read_metadata(path)
        groups = sum(about.row_group(index).total_byte_size for index in range(about.num_row_groups))
        least = int(about.num_rows) * int(about.num_columns) * 8  # runs of one value take up no room in the file
        return max(int(groups), least)
    suffix = path.suffix.lower()
    openers: dict[str, Callable[[Path], BinaryIO]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}  # type: ignore[dict-item]
    if suffix == ".zip":
        with ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    if suffix in openers:
        size, most = 0, most_bytes()
        with openers[suffix](path) as stream:
            while size <= most and (piece := stream.read(1 << 20)):
                size += len(piece)
        return size
    if suffix in (".tar", ".zst", ".tgz", ".tbz", ".txz"):
        raise DataError(f"{path} is packed as {suffix}; unpack it, or pack it as .gz")
    return path.stat().st_size


def _refuse_one_number_in_two_spellings(column: str, files: Sequence[Path]) -> None:
    """Refuse classes that would be one as numbers and are several as text, such as 007 and 7.

    Raises:
        DataError: There are some.
    """
    columns = [_column_as_text(column, file).dropna() for file in files]
    texts: pd.Series = pd.concat(columns, ignore_index=True).drop_duplicates()
    try:
        numbers = pd.to_numeric(texts)
    except (ValueError, TypeError):  # text and truth values
        numbers = texts.str.strip().str.lower() if texts.str.fullmatch(r"(?i)\s*(true|false)\s*").all() else texts
    twins = texts[numbers.duplicated(keep=False)]
    if len(twins):
        first, second = twins[numbers == numbers[twins.index[0]]].iloc[:2]
        raise DataError(
            f"{files[0]}: label column {column!r} writes one value as {first!r} and as {second!r}, which could be one "
            "class or two; write it in one way, or begin labels that differ with a letter"
        )


def _column_as_text(column: str, path: Path) -> pd.Series:
    return pd.read_csv(path, dtype=str, usecols=[column], low_memory=False)[column]


def _as_written(
    table: pd.DataFrame, path: Path, *, labels: Sequence[str], categories: Sequence[str], texts: Sequence[str]
) -> pd.DataFrame:
    """A table of a csv file with some columns as they stand there; arguments as of `read_table`."""
    changed: dict[str, pd.Series] = {
        name: _column_as_text(name, path) for name in texts if name in table.columns and not _is_text(table[name])
    }
    for name in (name for name in _named(labels, table) if name in table.columns):
        column = changed.get(name, table[name])
        if column.isna().any() and not pd.api.types.is_numeric_dtype(column):
            whole = pd.read_csv(path, dtype=str, usecols=[name], keep_default_na=False, na_values=[""])[name]
            changed[name] = column.where(column.notna(), whole)
    for name in (name for name in _named(categories, table) if name in table.columns):
        if table[name].dtype.kind in "iuf":
            written = _column_as_text(name, path).map(_whole_as_written, na_action="ignore")
            if written.nunique() > len({f"{number:.15g}" for number in table[name].dropna().unique()}):
                changed[name] = written
    return table.assign(**changed)


def _whole_as_written(number: str) -> str:
    """A whole number with its zeros before it and none after a point, any other as Python writes it."""
    whole = re.sub(r"\.0*$", "", number.strip().removeprefix("+"))
    return whole if re.fullmatch(r"-?\d+", whole) else f"{float(whole):.15g}"


def _is_text(column: pd.Series) -> bool:
    return bool(pd.api.types.infer_dtype(column, skipna=True) == "string")


def _check_csv(table: pd.DataFrame, path: Path) -> None:
    """Refuse what pandas reads without a word and not as it was meant."""
    try:
        names = pd.read_csv(path, header=None, nrows=2, dtype=str).iloc[0].dropna()  # as they are: pandas renames twins
    except ParserError as error:  # in the second line; pandas takes the first values of every row for its name
        raise DataError(
            f"{path} has more values in a row than the {table.shape[1]} names in its first line; name every column, "
            "and end no row with a comma"
        ) from error
    if len(names) == 1:
        raise DataError(f"{path} has the one column {names[0]!r}; expected several with commas between them")
    twins = names[names.duplicated()]
    if len(twins):
        raise DataError(f"{path} names several columns {twins.iloc[0]!r} in its first line; give each its own name")


def _labels(table: pd.DataFrame, settings: TableSettings, path: Path) -> pd.DataFrame:
    for column in (*settings.labels, *settings.drop):
        _require_column(table, column, path)
    return table[list(settings.labels)]


def _features(features: pd.DataFrame, path: Path) -> np.ndarray:
    """Features of an earlier export: numbers without gaps."""
    for column in features.columns:
        if not pd.api.types.is_numeric_dtype(features[column]):
            raise DataError(
                f"{path}: column {column!r} holds {_no_number(features[column])}; expected numbers: "
                f"encode it as numbers or leave it out with drop={column}"
            )
    remedy = "fill them, remove those rows, or leave the column out with drop={}"
    _refuse_missing(features, path, what="column", remedy=remedy)
    return features.to_numpy(dtype=np.float64)


def _checked_labels(labels: pd.DataFrame, kind: Kind, path: Path) -> np.ndarray:
    _refuse_missing(labels, path, what="label column", remedy="remove those rows")
    if kind == "classification":
        if labels.shape[1] > 1:
            raise DataError(
                f"{path}: classes need one label column; {', '.join(map(str, labels.columns))} were given (say "
                "kind=multi-label for several labels of each input)"
            )
        values = labels.iloc[:, 0]
        if pd.api.types.is_numeric_dtype(values):
            return values.to_numpy()
        return _as_text(values, path).to_numpy(dtype=np.str_)
    for column in labels.columns:
        if not pd.api.types.is_numeric_dtype(labels[column]):
            raise DataError(
                f"{path}: label column {column!r} holds {_no_number(labels[column])}; expected numbers for regression"
            )
    return labels.to_numpy(dtype=np.float64)


def _as_text(values: pd.Series, path: Path) -> pd.Series:
    """Class labels as text; bytes are text in UTF-8.

    Raises:
        DataError: A label is no single value, or bytes that are no text.
    """
    strange = next((value for value in values if np.ndim(value) > 0 or isinstance(value, Mapping | Set)), None)
    if strange is not None:
        raise DataError(
            f"{path}: label column {str(values.name)!r} holds {type(strange).__name__}s of values, as in "
            f"{str(strange)[:40]!r}; expected one text or number in each row, or say kind=multi-label for several "
            "labels of each input"
        )
    try:
        return values.map(lambda value: value.decode() if isinstance(value, bytes) else str(value))
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: label column {str(values.name)!r} holds bytes that are no text in UTF-8; save it as text"
        ) from error


def _kind_of(labels: pd.DataFrame, path: Path) -> Kind:
    """What labels are whose kind was not said.

    Raises:
        DataError: They could be either.
    """
    columns = [labels[name] for name in labels.columns]
    floating = [pd.api.types.is_float_dtype(column) for column in columns]
    if len(columns) == 1 and not floating[0]:
        n_values = columns[0].nunique() if pd.api.types.is_integer_dtype(columns[0]) else 0
        if n_values > _MANY_CLASSES and len(labels) < 10 * n_values:
            raise DataError(
                f"{path}: label column {str(labels.columns[0])!r} holds {n_values} different whole numbers in "
                f"{len(labels)} rows, which could be numbers to predict or that many classes; say "
                f"kind=regression or kind=classification, as in ?label={labels.columns[0]!s}&kind=regression"
            )
        return "classification"
    numeric = all(pd.api.types.is_numeric_dtype(column) for column in columns)
    flags = [str(column.name) for column in columns if set(column.dropna().unique()) <= {0, 1}]
    if numeric and (flags or not any(floating)):
        shown = " and ".join(repr(str(name)) for name in labels.columns)
        what = f"{flags[0]!r} holds 0 and 1 alone" if flags else "they hold whole numbers alone"
        if len(columns) == 1:
            raise DataError(
                f"{path}: label column {shown} is written in floating point and holds 0 and 1 alone, which could be "
                "two classes or a number to predict; say kind=classification or kind=regression"
            )
        raise DataError(
            f"{path}: label columns {shown} could be numbers to predict or several labels of each input ({what}); say "
            "kind=regression for numbers, or kind=multi-label"
        )
    return "regression"


def split_rows(table: pd.DataFrame, split: str, path: Path) -> list[pd.DataFrame]:
    """The rows that say "train", and those that say "test"; both must occur, and nothing else."""
    _require_column(table, split, path)
    values = set(table[split].dropna().map(str))
    if values != {"train", "test"} or table[split].isna().any():
        raise DataError(
            f"{path}: column {split!r} holds {', '.join(sorted(values)[:5]) or 'nothing'}; expected 'train' or 'test' "
            "in every row, and both to occur"
        )
    return [table[table[split] == part] for part in ("train", "test")]


def _like(table: pd.DataFrame, other: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The other table with the columns of the first, in the same order."""
    missing = [str(column) for column in table.columns if column not in other.columns]
    if missing:
        raise DataError(f"{path} lacks the columns {', '.join(missing)} of the training table; give both the same")
    return other[list(table.columns)]


def _refuse_missing(columns: pd.DataFrame, path: Path, *, what: str, remedy: str) -> None:
    for name in columns.columns:
        column = columns[name]
        missing = (column.isna() | column.isin([np.inf, -np.inf])).to_numpy()
        if missing.any():
            raise DataError(
                f"{path}: {what} {name!r} is empty, NA or infinite in {missing.sum()} of {len(column)} rows "
                f"(first: row {np.flatnonzero(missing)[0] + 1}); {remedy.format(name)}"
            )


def _no_number(column: pd.Series) -> str:
    """The first value of a column that is no number, for a message."""
    values = column.dropna()
    strange = values[pd.to_numeric(values.map(str), errors="coerce").isna()]
    shown = strange if len(strange) else values
    return repr(shown.iloc[0]) if len(shown) else "nothing"


def _require_column(table: pd.DataFrame, column: str, path: Path) -> None:
    if column not in table.columns:
        raise unknown_name(f"column of {path.name}", column, [str(name) for name in table.columns])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
