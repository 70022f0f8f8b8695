"""A user's tables: csv and parquet files with features of any kind and one or more label columns."""

import json
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Int64, Num

from transferscope.data.apart import Apart, group_note, read_apart_by
from transferscope.data.arrays import (
    Parts,
    kind_of_numbers,
    to_inputs,
    to_parts,
)
from transferscope.data.cells import (
    ANY_NUMBER,
    NUMBER,
    DayOrder,
    as_codes,
    as_objects,
    coded,
    is_text,
    spelled,
    typed,
)
from transferscope.data.column_encoding import TableEncoding, check_same_columns, fit_encoding
from transferscope.data.frame import Format, Frame, place_of, read_frame
from transferscope.data.label_sets import flags, label_matrix, named_labels
from transferscope.data.split_names import ALL_NAMES, split_names
from transferscope.data.splits import rows_of_parts
from transferscope.data.task import Kind
from transferscope.errors import DataError, SettingsError, UnknownNameError, unknown_name
from transferscope.wording import listed

_LONGEST = 1e18
"""Integers from here on may be codes, which float64 would round."""


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Roles of the columns of a table, and the choice of the test set.

    Attributes:
        labels: The label columns: one for classes, one or more for regression, and for several labels of each input a
            column of 0 and 1 for each, or one with their names. A name may list several, separated by commas.
        drop: Columns that are neither features nor labels, such as an identifier. Here, in `categories` and in `keep`,
            a name may list several, too.
        kind: Kind of the labels; None to infer it: one floating-point column is a regression, any other one classes,
            and several columns a regression, unless they could be several labels with values 0 and 1, which is refused.
        separator: Separator of the names of several labels in one column, which implies that kind; None for none.
        categories: Columns of numbers to treat as categories.
        keep: Columns to keep as features although they number the rows, as an identifier does.
        dates: Order of day and month in dates such as 3/4/2021; None to refuse them.
        test_file: Another file with the same columns: the test set.
        split: A column with "train", "test" or another name of `split_names` in each row.
        test_share: Share of rows for a seeded, stratified test set, between 0 and 1; None for 0.2, unless `test_file`
            or `split` is given.
        group: The column of groups, such as patients: no group is in both training and test. Not a feature.
        time: A column of numbers or dates: the test set is later than the training set. Not a feature.

    Raises:
        SettingsError: No label is named, or the test set is chosen in several ways.
    """

    labels: tuple[str, ...]
    drop: tuple[str, ...] = ()
    kind: Kind | None = None
    separator: str | None = None
    categories: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    dates: DayOrder | None = None
    test_file: Path | None = None
    split: str | None = None
    test_share: float | None = None
    group: str | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        if not self.labels:
            raise SettingsError("the label column of the table is unknown; name it, as in 'csv:houses.csv?label=price'")
        tests = {"test": self.test_file, "split": self.split, "test_share": self.test_share}
        ways = [name for name, value in tests.items() if value is not None]
        if len(ways) > 1:
            raise SettingsError(f"{' and '.join(ways)} are given; give one of them to choose the test set")
        twice = [name for name in self.labels if self.labels.count(name) > 1 or name in self.drop]
        if twice:
            raise SettingsError(
                f"column {twice[0]!r} is given twice as a label, or as a label and in drop; give it once"
            )
        if self.separator is not None and self.kind not in (None, "multi-label"):
            raise SettingsError(f"separator is for several labels per input, but kind = {self.kind!r}; leave one out")
        if self.separator is not None and len(self.labels) > 1:
            raise SettingsError(
                f"separator is for one column of label names, but {len(self.labels)} are given; give one"
            )


def load_table(
    path: Path,
    settings: TableSettings,
    *,
    form: Format,
    seed: int,
    shared: tuple[TableEncoding, Path] | None = None,
    beside: Sequence[Frame] = (),
) -> tuple[Parts, TableEncoding]:
    """Read a training and a test set from a table.

    The encoding of features is fitted on all training rows, whatever the number of labels: it uses no labels, and
    sources share it.

    Args:
        seed: Seed of the split, if the settings name no test set.
        shared: The encoding of another table to apply, and its file; None to fit one.
        beside: Training rows of other tables that share the fitted encoding.

    Returns:
        Both parts, with features float32 (N, D) in the order of the columns or of the shared encoding; and the
        encoding. Notes on it, on how files were read, and on unseen values are in `words` of the parts; the checksum of
        the file and the encoding of each column are in `about`.

    Raises:
        CorruptDataError: The file cannot be parsed.
        UnknownNameError: A named column does not exist.
        DataError: It is not a regular file, or too large when unpacked; the kind of a column is ambiguous, or the
            column is not in the shared encoding; or the labels do not fit their kind, or are ambiguous.
    """
    test_file = settings.test_file
    settings, kind, own_rows, test_rows, notes = _parts(path, settings, form, seed)
    test_path = test_file or path
    features = _feature_columns(own_rows.rows, settings, path)
    if shared is not None:
        encoding, place = shared
        read = {one.name: one.kind != "left out" for one in encoding.columns}
        given = [name for name in features if read.get(name, True)]
        check_same_columns(given, [name for name, is_read in read.items() if is_read], path, place)
    else:
        tables = alike([own_rows, test_rows, *beside])  # zip codes may have leading zeros in one table only
        encoding = fit_encoding(
            tables[0].rows[features],
            path,
            categories=set(settings.categories),
            order=settings.dates,
            beside=[table.rows for table in tables[2:]],
            test=tables[1].rows[features],
            kept=set(settings.keep),
        )
    if not encoding.features:
        examples = "; ".join(f"{one.name} {one.words}" for one in encoding.columns[:5])
        raise DataError(f"{path} has no usable feature column ({examples}); add some")
    train, test = (part.as_text(encoding.texts).rows for part in (own_rows, test_rows))
    own, names = read_labels(train, settings, kind, path)
    others, _ = read_labels(test, settings, kind, test_path, names=names)
    both = (encoding.apply(train, path, np.float32), encoding.apply(test, test_path, np.float32))
    parts = to_parts(both, (own, others), name=str(path), kind=kind, label_names=names)
    apart = list(dict.fromkeys(filter(None, (settings.group, settings.time))))
    parts = apart_by(pd.concat([train[apart], test[apart]]), settings, path).kept(parts)
    notes = (*notes, *filter(None, [parts.words, "" if settings.group else group_note(train[features])]))
    if shared is None:
        new = [f"of test rows, {remark}" for remark in encoding.remarks(test, train)]
    else:
        lost = [
            f"feature {feature!r} lies so far from the rows that decided the encoding that the 32 bits of "
            "training lose the digits in which rows differ (subtract one number from the column in both tables)"
            for feature in encoding.lost(train, path)
        ]
        new = [f"of its rows, {remark}" for remark in (*encoding.remarks(pd.concat([train, test])), *lost)]
    own_part, other_part = (replace(part, indicators=encoding.indicators) for part in (parts.train, parts.test))
    is_plain = encoding.is_plain and len(encoding.features) == len(encoding.columns)
    words = "" if is_plain and not notes and not new else "; ".join((encoding.words, *notes, *new))
    columns = [[one.name, one.words, len(one.features)] for one in encoding.columns]
    about = {"checksum": f"sha256:{own_rows.checksum}", "columns": json.dumps(columns, ensure_ascii=False)}
    return replace(parts, train=own_part, test=other_part, words=words, about=about), encoding


def training_rows(path: Path, settings: TableSettings, *, form: Format, seed: int) -> Frame:
    """Return the training rows of a table with all of their columns; arguments as for `load_table`."""
    return _parts(path, settings, form, seed)[2]


def alike(frames: Sequence[Frame]) -> list[Frame]:
    """Return the tables with columns as text in all if they are text in one."""
    texts = {str(name) for frame in frames for name in frame.rows if is_text(frame.rows[name])}
    return [frame.as_text(texts) for frame in frames]


def _parts(
    path: Path, settings: TableSettings, form: Format, seed: int
) -> tuple[TableSettings, Kind, Frame, Frame, tuple[str, ...]]:
    """Return the settings with expanded columns, the kind of labels, training and test rows, and notes."""

    apart = [*filter(None, (settings.split, settings.group, settings.time))]

    def check(columns: Sequence[str]) -> None:
        names = (*settings.labels, *settings.drop, *settings.categories, *settings.keep)
        for name in (*_named(names, columns), *apart):
            require_column(columns, name, path)

    files = [path] if settings.test_file is None else [path, settings.test_file]
    frames = [read_frame(path, form, as_places=True, check=check)]
    names = list(frames[0].rows.columns)
    if settings.test_file is not None:

        def check_test(columns: Sequence[str]) -> None:
            if lacking := [name for name in names if name not in columns]:
                raise DataError(
                    f"{settings.test_file} lacks the columns {', '.join(lacking)} of the training table; add them"
                )

        test = read_frame(settings.test_file, form, as_places=True, check=check_test)
        frames.append(replace(test, rows=test.rows[names]))
    spelled = () if settings.kind == "regression" else settings.labels
    texts = {*_named((*spelled, *settings.categories), names), *apart}
    frames = [frame.as_text(texts) for frame in frames]
    settings, kind, tables = with_labels([frame.rows for frame in frames], settings, files)
    frames = [replace(frame, rows=table) for frame, table in zip(frames, tables, strict=True)]
    notes = tuple(dict.fromkeys(note for frame in frames for note in frame.notes))
    if len(frames) > 1:
        return settings, kind, frames[0], frames[1], notes
    own, other, left_out = _rows(tables[0], settings, kind, path, seed)
    return settings, kind, frames[0].take(own), frames[0].take(other), (*notes, *filter(None, [left_out]))


def read_features(
    path: Path, encoding: TableEncoding | None, *, form: Format
) -> tuple[Num[np.ndarray, "N ..."], tuple[str, ...], tuple[str, ...]]:
    """Return the features of a table without labels, its row numbers, and notes.

    Args:
        path: The file; columns may be in any order, and others are ignored.
        encoding: The encoding of the columns; None for a network of other data, which is refused.

    Raises:
        CorruptDataError: The file cannot be parsed.
        UnknownNameError: It lacks columns.
        DataError: A column has another kind than in training.
    """
    if encoding is None:
        raise DataError(f"{path} is a table, but the network was trained on other data; give data as in its training")
    frame = read_frame(path, form, as_places=True).as_text(encoding.texts)
    table = frame.rows
    needed = [one.name for one in encoding.columns if one.kind != "left out"]
    lacking = [column for column in needed if column not in table.columns]
    if lacking:
        raise UnknownNameError(
            f"{path.name} lacks the columns {', '.join(map(repr, lacking[:5]))} of the network; its columns are "
            f"{', '.join(map(str, table.columns))}"
        )
    inputs = to_inputs(encoding.apply(table, path, np.float32), name=str(path))
    return inputs, tuple(map(str, frame.numbers)), (*frame.notes, *encoding.remarks(table))


def _named(names: Sequence[str], columns: Collection[str]) -> tuple[str, ...]:
    """Expand columns of a table, several of which may be joined by commas."""
    split = [[one] if one in columns else one.split(",") for one in names]
    return tuple(name.strip() for names in split for name in names)


def _feature_columns(table: pd.DataFrame, settings: TableSettings, path: Path) -> list[str]:
    used = {*settings.labels, *settings.drop, settings.split, settings.group, settings.time}
    features = [column for column in table.columns if column not in used]
    if not features:
        raise DataError(f"{path} has no feature column among {', '.join(map(str, table.columns))}; add some")
    unnamed = [str(column) for column in features if re.fullmatch(r"Unnamed: \d+", str(column))]
    if unnamed:
        raise DataError(
            f"{path}: column {int(unnamed[0].split()[1]) + 1} has no name (row numbers?); name it, or leave it out "
            f"with drop={unnamed[0]}"
        )
    _refuse_names_of_parts(table[features], path, otherwise="leave it out with drop={column}")
    return features


def with_labels(
    tables: Sequence[pd.DataFrame], settings: TableSettings, files: Sequence[Path]
) -> tuple[TableSettings, Kind, list[pd.DataFrame]]:
    """Return the settings with expanded columns, the kind of labels, and tables with typed label columns.

    Args:
        tables: All rows of the table and of its test file, if any; a column has the same type in both.

    Raises:
        UnknownNameError: A label column does not exist.
        DataError: The labels are ambiguous.
    """
    tables = [_as_objects(table, {settings.split, settings.group, settings.time}) for table in tables]
    first = tables[0]
    labels, drop, categories, keep = (
        _named(one, first.columns) for one in (settings.labels, settings.drop, settings.categories, settings.keep)
    )
    settings = replace(settings, labels=labels, drop=drop, categories=categories, keep=keep)
    for column in (*labels, *drop, *filter(None, (settings.group, settings.time))):
        require_column(first.columns, column, files[0])
    texts = pd.concat([table[list(labels)] for table in tables], ignore_index=True)
    whole = texts if settings.separator is not None else texts.apply(_typed_labels)
    kind = settings.kind or ("multi-label" if settings.separator else _kind_of(whole, files[0]))
    for name in labels if kind in ("classification", "regression") else ():
        held = [one.strip() for one in spelled(texts[name])[1]] if is_text(whole[name]) else []
        if _are_all(held, ANY_NUMBER) and not _are_all(held, NUMBER):
            raise DataError(
                f"{files[0]}: label column {name!r} holds {held[0]!r}, whose separators could be decimal or "
                "thousands; write 1234.5"
            )
    if kind == "classification":
        _refuse_one_value_in_two_spellings(texts[labels[0]], files[0])
    ends = np.cumsum([len(table) for table in tables])
    parts = [whole.iloc[end - len(table) : end].set_index(table.index) for table, end in zip(tables, ends, strict=True)]
    return settings, kind, [table.assign(**part) for table, part in zip(tables, parts, strict=True)]


def _are_all(texts: Sequence[str], pattern: str) -> bool:
    return all(re.fullmatch(pattern, one) for one in texts)


def _as_objects(table: pd.DataFrame, names: Set[str | None]) -> pd.DataFrame:
    places = [str(one) for one in table if one in names and isinstance(table[one].dtype, pd.ArrowDtype)]
    return table.assign(**{one: as_objects(table[one]) for one in places})


def _typed_labels(column: pd.Series) -> pd.Series:
    """Return labels as numbers or booleans if all are; otherwise as text, in which None or NA is a class."""
    if isinstance(column.dtype, pd.StringDtype) or not is_text(column):  # typed text of a parquet file stays text
        return column
    places, distinct = spelled(column)
    values = typed(pd.Series([*distinct, None] if (places < 0).any() else distinct, dtype=object))
    if pd.api.types.is_numeric_dtype(values) and not (
        (values.abs() >= _LONGEST).any() and any(re.fullmatch(r"[+-]?\d{19,}", one.strip()) for one in distinct)
    ):
        return pd.Series(values.to_numpy()[places], column.index, name=column.name)
    made: list[str | None] = [one if one.strip() else None for one in distinct]
    if all(one.strip().lower() in ("true", "false", "none", "na", "nan", "null") for one in distinct):
        truths = (one.strip().capitalize() for one in distinct)
        made = [one if one in ("True", "False") else raw for one, raw in zip(truths, distinct, strict=True)]
    text = pa.array(made, pa.string()).take(pa.array(places, mask=places < 0))
    return pd.Series(as_codes(pa.chunked_array([text])).array, column.index, name=column.name)


def read_labels(
    rows: pd.DataFrame, settings: TableSettings, kind: Kind, path: Path, *, names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Return labels of some rows, and the names of several labels.

    Args:
        settings: From `with_labels`, as are the rows and the kind.
        names: Names of several labels, from the training rows; None to take those of these rows.

    Raises:
        DataError: The labels do not fit their kind.
    """
    labels = rows[list(settings.labels)]
    if kind != "classification":
        labels = _as_objects(labels, set(settings.labels))
    if kind != "multi-label":
        return _checked_labels(labels, kind, path), None
    if labels.shape[1] > 1:
        return flags(labels, path), tuple(map(str, labels.columns))
    held = named_labels(labels.iloc[:, 0], settings.separator, path)
    all_names = tuple(names if names is not None else sorted({name for row in held for name in row}))
    if not all_names:
        raise DataError(f"{path}: label column {labels.columns[0]!r} is empty in every row; choose another")
    return label_matrix(held, all_names, path), all_names


def _refuse_one_value_in_two_spellings(column: pd.Series, path: Path) -> None:
    if not is_text(column):
        return
    texts = pd.Series(spelled(column)[1], dtype=object)
    plain = texts.str.strip()
    if plain.str.fullmatch(NUMBER).all():
        numbers = plain.map(lambda one: int(one) if re.fullmatch(r"[+-]?\d+", one) else float(one))
    elif plain.str.lower().isin(("true", "false")).all():
        numbers = plain.str.lower()
    else:
        return
    twins = texts[numbers.duplicated(keep=False)]
    if len(twins):
        first, second = twins[numbers == numbers[twins.index[0]]].iloc[:2]
        raise DataError(
            f"{path}: label column {str(column.name)!r} writes one value as {first!r} and as {second!r}, which could "
            "be one class or two; write one class in one way, or begin different labels with a letter"
        )


def _checked_labels(labels: pd.DataFrame, kind: Kind, path: Path) -> np.ndarray:
    for name in labels.columns:
        missing = labels[name].isna().to_numpy()
        if not missing.all() and not is_text(labels[name]):
            missing = missing | labels[name].isin([np.inf, -np.inf]).to_numpy()
        if missing.any():
            raise DataError(
                f"{path}: label column {name!r} is empty, NA or infinite in {missing.sum()} of {len(labels)} rows "
                f"(first: {place_of(labels.index, int(missing.argmax()))}); "
                + ("name a part with labels, as in test=validation" if missing.all() else "remove those rows")
            )
    if kind == "classification":
        if labels.shape[1] > 1:
            raise DataError(
                f"{path}: {labels.shape[1]} label columns are given ({', '.join(map(str, labels.columns))}); expected "
                "one for classes, or kind=multi-label"
            )
        values = labels.iloc[:, 0]
        if pd.api.types.is_numeric_dtype(values):
            return np.asarray(values)
        if not is_text(values):
            return _as_text(values, path).to_numpy(dtype=np.str_)
        places, distinct = spelled(values)
        return np.asarray(np.asarray(distinct, dtype=np.str_)[places])
    numbers = np.empty(labels.shape)
    for place, name in enumerate(labels.columns):
        column = pd.to_numeric(labels[name], errors="coerce")
        strange = labels[name][column.isna()]
        if len(strange):
            raise DataError(f"{path}: label column {name!r} holds {strange.iloc[0]!r}; expected numbers for regression")
        numbers[:, place] = column
    return numbers


def _as_text(values: pd.Series, path: Path) -> pd.Series:
    """Return class labels as text; bytes are text in UTF-8."""
    strange = next((value for value in values if np.ndim(value) > 0 or isinstance(value, Mapping | Set)), None)
    if strange is not None:
        raise DataError(
            f"{path}: label column {str(values.name)!r} holds {type(strange).__name__}s, as in {str(strange)[:40]!r}; "
            "expected one text or number per row, or kind=multi-label for several labels"
        )
    try:
        return values.map(lambda value: value.decode() if isinstance(value, bytes) else str(value))
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: label column {str(values.name)!r} is not UTF-8 text; save it as text") from error


def _kind_of(labels: pd.DataFrame, path: Path) -> Kind:
    """Infer the kind of labels; raises DataError if it is ambiguous."""
    columns = [labels[name] for name in labels.columns]
    numeric = [pd.api.types.is_numeric_dtype(column) for column in columns]
    if len(columns) == 1:
        name = str(labels.columns[0])
        if not numeric[0] or pd.api.types.is_bool_dtype(columns[0]):
            return "classification"
        how = f"say kind=regression or kind=classification, as in ?label={name}&kind=regression"
        return kind_of_numbers(columns[0].dropna().to_numpy(), what=f"{path}: label column {name!r}", how=how)
    flags = [str(column.name) for column in columns if set(column.dropna().unique()) <= {0, 1}]
    floating = [pd.api.types.is_float_dtype(column) for column in columns]
    if all(numeric) and (flags or not any(floating)):
        shown = " and ".join(repr(str(name)) for name in labels.columns)
        what = f"{flags[0]!r} has only 0 and 1" if flags else "they have only whole numbers"
        raise DataError(
            f"{path}: label columns {shown} could be numbers to predict or several labels ({what}); give "
            "kind=regression or kind=multi-label"
        )
    return "regression"


def rows_of_table(
    table: pd.DataFrame, settings: TableSettings, kind: Kind, path: Path, *, inputs: Sequence[str], seed: int
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"], str]:
    """Return the positions of the training and test rows of a table of texts or image files.

    Args:
        settings: From `with_labels`, as is the kind.
        inputs: The columns of the inputs.

    Returns:
        Both, and a note on the excluded rows.

    Raises:
        DataError: An unused column looks like a train/test split, or there are too few rows.
    """
    if settings.split is None and settings.test_share is None:
        unread = table.drop(columns=[*settings.labels, *inputs])
        _refuse_names_of_parts(unread, path, otherwise="test_share=0.2 for rows that are drawn")
    return _rows(table, settings, kind, path, seed)


def _rows(
    table: pd.DataFrame, settings: TableSettings, kind: Kind, path: Path, seed: int
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"], str]:
    if settings.split is not None:
        return _split_rows(table, settings, path)
    labels, names = read_labels(table, settings, kind, path)
    return rows_of_parts(
        labels,
        settings.test_share,
        name=str(path),
        kind=kind,
        label_names=names,
        seed=seed,
        apart=apart_by(table, settings, path),
    )


def apart_by(table: pd.DataFrame, settings: TableSettings, path: Path) -> Apart:
    """Return groups and times of the rows from the columns in the settings; raises like `read_apart_by`."""
    return read_apart_by(table, settings.group, settings.time, str(path), settings.dates)


def _split_rows(
    table: pd.DataFrame, settings: TableSettings, path: Path
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"], str]:
    """Return the rows of both parts of a table with a column of parts; both must occur."""
    split = settings.split or ""
    require_column(table.columns, split, path)
    values = sorted({str(value) for value in table[split].dropna().unique()})

    def labels(part: str) -> list[object]:
        rows = table[table[split].map(str) == part]
        return [value for name in settings.labels for value in rows[name].tolist()]

    named = split_names(values, f"{path}: column {split!r}", labels=labels)
    if named is None or any(one.lower() not in ALL_NAMES for one in values) or table[split].isna().any():
        raise DataError(
            f"{path}: column {split!r} holds {', '.join(values[:5]) or 'no values'}; expected 'train' or 'test' in "
            f"every row (or others of {', '.join(ALL_NAMES)}), each at least once"
        )
    own, other = (np.flatnonzero(table[split] == part) for part in (named.train, named.test))
    return own, other, named.note


def _refuse_names_of_parts(unread: pd.DataFrame, path: Path, *, otherwise: str) -> None:
    """Refuse, with a DataError, an unused column that looks like a train/test split.

    Args:
        otherwise: Advice if it is not one; "{column}" is replaced by its name.
    """
    for column in [one for one in unread if not pd.api.types.is_numeric_dtype(unread[one])]:
        texts = coded(unread[column])[1] if is_text(unread[column]) else unread[column].dropna()
        if any(str(value).strip().lower() not in ALL_NAMES for value in texts if str(value).strip()):
            continue
        values = {str(value).strip().lower() for value in texts} - {""}
        if split_names(values, f"{path}: column {column!r}") is not None:
            raise DataError(
                f"{path}: column {column!r} has only {listed(sorted(values))}, like a train/test split; give "
                f"split={column} for that, or {otherwise.format(column=column)}"
            )


def require_column(columns: Collection[object], column: str, path: Path) -> None:
    """Refuse, with an UnknownNameError, a column that a table does not have."""
    if column not in columns:
        raise unknown_name(f"column of {path.name}", column, [str(name) for name in columns])
