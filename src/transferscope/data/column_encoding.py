"""How each column of a table becomes numbers: decided on training rows, kept as plain data, applied to any rows.

Categories are counted off in columns of 0 and 1 with rare ones together, gaps are filled with the median and flagged,
dates become days and their places in the year, the week and the day. What scikit-learn's `OneHotEncoder`
(min_frequency, handle_unknown="infrequent_if_exist") and `SimpleImputer` (median, add_indicator) do, which the tests
compare with; those keep what they learnt as pickles, which are programs, and this is written as text into exported
networks.
"""

import datetime
import decimal
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64

from transferscope.errors import DataError
from transferscope.wording import counted

LEAST_ROWS = 5
"""Training rows that a value of a category must have for a feature of its own; rarer ones share one."""

MOST_VALUES = 100
"""Values of one category with features of their own, the most frequent."""

DayOrder = Literal["day-first", "month-first"]

_ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?\s?(Z|UTC|[+-]\d{2}:?\d{2})?"
_OTHER_DATE = r"\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})"
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_SEPARATED = r"[+-]?(\d{1,3}([,.' \u00a0\u202f]\d{3})+([.,]\d+)?|\d+,\d+)"
_MANY = 20  # rows in which different whole numbers of a narrow range are no chance
_DAY = 86_400.0
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}  # in days

ColumnKind = Literal["number", "truth", "category", "date", "left out"]


@dataclass(frozen=True, slots=True)
class ColumnEncoding:
    """What one column becomes.

    Attributes:
        name: The column.
        kind: "number" stays one, "truth" is 0 or 1, "category" a feature for each value, "date" days and cycles, and
            "left out" nothing.
        middle: Median of the training rows, for rows without a number or date.
        has_gaps: Whether training rows have gaps, so that a feature says where they are.
        values: Values of a category with a feature each.
        has_others: Whether rarer values share a feature, which values that no training row has get too.
        cycles: Of a date: "year", "week", "day", those in which training rows differ.
        order: How dates that are not written as 2021-03-31 are read; None for those that are.
        why: Why it is left out, or what was seen that a reader should know.
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

    @property
    def features(self) -> tuple[str, ...]:
        """The names of its features."""
        gaps = (f"{self.name} is missing",) if self.has_gaps else ()
        if self.kind == "category":
            others = (f"{self.name}: other",) if self.has_others else ()
            return (*(f"{self.name} = {value}" for value in self.values), *others, *gaps)
        if self.kind == "date":
            waves = (f"{self.name}: {wave} of the {cycle}" for cycle in self.cycles for wave in ("sine", "cosine"))
            return (self.name, *waves, *gaps)
        return () if self.kind == "left out" else (self.name, *gaps)

    @property
    def words(self) -> str:
        """What was done to it, for a reader."""
        if self.kind == "left out":
            return f"left out: {self.why}"
        said = {
            "number": "number",
            "truth": "truth value, 0 or 1",
            "category": f"category of {counted(len(self.values), 'value')}"
            f"{' and the rarer together' if self.has_others else ''}",
            "date": f"date{f' ({self.order})' if self.order else ''}: days"
            f"{''.join(f', place in the {cycle}' for cycle in self.cycles)}",
        }[self.kind]
        filled = "" if self.kind == "category" else f", filled with the median ({self.middle:.6g})"
        if self.kind == "date":
            filled = f", filled with the median ({_day(self.middle)})"
        gaps = f"; gaps have a feature of their own{filled}" if self.has_gaps else ""
        return f"{said}{gaps}{f'; {self.why}' if self.why else ''}"


@dataclass(frozen=True, slots=True)
class TableEncoding:
    """What every feature column of a table becomes, in the order of the table.

    Attributes:
        columns: One for each, those that are left out included.
    """

    columns: tuple[ColumnEncoding, ...]

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers that stay as they are."""
        return all(one.kind in ("number", "truth", "left out") and not one.has_gaps for one in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(feature for one in self.columns for feature in one.features)

    @property
    def words(self) -> str:
        """What was done to all, in a sentence."""
        kinds = [one.kind for one in self.columns]
        names = {"number": "numbers", "truth": "truth values", "date": "dates", "category": "categories"}
        counts = [f"{counted(kinds.count(k), 'column')} of {word}" for k, word in names.items() if k in kinds]
        gaps = sum(one.has_gaps for one in self.columns)
        left = [f"{one.name} ({one.why})" for one in self.columns if one.kind == "left out"]
        seen = [f"{one.name}: {one.why}" for one in self.columns if one.kind != "left out" and one.why]
        shown = ", ".join(left[:5]) + (f" and {len(left) - 5} others" if len(left) > 5 else "")
        return (
            f"{counted(len(self.features), 'feature')} from {', '.join(counts)}"
            f"{f' ({gaps} with gaps)' if gaps else ''}{f'; left out: {shown}' if left else ''}"
            f"{f'; {chr(59).join(seen[:3])}' if seen else ''}"
        )

    def apply(self, table: pd.DataFrame, path: Path) -> Float64[np.ndarray, "N D"]:
        """The features of rows of a table that has these columns, in any order.

        Args:
            table: The rows.
            path: Where they are from, for messages.

        Raises:
            DataError: A column is not of the kind that it has in the training rows.
        """
        found = [_features(table[one.name], one, path) for one in self.columns if one.kind != "left out"]
        return np.column_stack(found) if found else np.empty((len(table), 0))

    def remarks(self, table: pd.DataFrame) -> tuple[str, ...]:
        """What rows have that no training row had, in a sentence for each column."""
        said = []
        for one in self.columns:
            if one.kind == "category" and not one.has_others:
                text = _as_category(table[one.name])
                n = int((~text.isin(one.values) & text.notna()).sum())
                new = f"column {one.name!r}: {counted(n, 'row')} with a value that no training row has, for which"
                said += [f"{new} there is no feature"] if n else []
            n_gaps = int(_without_blanks(table[one.name]).isna().sum()) if one.kind != "left out" else 0
            if n_gaps and not one.has_gaps:
                filled = "no feature says so" if one.kind == "category" else "the median of these stands there"
                said.append(f"column {one.name!r}: {counted(n_gaps, 'gap')}, where no training row has one; {filled}")
        return tuple(said)


def fit_encoding(
    train: pd.DataFrame, path: Path, *, categories: Set[str] = frozenset(), order: DayOrder | None = None
) -> TableEncoding:
    """Decide what columns become; labels and test rows are not looked at.

    Args:
        train: The feature columns of the training rows.
        path: Where they are from, for messages.
        categories: Columns that are categories whatever they hold, as numbers that stand for names are.
        order: How dates as 3/4/2021 are read; None to take the one order in which all dates of a column exist, and to
            refuse those that exist in both.

    Raises:
        DataError: A column cannot be told for what it is, or holds what is neither number, text, truth value nor date.
    """
    return TableEncoding(tuple(_fitted(train[name], path, name in categories, order) for name in train.columns))


def _fitted(column: pd.Series, path: Path, declared: bool, order: DayOrder | None) -> ColumnEncoding:
    name, kind = str(column.name), "category" if declared else _kind_of(column, path)
    if kind == "left out":
        return ColumnEncoding(name, "left out", why="empty in every training row")
    if kind == "category":
        return _fitted_category(column, declared)
    if kind == "date":
        order = _day_order(column, order, path)
        days = _as_days(column, order, path)
        gaps = bool(np.isnan(days).any())
        known = days[~np.isnan(days)]
        cycles = tuple(
            cycle
            for cycle, length in _CYCLES.items()
            if np.ptp(np.floor(known % length)) > 0 or (cycle == "day" and np.ptp(known % 1.0) > 0)
        )
        if np.ptp(known) == 0 and not gaps:
            return ColumnEncoding(name, "left out", why=f"always {_day(known[0])}")
        return ColumnEncoding(name, "date", float(np.median(known)), gaps, cycles=cycles, order=order)
    numbers = _as_numbers(column, path)
    gaps = bool(np.isnan(numbers).any())
    known = numbers[~np.isnan(numbers)]
    if np.ptp(known) == 0 and not gaps:
        return ColumnEncoding(name, "left out", why=f"always {known[0]:.6g}")
    counts = kind == "number" and _counts_rows(known)
    why = "whole numbers that count the rows; drop them if they number rows" if counts else ""
    return ColumnEncoding(name, "truth" if kind == "truth" else "number", float(np.median(known)), gaps, why=why)


def _counts_rows(known: Float64[np.ndarray, " n"]) -> bool:
    """Whether numbers may be those of rows, some of which may be missing: those of test rows, or rows left out."""
    if (known % 1 != 0).any() or len(np.unique(known)) < len(known):
        return False
    share = len(known) / float(np.ptp(known) + 1)
    return share == 1 if len(known) < _MANY else share > 0.5


def _fitted_category(column: pd.Series, declared: bool) -> ColumnEncoding:
    name, text = str(column.name), _as_category(column)
    counts = text.value_counts()
    gaps = bool(text.isna().any())
    if not len(counts):
        return ColumnEncoding(name, "left out", why="empty in every training row")
    if len(counts) == text.notna().sum() > 2 and not declared:
        return ColumnEncoding(name, "left out", why="another text in every row, as an identifier has")
    ordered = sorted(counts.index, key=lambda value: (-counts[value], value))
    kept = [value for value in ordered if counts[value] >= LEAST_ROWS][:MOST_VALUES]
    others = len(kept) < len(counts)
    if not kept:
        return ColumnEncoding(
            name, "left out", why=f"none of its {len(counts)} values is in {LEAST_ROWS} training rows"
        )
    if len(kept) == 1 and not others and not gaps:
        return ColumnEncoding(name, "left out", why=f"always {kept[0]!r}")
    return ColumnEncoding(name, "category", has_gaps=gaps, values=tuple(sorted(kept)), has_others=others)


def _kind_of(column: pd.Series, path: Path) -> ColumnKind:
    """What a column is, by its type and, for text, by all of its values."""
    if pd.api.types.is_bool_dtype(column):
        return "truth"
    if pd.api.types.is_numeric_dtype(column):
        return "number" if column.notna().any() else "left out"
    if pd.api.types.is_datetime64_any_dtype(column):
        return "date" if column.notna().any() else "left out"
    values = _without_blanks(column).dropna()
    if not len(values):
        return "left out"
    held = {type(value) for value in values}
    if held == {bool}:
        return "truth"
    if all(issubclass(one, datetime.date) for one in held):
        return "date"
    if all(issubclass(one, decimal.Decimal | int | float) for one in held):
        return "number"
    if held != {str}:
        strange = next(one for one in held if one is not str)
        raise DataError(
            f"{path}: column {column.name!r} holds values of the type {strange.__name__}; expected numbers, text, "
            f"truth values or dates: convert it, or leave it out with drop={column.name}"
        )
    return _kind_of_text(values.str.strip(), path)


def _kind_of_text(values: pd.Series, path: Path) -> ColumnKind:
    name = values.name
    if values.str.fullmatch(_ISO_DATE).all() or values.str.fullmatch(_OTHER_DATE).all():
        return "date"
    plain, separated = values.str.fullmatch(_NUMBER), values.str.fullmatch(_SEPARATED)
    if (plain | separated).all() and separated.any():
        raise DataError(
            f"{path}: column {name!r} holds {values[separated].iloc[0]!r}, a number with separators or a decimal "
            f"comma; write numbers plainly, as in 1234.5, or say category={name} if they stand for names"
        )
    distinct = values.drop_duplicates()
    numbers = plain[distinct.index]
    if numbers.mean() > 0.5:
        word = "; leave gaps empty" if (~numbers).sum() == 1 else ""
        strange = f"{distinct[~numbers].iloc[0]!r} among numbers" if (~numbers).any() else "numbers as text"
        raise DataError(
            f"{path}: column {name!r} holds {strange}{word}, or say category={name} if they stand for names"
        )
    return "category"


def _features(column: pd.Series, one: ColumnEncoding, path: Path) -> Float64[np.ndarray, "N K"]:
    """The features of one column."""
    if one.kind == "category":
        text = _as_category(column)
        found = [(text == value).to_numpy(dtype=np.float64) for value in one.values]
        if one.has_others:
            found.append((~text.isin(one.values) & text.notna()).to_numpy(dtype=np.float64))
        missing = text.isna().to_numpy()
    else:
        numbers = _as_days(column, one.order, path) if one.kind == "date" else _as_numbers(column, path)
        missing = np.isnan(numbers)
        filled = np.where(missing, one.middle, numbers)
        found = [filled]
        for cycle in one.cycles:
            angle = 2 * np.pi * filled / _CYCLES[cycle]
            found += [np.sin(angle), np.cos(angle)]
    return np.column_stack([*found, missing] if one.has_gaps else found).astype(np.float64)


def _as_numbers(column: pd.Series, path: Path) -> Float64[np.ndarray, " N"]:
    """Numbers or truth values, NaN where there is none.

    Raises:
        DataError: One is infinite or no number.
    """
    plain = pd.api.types.is_numeric_dtype(column)
    numbers = column if plain else pd.to_numeric(_without_blanks(column), errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    given = _without_blanks(column).notna().to_numpy()
    wrong = np.flatnonzero((np.isnan(values) & given) | np.isinf(values)).tolist()
    if len(wrong):
        raise DataError(
            f"{path}: column {column.name!r} holds {str(column.iloc[wrong[0]])!r} in row {_row(column, wrong[0])}; "
            "expected a finite number or nothing"
        )
    return np.asarray(values)


def _as_days(column: pd.Series, order: DayOrder | None, path: Path) -> Float64[np.ndarray, " N"]:
    """Dates and times as days since 1970 (UTC where they say an offset), NaN where there is none.

    Raises:
        DataError: One is no date.
    """
    given = _without_blanks(column)
    if given.dropna().map(lambda value: isinstance(value, str)).all():
        found = given.map(lambda text: _moment(text.strip(), order), na_action="ignore")
    else:
        found = given
    found = pd.to_datetime(found, utc=True, errors="coerce")
    wrong = np.flatnonzero((found.isna() & given.notna()).to_numpy()).tolist()
    if len(wrong):
        raise DataError(
            f"{path}: column {column.name!r} holds {str(column.iloc[wrong[0]])!r} in row {_row(column, wrong[0])}, "
            "which is no date; mend it, or leave it empty"
        )
    seconds = (found - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    return seconds.to_numpy(dtype=np.float64, na_value=np.nan) / _DAY


def _day_order(column: pd.Series, said: DayOrder | None, path: Path) -> DayOrder | None:
    """The order that was said, or the one in which all dates of a column exist; None where the year comes first.

    Raises:
        DataError: They exist in both orders, or in none.
    """
    values = _without_blanks(column).dropna()
    if not all(isinstance(value, str) and re.fullmatch(_OTHER_DATE, value.strip()) for value in values):
        return None
    if said is not None:
        return said
    orders: tuple[DayOrder, ...] = ("day-first", "month-first")
    possible = [order for order in orders if all(_moment(value.strip(), order) for value in values)]
    if len(possible) == 1:
        return possible[0]
    shown = f"{path}: column {column.name!r} holds dates as {values.iloc[0]!r}"
    if possible:
        raise DataError(
            f"{shown}, of which day and month could be either in every row; write dates as 2021-03-31, or say "
            "dates=day-first or dates=month-first"
        )
    raise DataError(f"{shown}, which exist neither all with the day first nor all with the month first; mend them")


def _moment(text: str, order: DayOrder | None) -> datetime.datetime | None:
    """A date or time in UTC; None for text that is none."""
    try:
        if order is not None and re.fullmatch(_OTHER_DATE, text):
            first, second, year = (int(part) for part in re.split(r"[./-]", text))
            day, month = (first, second) if order == "day-first" else (second, first)
            year += 0 if year > 99 else 2000 if year < 69 else 1900  # as POSIX has it
            return datetime.datetime(year, month, day, tzinfo=datetime.UTC)
        moment = datetime.datetime.fromisoformat(re.sub(r"\s?(Z|UTC)$", "+00:00", text))
        return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)
    except ValueError:
        return None


def _as_category(column: pd.Series) -> pd.Series:
    """Values as text, missing where they are missing or blank; whole numbers without a point."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        numbers = column.dropna()
        return pd.Series([f"{value:.15g}" for value in numbers], index=numbers.index, dtype=object).reindex(
            column.index
        )
    kept = _without_blanks(column.astype(object))
    return kept.map(lambda value: str(value).strip(), na_action="ignore")


def _without_blanks(column: pd.Series) -> pd.Series:
    """The column with text that is empty taken for missing, and bytes and categories as what they hold."""
    if isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype):
        column = column.astype(object)
    if column.dtype != object:
        return column

    def plain(value: object) -> object:
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"column {column.name!r} holds bytes that are no text in UTF-8; save it as text, or leave it out "
                    f"with drop={column.name}"
                ) from error
        return None if isinstance(value, str) and not value.strip() else value

    return column.map(plain).where(lambda found: found.notna(), None)


def _row(column: pd.Series, place: int) -> int:
    """The row of the file, from 1, at a place among the rows that were taken."""
    return int(column.index[place]) + 1


def _day(days: float) -> str:
    return str(np.datetime64(round(days * _DAY), "s")).removesuffix("T00:00:00")


def check_same_columns(own: Sequence[str], other: Mapping[str, object] | Sequence[str], path: Path, of: Path) -> None:
    """Refuse features of other names than those of the table whose encoding is shared.

    Raises:
        DataError: One lacks a column of the other.
    """
    lacking = [name for name in other if name not in own]
    more = [name for name in own if name not in other]
    if lacking or more:
        said = [f"lacks {', '.join(lacking[:5])}" if lacking else "", f"has also {', '.join(more[:5])}" if more else ""]
        raise DataError(
            f"{path} {' and '.join(filter(None, said))}, and shares the features of {of}; give both the same columns, "
            "or leave columns out with drop="
        )
