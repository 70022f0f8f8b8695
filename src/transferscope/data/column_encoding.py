"""Encoding of the columns of a table as numbers: fitted on training rows, stored as plain data, applied to any rows.

As with scikit-learn's `OneHotEncoder` (min_frequency, handle_unknown="infrequent_if_exist") and `SimpleImputer`
(median, add_indicator); but exported networks store it as text, since loading a pickle runs code.
"""

import datetime
import decimal
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64, Int64, Shaped

from transferscope.data.arrays import counts_rows, epoch_unit, lost_in_float32, to_float32
from transferscope.data.cells import (
    ANY_NUMBER,
    MARKS,
    NUMBER,
    DayOrder,
    are_codes,
    coded,
    days_of,
    has_no_order,
    is_date,
    is_text,
    plain,
    typed,
)
from transferscope.data.frame import place_of
from transferscope.errors import DataError
from transferscope.wording import counted, few

LEAST_ROWS = 5
"""Training rows that a value of a category must have for a feature of its own; rarer ones share one."""

MOST_VALUES = 100
"""Values of one category with features of their own, the most frequent."""

_WITH_UNIT = re.compile(
    rf"[+-]?(?P<sign>[$€£¥₹])\s?(?!0\d){ANY_NUMBER}"
    rf"|(?!0\d){ANY_NUMBER}[ \u00a0]?(?P<unit>[%‰$€£¥₹°]|°?[^\W\d_]{{1,12}}(/[^\W_]{{1,6}})?[²³]?)"
)
_NEARLY_ALL = 0.9  # share of the distinct values of a column that decides its kind
_DAY = 86_400.0
_ROWS_AT_ONCE = 4096
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}  # periods in days

ColumnKind = Literal["number", "truth", "category", "date", "left out"]


@dataclass(frozen=True, slots=True)
class ColumnEncoding:
    """The encoding of one column.

    Attributes:
        kind: "number" (unchanged), "truth" (0 or 1), "category" (one feature per value), "date" (days and cycles), or
            "left out".
        middle: Median of the training rows, which replaces missing values.
        has_gaps: Whether training rows have missing values, so that an indicator feature is added.
        values: Values of a category with a feature each.
        has_others: Whether rare values share a feature, also used for unseen values.
        cycles: For a date, those of "year", "week" and "day" that vary in training rows.
        order: Order of day and month in dates other than 2021-03-31; None for ISO dates.
        why: Reason for leaving it out, or a note for the user.
        offset: Number subtracted from a number or from the days of a date, since float32 would lose the digits that
            vary; 0 if not needed.
        epoch: For numbers that could all be times since 1970, their unit.
    """

    name: str
    kind: ColumnKind
    middle: float = 0.0
    has_gaps: bool = False
    values: tuple[str, ...] = ()
    has_others: bool = False
    cycles: tuple[str, ...] = ()
    order: DayOrder | None = None
    why: str = ""
    offset: float = 0.0
    epoch: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of its features."""
        if self.kind == "left out":
            return ()
        gaps = (f"{self.name} is missing",) if self.has_gaps else ()
        if self.kind == "category":
            others = (f"{self.name}: other",) if self.has_others else ()
            return (*(f"{self.name} = {value}" for value in self.values), *others, *gaps)
        sign = "-" if self.offset > 0 else "+"
        number = f"{self.name} {sign} {abs(self.offset):.15g}" if self.offset else self.name
        waves = (f"{self.name}: {wave} of the {cycle}" for cycle in self.cycles for wave in ("sine", "cosine"))
        return (number, *waves, *gaps)

    @property
    def words(self) -> str:
        """Description of the encoding."""
        if self.kind == "left out":
            return f"left out: {self.why}"
        filled = f", filled with the median ({self.middle:.6g})"
        if self.kind == "number":
            words = f"number{f', counted from {self.offset:.15g}' if self.offset else ''}"
        elif self.kind == "truth":
            words = "boolean, 0 or 1"
        elif self.kind == "category":
            words, filled = f"category of {counted(len(self.values), 'value')}", ""
            words += " and the rarer together" if self.has_others else ""
        else:
            words = f"date{f' ({self.order})' if self.order else ''}: days"
            words += f", counted from {_day(self.offset)}" if self.offset else ""
            words += "".join(f", place in the {cycle}" for cycle in self.cycles)
            filled = f", filled with the median ({_day(self.middle)})"
        gaps = f"; gaps have a feature of their own{filled}" if self.has_gaps else ""
        return f"{words}{gaps}{f'; {self.why}' if self.why else ''}"


@dataclass(frozen=True, slots=True)
class TableEncoding:
    """The encodings of all feature columns of a table, in its order, including those left out."""

    columns: tuple[ColumnEncoding, ...]

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers that stay as they are."""
        return all(
            one.kind in ("number", "truth", "left out") and not one.has_gaps and not one.offset for one in self.columns
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are read as text: categories and dates."""
        return tuple(one.name for one in self.columns if one.kind in ("category", "date"))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(feature for one in self.columns for feature in one.features)

    @property
    def offsets(self) -> tuple[float, ...]:
        """Number subtracted from each feature."""
        return tuple(one.offset if place == 0 else 0.0 for one in self.columns for place in range(len(one.features)))

    @property
    def indicators(self) -> tuple[bool, ...]:
        """Whether each feature is an indicator: a category value, a boolean, or a missing value."""
        return tuple(
            one.kind in ("category", "truth") or (one.has_gaps and place == len(one.features) - 1)
            for one in self.columns
            for place in range(len(one.features))
        )

    @property
    def words(self) -> str:
        """Description of all encodings, in a sentence."""
        kinds = [one.kind for one in self.columns]
        names = {"number": "numbers", "truth": "booleans", "date": "dates", "category": "categories"}
        counts = [f"{counted(kinds.count(k), 'column')} of {word}" for k, word in names.items() if k in kinds]
        gaps = sum(one.has_gaps for one in self.columns)
        left = [f"{one.name} ({one.why})" for one in self.columns if one.kind == "left out"]
        seen = [f"{one.name}: {one.why}" for one in self.columns if one.kind != "left out" and one.why]
        made = f"{counted(len(self.features), 'feature')} from {', '.join(counts)}"
        made += f" ({gaps} with gaps)" if gaps else ""
        return "; ".join([made, *([f"left out: {few(left)}"] if left else []), *seen[:3]])

    def apply(self, table: pd.DataFrame, path: Path, kind: type = np.float64) -> Float[np.ndarray, "N D"]:
        """Return the features of rows with these columns, in any order.

        Args:
            kind: Floating-point type of the result.

        Raises:
            DataError: A column has another kind, or numbers beyond the range of float32 if that is requested.
        """
        used = [one for one in self.columns if one.features]
        read = [_read(table[one.name], one, path, kind) for one in used]
        ends = np.cumsum([0, *(len(one.features) for one in used)])
        made: np.ndarray = np.empty((len(table), len(self.features)), dtype=kind)  # in large pages, unlike zeros
        for start in range(0, len(table), _ROWS_AT_ONCE):  # whose features stay in the cache
            rows = slice(start, start + _ROWS_AT_ONCE)
            made[rows] = 0.0
            for one, (values, missing), begin, end in zip(used, read, ends[:-1], ends[1:], strict=True):
                _write_features(made[rows, begin:end], one, values[rows], missing[rows])
        return made

    def lost(self, table: pd.DataFrame, path: Path) -> tuple[str, ...]:
        """Return the features in which rows differ only in digits that float32 loses."""
        of_numbers = [one for one in self.columns if one.kind in ("number", "date")]
        read = {one.features[0]: _filled(table[one.name], one, path)[0] - one.offset for one in of_numbers}
        return tuple(name for name, numbers in read.items() if lost_in_float32(numbers))

    def remarks(self, table: pd.DataFrame, train: pd.DataFrame | None = None) -> tuple[str, ...]:
        """Describe values that no training row has, one sentence per column.

        Args:
            train: The training rows; None if not available: rare values, which share a feature with unseen ones, are
                then counted too.
        """
        remarks = []
        for one in self.columns:
            if one.kind == "category":
                rare = () if train is None else _as_category(train[one.name])[1]
                places, texts = _as_category(table[one.name])
                n = int(np.isin(places, [k for k, text in enumerate(texts) if text not in {*one.values, *rare}]).sum())
                few = "few or no training rows have" if one.has_others and train is None else "no training row has"
                new = f"column {one.name!r}: {counted(n, 'row')} with a value that {few}"
                taken = f"taken as '{one.name}: other'" if one.has_others else "for which there is no feature"
                remarks += [f"{new}, {taken}"] if n else []
            column, n_gaps = table[one.name], 0
            if one.kind != "left out":
                gaps = column.isna() if pd.api.types.is_numeric_dtype(column) else coded(column)[0] < 0
                n_gaps = int(gaps.sum())
            if n_gaps and not one.has_gaps:
                filled = "no feature says so" if one.kind == "category" else "the median of these stands there"
                remarks.append(
                    f"column {one.name!r}: {counted(n_gaps, 'gap')}, where no training row has one; {filled}"
                )
        return tuple(remarks)


def fit_encoding(
    train: pd.DataFrame,
    path: Path,
    *,
    categories: Set[str] = frozenset(),
    order: DayOrder | None = None,
    beside: Sequence[pd.DataFrame] = (),
    test: pd.DataFrame | None = None,
    kept: Set[str] = frozenset(),
) -> TableEncoding:
    """Fit the encoding of columns without labels; test rows are used only to detect row numbers.

    Args:
        train: The feature columns of the training rows, as text from a file or as parsed by pandas.
        categories: Columns to treat as categories, such as numeric codes.
        order: Order of day and month in dates such as 3/4/2021; None to infer it, and to refuse ambiguous columns.
        beside: Training rows of tables that share the encoding, such as sources, with the same columns: their frequent
            values and missing values get features, too.
        test: The test rows: a column is left out if it numbers the training rows, or training and test rows together.
        kept: Columns to keep although they number the rows.

    Raises:
        DataError: The kind of a column is ambiguous, or its values are neither numbers, text, booleans nor dates.
    """

    def fitted(name: str) -> ColumnEncoding:
        others = [table[name] for table in beside if name in table]
        tested = None if test is None else test[name]
        return _fitted(train[name], path, name in categories, order, others, tested, name in kept)

    return TableEncoding(tuple(fitted(name) for name in train.columns))


def _fitted(
    column: pd.Series,
    path: Path,
    declared: bool,
    order: DayOrder | None,
    beside: Sequence[pd.Series],
    tested: pd.Series | None,
    is_kept: bool,
) -> ColumnEncoding:
    name, whole = str(column.name), column
    if beside and all(is_text(one) for one in (column, *beside)):
        whole = pd.concat([column, *beside], ignore_index=True)  # zip codes may have leading zeros in one table only
    kind = "category" if declared else _kind_of(whole, path)
    if kind == "left out":
        return ColumnEncoding(name, "left out", why="empty in every training row")
    if kind == "category":
        return _fitted_category(column, declared, beside)
    order = _day_order(whole, order, path) if kind == "date" else None
    read = [_as_numbers(one, kind, order, path) for one in (column, *beside)]
    gaps = any(bool(np.isnan(values).any()) for values in read)
    known = read[0][~np.isnan(read[0])]
    if not len(known):
        return ColumnEncoding(name, "left out", why="empty in every training row")
    if np.ptp(known) == 0 and not gaps:
        return ColumnEncoding(name, "left out", why=f"always {_day(known[0]) if kind == 'date' else f'{known[0]:.6g}'}")
    if kind == "number" and not is_kept and _counts_rows(known, tested, path):
        return ColumnEncoding(name, "left out", why=f"counts the rows; keep={name} keeps it")
    middle, offset = float(np.median(known)), _offset(known)
    if kind == "date":
        cycles = tuple(
            cycle
            for cycle, length in _CYCLES.items()
            if np.ptp(np.floor(known % length)) > 0 or (cycle == "day" and np.ptp(known % 1.0) > 0)
        )
        return ColumnEncoding(name, "date", middle, gaps, cycles=cycles, order=order, offset=offset)
    if kind == "truth":
        return ColumnEncoding(name, "truth", middle, gaps)
    units = sorted(epoch_unit(known))
    if len(units) > 1:
        raise DataError(
            f"{path}: column {name!r} holds times since 1970 in {' and in '.join(units)}; write them in one unit"
        )
    return ColumnEncoding(name, "number", middle, gaps, offset=offset, epoch="".join(units))


def _offset(known: Float64[np.ndarray, " n"]) -> float:
    """Return a round offset for numbers that float32 cannot distinguish; 0 for all others."""
    if not lost_in_float32(known):
        return 0.0
    unit = 10.0 ** np.ceil(np.log10(np.std(known)))
    return float(np.round(np.median(known) / unit) * unit)


def _counts_rows(known: Float64[np.ndarray, " n"], tested: pd.Series | None, path: Path) -> bool:
    """Return whether the numbers of training rows, or of training and test rows, are row numbers."""
    if np.ptp(known) < len(known) - 1 or (np.floor(known) != known).any():
        return False
    if counts_rows(known) or tested is None:
        return counts_rows(known)
    try:
        more = _as_numbers(tested, "number", None, path)
    except DataError:  # reported when the test rows are read
        return False
    return counts_rows(np.concatenate([known, more[~np.isnan(more)]]))


def _fitted_category(column: pd.Series, declared: bool, beside: Sequence[pd.Series]) -> ColumnEncoding:
    name, read = str(column.name), [_as_category(one) for one in (column, *beside)]
    counts = [
        Counter(dict(zip(texts, np.bincount(places[places >= 0], minlength=len(texts)).tolist(), strict=True)))
        for places, texts in read
    ]
    own, everywhere = counts[0], sum(counts, Counter[str]())
    gaps = any((places < 0).any() for places, _ in read)
    if not everywhere:
        return ColumnEncoding(name, "left out", why="empty in every training row")
    if len(everywhere) == everywhere.total() > 2 and not declared:
        return ColumnEncoding(name, "left out", why="another text in every row, as an identifier has")
    ordered = sorted(everywhere, key=lambda value: (-own[value], -everywhere[value], value))
    enough = [value for value in ordered if max(one[value] for one in counts) >= LEAST_ROWS]
    kept = sorted(enough, key=lambda value: own[value] < LEAST_ROWS)[:MOST_VALUES]  # values of its own rows first
    others = len(kept) < len(everywhere)
    if not kept:
        return ColumnEncoding(
            name, "left out", why=f"none of its {len(everywhere)} values is in {LEAST_ROWS} training rows"
        )
    if len(kept) == 1 and not others and not gaps:
        return ColumnEncoding(name, "left out", why=f"always {kept[0]!r}")
    return ColumnEncoding(name, "category", has_gaps=gaps, values=tuple(sorted(kept)), has_others=others)


def _kind_of(column: pd.Series, path: Path) -> ColumnKind:
    """Return the kind of a column, by its type and, for text, by all of its distinct values."""
    values = column
    if is_text(column):
        values = typed(pd.Series(coded(column)[1], name=column.name, dtype=object))
    values = plain(values).dropna()
    if not len(values):
        return "left out"
    if pd.api.types.is_bool_dtype(values):
        return "truth"
    if pd.api.types.is_numeric_dtype(values):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date"
    if is_text(values):
        return _kind_of_text(pd.Series(values.unique(), name=column.name, dtype=object).str.strip(), path)
    held = {type(value) for value in values}
    if held == {bool}:
        return "truth"
    if all(issubclass(one, datetime.date) for one in held):
        return "date"
    if all(issubclass(one, decimal.Decimal | int | float) for one in held):
        return "number"
    strange = next(one for one in held if one is not str)
    raise DataError(
        f"{path}: column {column.name!r} holds values of type {strange.__name__}; expected numbers, text, booleans "
        f"or dates: convert it, or leave it out with drop={column.name}"
    )


def _kind_of_text(values: pd.Series, path: Path) -> ColumnKind:
    """Return the kind of text that is neither all numbers nor booleans, by most of its distinct values."""
    name, distinct = values.name, values.drop_duplicates()
    dates, no_order = distinct.map(is_date), distinct.map(has_no_order)
    numbers = distinct.str.fullmatch(ANY_NUMBER)
    if (plain := distinct.str.fullmatch(NUMBER)).all():
        return "category"  # codes, which `typed` keeps as text
    known = ~distinct.isin(MARKS)
    if dates[known].all() and known.any() and no_order[known].nunique() == 1:
        return "date"
    units = distinct.map(_unit)
    usual = units.isin(units.value_counts().head(1).index)
    first = {which: next(iter(distinct[mask]), "") for which, mask in (("no number", ~numbers), ("no date", ~dates))}
    doubt = ""
    if numbers.mean() > 0.5:
        word = "; leave gaps empty" if (~numbers).sum() == 1 else ""
        doubt = f"{first['no number']!r} among numbers{word}"
        if numbers[known].all() and not plain[known].all():
            doubt = repr(distinct[known & ~plain].iloc[0])
            doubt += ", whose separators could be decimal or thousands; write 1234.5"
    elif dates.sum() > 2 and dates.mean() >= _NEARLY_ALL:
        doubt = f"{first['no date']!r} among dates; leave gaps empty"
        if dates.all():
            two = (distinct[no_order].iloc[0], distinct[~no_order].iloc[0])
            doubt = f"{two[0]!r} and {two[1]!r}, dates of two forms; write all as one"
    elif usual.sum() > 2 and usual.mean() >= _NEARLY_ALL:
        doubt = f"{distinct[usual].iloc[0]!r}, a number with a sign or a unit; write numbers plainly, as in 1234.5"
    if doubt:
        raise DataError(f"{path}: column {name!r} holds {doubt}, or give category={name} if they are names")
    return "category"


def _unit(text: str) -> str | None:
    """Return the sign or unit of a number, as in $5.20, 12.3% and 3 mg; None for other text."""
    match = _WITH_UNIT.fullmatch(text)
    return None if match is None else match["sign"] or match["unit"]


def _read(
    column: pd.Series, one: ColumnEncoding, path: Path, kind: type
) -> tuple[Shaped[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """Return the number of each row, or the position of its feature in a category (-1 for none), and gaps."""
    if one.kind == "category":
        places, texts = _as_category(column)
        known = {value: place for place, value in enumerate(one.values)}
        others = len(one.values) if one.has_others else -1
        return np.array([*(known.get(text, others) for text in texts), -1])[places], places < 0
    numbers, missing = _filled(column, one, path)
    if kind == np.float32:
        to_float32(numbers - one.offset, name=str(path), what=f"column {column.name!r}")
    return numbers, missing


def _write_features(
    made: Float[np.ndarray, "N K"], one: ColumnEncoding, values: np.ndarray, missing: Bool[np.ndarray, " N"]
) -> None:
    if one.kind == "category":
        rows = np.flatnonzero(values >= 0)
        made[rows, values[rows]] = 1.0
    else:
        made[:, 0] = values - one.offset
        for k, cycle in enumerate(one.cycles):
            angle = 2 * np.pi * values / _CYCLES[cycle]
            made[:, 2 * k + 1], made[:, 2 * k + 2] = np.sin(angle), np.cos(angle)
    if one.has_gaps:
        made[:, -1] = missing


def _filled(
    column: pd.Series, one: ColumnEncoding, path: Path
) -> tuple[Float64[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """Return numbers with missing values replaced by the median, and where they are."""
    numbers = _as_numbers(column, one.kind, one.order, path)
    missing = np.isnan(numbers)
    other = epoch_unit(numbers[~missing]) - {one.epoch} if one.epoch else set()
    if other:
        raise DataError(
            f"{path}: column {column.name!r} holds times since 1970 in {' and in '.join(sorted(other))}, but in "
            f"{one.epoch} in the training rows; write them in one unit"
        )
    return (np.where(missing, one.middle, numbers) if missing.any() else numbers), missing


def _as_numbers(column: pd.Series, kind: ColumnKind, order: DayOrder | None, path: Path) -> Float64[np.ndarray, " N"]:
    """Return numbers, booleans, or dates as days since 1970 (UTC with an offset); NaN if missing."""
    if kind != "date" and pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        strange = np.isinf(values)
    else:
        places, distinct = coded(column)
        if kind == "date":
            read = [np.nan if str(one).strip() in MARKS else days_of(one, order) for one in distinct]
        else:
            given = typed(pd.Series(distinct, dtype=object))
            dateless = given.map(lambda one: "a date" if isinstance(one, datetime.date) else one)  # not as nanoseconds
            numbers = pd.to_numeric(dateless, errors="coerce").astype(np.float64)
            unread = ~np.isfinite(numbers) & given.notna()
            read = [None if is_unread else number for number, is_unread in zip(numbers, unread, strict=True)]
        values = np.array([*read, np.nan], dtype=np.float64)[places]
        strange = np.isin(places, [place for place, one in enumerate(read) if one is None])
    if kind == "truth":
        strange |= ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
    if strange.any():
        raise _strange(column, int(strange.argmax()), kind, path)
    return np.asarray(values)


def _strange(column: pd.Series, place: int, kind: ColumnKind, path: Path) -> DataError:
    expected = {"truth": "a boolean, 0 or 1,", "date": "a date, as 2021-03-31,"}.get(kind, "a finite number")
    return DataError(
        f"{path}: column {column.name!r} holds {str(column.iloc[place])!r} in {place_of(column.index, place)}; "
        f"expected {expected} or nothing"
    )


def _day_order(column: pd.Series, asked: DayOrder | None, path: Path) -> DayOrder | None:
    """Return the given order, or the one in which all dates of a column are valid; None if they are unambiguous."""
    values = [one.strip() for one in coded(column)[1] if isinstance(one, str) and has_no_order(one.strip())]
    if asked is not None or not values:
        return asked if values else None
    possible: list[DayOrder] = [
        order for order in get_args(DayOrder) if all(days_of(value, order) is not None for value in values)
    ]
    if len(possible) == 1:
        return possible[0]
    shown = f"{path}: column {column.name!r} holds dates as {values[0]!r}"
    if possible:
        raise DataError(
            f"{shown}, whose day and month cannot be distinguished; write dates as 2021-03-31, or give "
            "dates=day-first or dates=month-first"
        )
    raise DataError(f"{shown}, which are all valid neither with the day first nor with the month first; fix them")


def _as_category(column: pd.Series) -> tuple[Int64[np.ndarray, " N"], list[str]]:
    """Return the index of each value among the distinct texts, -1 if missing or blank, and the distinct texts.

    Integers have no decimal point; codes are unchanged.
    """
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not is_number and not is_text(column):
        column = plain(column.astype(object)).map(str, na_action="ignore")
    places, distinct = coded(column)
    if not is_number:
        distinct = [value.strip() for value in distinct]
        is_number = all(re.fullmatch(NUMBER, one) for one in distinct) and not are_codes(distinct)
        distinct = [int(o) if re.fullmatch(r"[+-]?\d+", o) else float(o) for o in distinct] if is_number else distinct
    distinct = [_as_text(one) for one in distinct] if is_number else distinct
    own = {text: place for place, text in enumerate(dict.fromkeys(distinct))}
    return np.array([*(own[text] for text in distinct), -1])[places], [*own]


def _as_text(number: float) -> str:
    """Return a number as the text of a category: all digits of an integer, 15 of another number."""
    whole = isinstance(number, int) or (abs(number) < 2**53 and number == int(number))
    return str(int(number)) if whole else f"{number:.15g}"


def _day(days: float) -> str:
    return str(np.datetime64(round(days * _DAY), "s")).removesuffix("T00:00:00")


def check_same_columns(own: Sequence[str], other: Sequence[str], path: Path, of: Path) -> None:
    """Refuse, with a DataError, features whose names differ from those of the shared encoding."""
    lacking = [name for name in other if name not in own]
    more = [name for name in own if name not in other]
    if lacking or more:
        unlike = [f"lacks the columns {', '.join(lacking[:5])}"] if lacking else []
        unlike += [f"has the additional columns {', '.join(more[:5])}"] if more else []
        raise DataError(
            f"{path} {' and '.join(unlike)} compared with {of}; give both the same columns, or leave columns out with "
            "drop="
        )
