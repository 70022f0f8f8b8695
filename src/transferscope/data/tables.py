"""A user's tables: csv and parquet files with numeric features and one or more label columns."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pandas.errors import ParserError

from transferscope.data.arrays import Parts, RawPart, to_parts
from transferscope.data.splits import split_off_test
from transferscope.data.task import Kind
from transferscope.errors import CorruptDataError, DataError, SettingsError, missing_extra, unknown_name

Format = Literal["csv", "parquet"]
_TEST_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Which columns of a table are what, and which rows are the test set.

    Attributes:
        labels: The label columns; one for classes, one or more for regression.
        drop: Columns that are neither features nor labels, such as an identifier.
        kind: What the labels are; None to take a floating-point column as regression and any other as classes.
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


def load_table(path: Path, settings: TableSettings, *, form: Format, seed: int) -> Parts:
    """Read a training and a test set from a table.

    Args:
        path: The file; a csv file has its column names in the first line.
        settings: Which columns are what.
        form: How the file is written.
        seed: Seed of the split, when the settings name no test set.

    Returns:
        Both parts: features float32 (N, D) in the order of the columns.

    Raises:
        CorruptDataError: The file cannot be parsed.
        UnknownNameError: A named column does not exist.
        DataError: A feature is not numeric, a value is missing, or the labels do not fit their kind.
        MissingExtraError: A parquet file is given and pyarrow is absent.
    """
    table = _read_table(path, form)
    kind = settings.kind or _kind_of(_labels(table, settings, path))
    if settings.test_file is not None:
        test = _like(table, _read_table(settings.test_file, form), settings.test_file)
        parts = [_raw(table, settings, kind, path), _raw(test, settings, kind, settings.test_file)]
    elif settings.split is not None:
        parts = [_raw(rows, settings, kind, path) for rows in _split_rows(table, settings.split, path)]
    else:
        raw = _raw(table, settings, kind, path)
        whole = to_parts(raw, raw, name=str(path), kind=kind).train
        return split_off_test(whole, settings.test_share or _TEST_SHARE, seed=seed)
    return to_parts(parts[0], parts[1], name=str(path), kind=kind)


def _read_table(path: Path, form: Format) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, low_memory=False) if form == "csv" else pd.read_parquet(path)
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", "reading parquet files") from error
    except (ValueError, OSError) as error:
        raise CorruptDataError(f"{path} cannot be read as a {form} file ({_first_line(error)})") from error
    if form == "csv":
        _check_csv(table, path)
    if table.empty:
        raise DataError(f"{path} has no rows; expected at least one below the column names")
    return table


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


def _raw(table: pd.DataFrame, settings: TableSettings, kind: Kind, path: Path) -> RawPart:
    labels = _checked_labels(_labels(table, settings, path), kind, path)
    return RawPart(_features(table, settings, path), labels)


def _labels(table: pd.DataFrame, settings: TableSettings, path: Path) -> pd.DataFrame:
    for column in (*settings.labels, *settings.drop):
        _require_column(table, column, path)
    return table[list(settings.labels)]


def _features(table: pd.DataFrame, settings: TableSettings, path: Path) -> np.ndarray:
    used = {*settings.labels, *settings.drop, settings.split}
    features = table[[column for column in table.columns if column not in used]]
    unnamed = [str(column) for column in features.columns if re.fullmatch(r"Unnamed: \d+", str(column))]
    if unnamed:
        raise DataError(
            f"{path}: column {int(unnamed[0].split()[1]) + 1} has no name, as row numbers have none; name it, or leave "
            f"it out with drop={unnamed[0]}"
        )
    if features.shape[1] == 0:
        raise DataError(f"{path} has no feature columns beside {', '.join(map(str, table.columns))}; add some")
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
            raise DataError(f"{path}: classes need one label column; {', '.join(map(str, labels.columns))} were given")
        values = labels.iloc[:, 0]
        numeric = pd.api.types.is_numeric_dtype(values)
        return values.to_numpy() if numeric else values.astype(str).to_numpy(dtype=np.str_)
    for column in labels.columns:
        if not pd.api.types.is_numeric_dtype(labels[column]):
            raise DataError(
                f"{path}: label column {column!r} holds {_no_number(labels[column])}; expected numbers for regression"
            )
    return labels.to_numpy(dtype=np.float64)


def _kind_of(labels: pd.DataFrame) -> Kind:
    floating = any(pd.api.types.is_float_dtype(labels[column]) for column in labels.columns)
    return "regression" if floating or labels.shape[1] > 1 else "classification"


def _split_rows(table: pd.DataFrame, split: str, path: Path) -> list[pd.DataFrame]:
    """The rows that say "train", and those that say "test"."""
    _require_column(table, split, path)
    values = set(table[split].dropna().astype(str))
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
    strange = values[pd.to_numeric(values.astype(str), errors="coerce").isna()]
    shown = strange if len(strange) else values
    return repr(shown.iloc[0]) if len(shown) else "nothing"


def _require_column(table: pd.DataFrame, column: str, path: Path) -> None:
    if column not in table.columns:
        raise unknown_name(f"column of {path.name}", column, [str(name) for name in table.columns])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
