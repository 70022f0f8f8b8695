"""Interpretation of text in columns of tables: missing values, numbers, codes, dates and summary rows."""

import datetime
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from transferscope.errors import DataError
from transferscope.wording import few

DayOrder = Literal["day-first", "month-first"]

GAPS = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"]
) | {"1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
"""Text for a missing value in any feature column."""

MARKS = frozenset(["?", "-", "--", "—", "–", ".", "..", "..."])
"""Text for a missing value among numbers and dates; in a column of names it is a name."""

_GAPS_AMONG_NUMBERS = GAPS | MARKS

NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_SPACES = " '’\u00a0\u202f"
_WITH_POINT = rf"[+-]?[1-9]\d{{0,2}}([,{_SPACES}]\d{{3}})+(\.\d+)?"
_WITH_COMMA = rf"[+-]?([1-9]\d{{0,2}}([.{_SPACES}]\d{{3}})+|\d+)(,\d+)?"
ANY_NUMBER = rf"({NUMBER}|{_WITH_POINT}|{_WITH_COMMA})"
_INFINITE = r"[+-]?inf(inity)?"
_PLAIN, _ANY, _COMMA = re.compile(f"{NUMBER}|(?i:{_INFINITE})"), re.compile(ANY_NUMBER), re.compile(_WITH_COMMA)
_ARROW_GAPS = pa.array(sorted(_GAPS_AMONG_NUMBERS))
_TRIED = 50  # cells tried first, which excludes most columns without numbers
_MOST_DIGITS = 18  # of integers that fit in 64 bits

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_CLOCK = (
    r"(?P<hour>\d{1,2})(?:[:h](?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?|(?=\s?[ap]\.?m))"
    r"\s?(?P<half>[ap]\.?m\.?)"
)
_ZONE = r"\s?(?P<zone>[+-]\d{2}:?\d{2}|[a-z]{1,5})?"
_DATE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
    r"(?:(?P<y1>\d{4}(?=-\d{2}-\d{2})|(?:1[89]|2[01])\d{2})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})"
    rf"|(?P<d2>\d{{1,2}})[ .-]{{0,2}}(?P<m2>{_MONTH})\.?[ ,-]{{0,2}}(?P<y2>\d{{4}}|\d{{2}})"
    rf"|(?P<m3>{_MONTH})\.? (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,? ?(?P<y3>\d{{4}})"
    r"|(?P<first>\d{1,2})[./-](?P<second_number>\d{1,2})[./-](?P<y4>\d{4}|\d{2}))"
    rf"(?:[T ,]+{_CLOCK}?{_ZONE})?",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(_CLOCK + _ZONE, re.IGNORECASE)
"""With AM or PM: "10:30" alone may be a duration, a score or a ratio."""
_UTC = ("z", "utc", "gmt")
_EPOCH = datetime.datetime(1970, 1, 1)

_SUMS = frozenset(
    ["total", "totals", "subtotal", "grandtotal", "all", "sum", "mean", "means", "average", "averages", "avg", "std"]
)
"""Names of summary rows."""
_BESIDE_SUMS = frozenset(
    ["stdev", "stddev", "sd", "se", "sem", "stderr", "median", "min", "max", "count", "overall", "25%", "50%", "75%"]
)
"""Names of summary rows only beside those above: Max is also a name, SE a country and 50% a share."""
_BEGINS = re.compile(r"[\s._:-]*[tsgam]", re.IGNORECASE)
_FEW = 3


def is_text(column: pd.Series) -> bool:
    """Return whether all non-missing values are text, of which there is at least one."""
    if isinstance(column.dtype, pd.StringDtype | pd.ArrowDtype):  # Arrow types come from `as_codes` only
        return bool(column.notna().any())
    return column.dtype == object and bool(pd.api.types.infer_dtype(column, skipna=True) == "string")


def are_codes(texts: Sequence[str]) -> bool:
    """Return whether numbers are codes: with leading zeros (01067), or 1E2, which no program writes for 100."""
    if any(re.fullmatch(r"[+-]?0\d+", one) for one in texts):
        return True
    measured = any(re.fullmatch(r".*\..*|.*[eE][+-].*", one) for one in texts)
    return not measured and any(re.fullmatch(r"\d+[eE]\d+", one) for one in texts)


def as_arrow(column: pd.Series) -> pa.ChunkedArray:
    """Return a text column as an Arrow array, null if missing; a column of `as_codes` keeps its dictionary."""
    if isinstance(column.array, pd.arrays.ArrowExtensionArray):
        given: pa.ChunkedArray = column.array.__arrow_array__()
        return given
    return pa.chunked_array([pa.array(column.astype(object), pa.string(), from_pandas=True)])


def as_objects(text: pd.Series | pa.ChunkedArray) -> pd.Series:
    """Return text as Python objects, shared by equal cells; None for missing ones."""
    places, distinct = spelled(text)
    index = text.index if isinstance(text, pd.Series) else None
    return pd.Series(np.array([*distinct, None], dtype=object)[places], index, dtype=object)


def as_codes(text: pa.ChunkedArray) -> pd.Series:
    """Return text dictionary-encoded, which makes selection and comparison fast."""
    return pd.Series(pd.arrays.ArrowExtensionArray(text.dictionary_encode().unify_dictionaries()))


def spelled(text: pd.Series | pa.ChunkedArray, without: Collection[str] = ()) -> tuple[np.ndarray, list[str]]:
    """Return the index of each cell among the distinct texts, -1 if missing or in `without`, and these texts."""
    whole = (as_arrow(text) if isinstance(text, pd.Series) else text).unify_dictionaries().combine_chunks()
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    distinct = encoded.dictionary.to_pylist()
    counts = np.bincount(places + 1, minlength=len(distinct) + 1)[1:]  # 0 for texts of other rows of the file
    kept = [k for k, one in enumerate(distinct) if counts[k] and one.strip() not in without]
    if len(kept) == len(distinct):
        return places, distinct
    at = np.full(len(distinct) + 1, -1)
    at[kept] = np.arange(len(kept))
    return at[places], [distinct[k] for k in kept]


def coded(column: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Return the index of each cell among the distinct values, -1 if missing, and these; text may have outer spaces."""
    if is_text(column):
        return spelled(column, GAPS)
    places, distinct = pd.factorize(plain(column))
    return places, distinct.tolist()


def plain(column: pd.Series) -> pd.Series:
    """Return the column with missing-value text as missing, and bytes and categories decoded."""
    if isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype | pd.ArrowDtype):
        column = column.astype(object)
    if column.dtype != object:
        return column

    def read(value: object) -> object:
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"column {column.name!r} is not UTF-8 text; save it as text, or leave it out with "
                    f"drop={column.name}"
                ) from error
        return None if isinstance(value, str) and value.strip() in GAPS else value

    return column.map(read).where(lambda given: given.notna(), None)


def plain_numbers(text: pa.ChunkedArray) -> np.ndarray | None:
    """Return a column as numbers, except gaps and marks; None if a cell is not a number, or they may be codes.

    Returns:
        int64, or float64 with NaN for gaps.
    """
    some = [one.strip() for one in text.slice(0, _TRIED).to_pylist() if one is not None]
    if not all(one in _GAPS_AMONG_NUMBERS or _PLAIN.fullmatch(one) for one in some):
        return None
    plain = text
    values = _cast(plain, pa.float64())
    if values is None or np.isnan(values).sum() > plain.null_count:
        plain = pc.utf8_trim_whitespace(text)
        plain = pc.if_else(pc.is_in(plain, value_set=_ARROW_GAPS), pa.scalar(None, pa.string()), plain)
        values = _cast(plain, pa.float64())
        if values is None or np.isnan(values).sum() > plain.null_count:
            return None
    if plain.null_count == len(plain):
        return values
    if not np.isfinite(values).any():
        return None
    if pc.any(pc.starts_with(plain, "+")).as_py():
        plain = pc.replace_substring_regex(plain, r"^\+", "")
    leading = plain.filter(pc.or_(pc.starts_with(plain, "0"), pc.starts_with(plain, "-0")))
    leading = leading.filter(pc.invert(pc.match_substring(leading, ".")))
    if len(leading) and pc.any(pc.match_substring_regex(leading, r"^-?0\d+$")).as_py():
        return None
    if np.nanmax(np.abs(values)) < 10.0**_MOST_DIGITS and (whole := _cast(plain, pa.int64())) is not None:
        return whole if not plain.null_count else values + 0.0  # -0.0 becomes 0.0
    has_point = any("." in one for one in some if one not in _GAPS_AMONG_NUMBERS)
    for letter in "eE" if not has_point else "":
        powers = plain.filter(pc.match_substring(plain, letter))
        if len(powers) and are_codes(powers.to_pylist()) and not pc.any(pc.match_substring(plain, ".")).as_py():
            return None
    return values


def _cast(text: pa.ChunkedArray, kind: pa.DataType) -> np.ndarray | None:
    try:
        return np.asarray(pc.cast(text, kind).to_numpy())
    except pa.ArrowInvalid:
        return None


def typed(column: pd.Series) -> pd.Series:
    """Return a column of text as numbers or booleans if all of it is; otherwise without gaps.

    Returns:
        int64 or float64, booleans, or text with None for `GAPS`; other columns are unchanged.
    """
    if not is_text(column):
        return column
    text = as_arrow(column)
    values = None if pa.types.is_dictionary(text.type) else plain_numbers(text)
    values = _by_distinct_text(text) if values is None else values
    return pd.Series(values, index=column.index, name=column.name, dtype=values.dtype)


def _by_distinct_text(text: pa.ChunkedArray) -> np.ndarray:
    """Apply `typed` to cells by their distinct texts; numbers may have digits other than ASCII."""
    places, distinct = spelled(text)
    missing: list[None] = [None] * bool((places < 0).any())
    ascii_digits = (re.sub(r"\d", lambda digit: str(int(digit[0])), one) for one in distinct)
    numbers = plain_numbers(pa.chunked_array([pa.array([*ascii_digits, *missing], pa.string())]))
    if numbers is not None:
        return np.asarray(numbers[places])
    stripped = [one.strip() for one in distinct]
    truths = [None if one in _GAPS_AMONG_NUMBERS else one.lower() for one in stripped]
    if {*truths, None} <= {"true", "false", None}:
        held = [None if one is None else one == "true" for one in truths] + missing
        return np.asarray(np.array(held, dtype=object if None in held else bool)[places])
    kept = [None if bare in GAPS else one for one, bare in zip(distinct, stripped, strict=True)]
    return np.asarray(np.array([*kept, None], dtype=object)[places])


Cells = Mapping[str, pa.ChunkedArray | pd.Series]
"""Columns by name: text as Arrow arrays, others as pandas series."""


def read_cells(
    columns: Cells, separator: str, *, as_places: bool = False
) -> tuple[pd.DataFrame, Cells, tuple[str, ...]]:
    """Convert columns of plain numbers, and remove summary rows.

    A column in another number notation is converted if all of its cells fit one notation. An ambiguous column (1.234,
    1,234) is read like the other columns of its file, or as implied by a comma as separator; otherwise a comma is kept,
    and refused where a number is needed, and a point is read as the decimal mark, with a note.

    Args:
        as_places: Whether text is returned as in `as_codes`.

    Returns:
        The table, indexed by the position of each row; the original text of columns that became numbers, for all rows;
        and notes on what was changed and left out.
    """
    given: dict[str, pa.ChunkedArray | pd.Series] = dict(columns)
    texts = {
        name: as_arrow(one) if isinstance(one, pd.Series) else one
        for name, one in given.items()
        if not isinstance(one, pd.Series) or is_text(one)
    }
    numbers = {name: plain_numbers(text) for name, text in texts.items()}
    changed, notes = _without_marks(texts, numbers, separator)
    texts, given = texts | changed, given | changed
    numbers |= {name: plain_numbers(text) for name, text in changed.items()}

    def held(name: str) -> object:
        values = numbers.get(name)
        one = given[name]
        if values is not None or isinstance(one, pd.Series):
            return one if values is None else values
        return as_codes(one) if as_places else as_objects(one)

    rows, left = without_summaries(pd.DataFrame({name: held(name) for name in given}, copy=False))
    written = {name: given[name] for name, values in numbers.items() if values is not None}
    if left:
        rows = rows.assign(**{name: plain_numbers(texts[name].take(rows.index.to_numpy())) for name in written})
    return rows, written, (*notes, *left)


def _without_marks(
    texts: Mapping[str, pa.ChunkedArray], numbers: Mapping[str, np.ndarray | None], separator: str
) -> tuple[dict[str, pa.ChunkedArray], tuple[str, ...]]:
    """Convert columns of numbers in other notations to plain ones, and describe them."""
    ways: dict[str, tuple[pa.Array, bool, bool]] = {}  # distinct numbers; can the mark be a point, can it be a comma
    for name, text in texts.items():
        values = numbers[name]
        some = [one.strip().replace("−", "-") for one in text.slice(0, _TRIED).to_pylist() if one is not None]
        form = _ANY if values is None else _COMMA
        if (values is not None and values.dtype != np.float64) or not all(
            one in _GAPS_AMONG_NUMBERS or form.fullmatch(one) for one in some
        ):
            continue
        known = pc.replace_substring(pc.utf8_trim_whitespace(text.unique()), "−", "-").drop_null()
        known = known.filter(pc.invert(pc.is_in(known, value_set=_ARROW_GAPS)))
        if len(known) and _all_match(known, form.pattern):
            point = _all_match(known, f"({NUMBER}|{_WITH_POINT})")
            ways[name] = (known, point, _all_match(known, _WITH_COMMA))
    marked = {name: known.filter(pc.match_substring_regex(known, "[.,]")) for name, (known, _, _) in ways.items()}
    has_comma = {name: bool(pc.any(pc.match_substring(known, ",")).as_py()) for name, known in marked.items()}
    clear = {  # 1.234.567 is not a decimal number; it may be an address
        point for name, (_, point, comma) in ways.items() if point != comma and len(marked[name])
        and (point or has_comma[name])
    }  # fmt: skip
    if any(len(one) for one in marked.values()):
        others = [texts[name] for name, values in numbers.items() if values is not None and name not in ways]
        clear |= {True} if any(pc.any(pc.match_substring(one, ".")).as_py() for one in others) else set()
    of_file = clear.pop() if len(clear) == 1 else None
    changed: dict[str, pa.ChunkedArray] = {}
    commas, points, both = [], [], []
    for name, (known, point, comma) in ways.items():
        tied, told = point and comma and len(marked[name]) > 0, of_file is not None or separator == ","
        if not (point or comma) or (tied and has_comma[name] and not told):
            continue
        if not (point or has_comma[name] or of_file is False):
            continue
        points += [name] if tied and not told else []
        decimal_comma = comma and (not point or of_file is False)
        if tied and has_comma[name] and not decimal_comma and pc.any(pc.match_substring(marked[name], ".")).as_py():
            both.append(name)
        text = texts[name]
        is_plain = _all_match(known, NUMBER) and not pc.any(pc.match_substring(text, "−")).as_py()
        if not decimal_comma and is_plain:
            continue
        trimmed = pc.utf8_trim_whitespace(text)
        plain = pc.replace_substring(trimmed, "−", "-")
        plain = pc.replace_substring_regex(plain, f"[{_SPACES}{'.' if decimal_comma else ','}]", "")
        plain = pc.replace_substring(plain, ",", ".") if decimal_comma else plain
        changed[name] = pc.if_else(pc.is_in(trimmed, value_set=_ARROW_GAPS), text, plain)
        commas += [name] if decimal_comma and has_comma[name] else []
    notes = [
        f"{words} in {few(names)}"
        for words, names in (
            ("numbers with a decimal comma", commas),
            ("points read before decimals", points),
            ("points read before decimals and commas between thousands", both),
        )
        if names
    ]
    return changed, tuple(notes)


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, f"^({pattern})$")).as_py())


def is_date(text: str) -> bool:
    """Return whether text has the form of a date, or of a time of day with AM or PM, valid or not."""
    return bool(_DATE.fullmatch(text) or _TIME_OF_DAY.fullmatch(text))


def has_no_order(text: str) -> bool:
    """Return whether text has the form of a date as 3/4/2021, with ambiguous order of day and month."""
    match = _DATE.fullmatch(text)
    return match is not None and match["first"] is not None


def days_of(value: object, order: DayOrder | None) -> float | None:
    """Parse a date or time of the years 1 to 9999 to days since 1970 (UTC with an offset); None for other text.

    Args:
        value: Text, or a date of Python.
        order: Order of day and month in dates such as 3/4/2021; None to reject them.
    """
    if isinstance(value, pd.Timestamp):
        stamp = value if value.tzinfo is None else value.tz_convert("UTC").tz_localize(None)
        return float((stamp.to_numpy() - np.datetime64(0, "s")) / np.timedelta64(1, "s")) / 86_400
    if isinstance(value, datetime.datetime):
        away = value.utcoffset() or datetime.timedelta(0)
        return (value.replace(tzinfo=None) - _EPOCH - away).total_seconds() / 86_400
    if isinstance(value, datetime.date):
        return float(value.toordinal() - _EPOCH.toordinal())
    return _days_of_text(value.strip(), order) if isinstance(value, str) else None


@functools.lru_cache(maxsize=1 << 16)
def _days_of_text(text: str, order: DayOrder | None) -> float | None:
    date = _DATE.fullmatch(text)
    match = date or _TIME_OF_DAY.fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    if date is None:
        year, month, day = "1970", "1", "1"
    elif part["first"] is not None:
        if order is None:
            return None
        pair = (part["first"], part["second_number"])
        year, (day, month) = part["y4"], (pair if order == "day-first" else pair[::-1])
    else:
        year, month, day = next(
            (part[f"y{k}"], part[f"m{k}"], part[f"d{k}"]) for k in (1, 2, 3) if part[f"y{k}"] is not None
        )
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    full = int(year) + (0 if len(year) == 4 else 2000 if int(year) < 69 else 1900)  # as in POSIX
    hour, half, zone = int(part["hour"] or 0), (part["half"] or "").lower(), (part["zone"] or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half.startswith("p") else 0) if half else hour
    away = 0.0
    if zone and zone not in _UTC:
        if zone[0] not in "+-":
            return None
        away = (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 60 + int(zone[-2:])) * 60.0
    try:
        moment = datetime.datetime(full, number, int(day), hour, int(part["minute"] or 0), int(part["second"] or 0))
    except ValueError:
        return None
    return ((moment - _EPOCH).total_seconds() + float(f"0.{part['part'] or 0}") - away) / 86_400


def without_summaries(table: pd.DataFrame, naming: Sequence[str] = ()) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return a table without summary rows, such as a last row "Total" or "mean" among the numbers of seeds.

    A summary row has such a word in a column that names the rows, in an otherwise numeric column, or in the last rows
    of a column of unique names.

    Args:
        naming: Columns that identify a row, such as seed, task or arm.

    Returns:
        The other rows, with their index, and a note on what was left out.
    """
    lost = pd.Series(False, index=table.index)
    shown: set[str] = set()
    for name in table.columns:
        column = table[name]
        if column.dtype != object and not isinstance(column.dtype, pd.StringDtype | pd.ArrowDtype):
            continue
        distinct = coded(column)[1] if is_text(column) else [one for one in column if isinstance(one, str)]
        if not any(_word(one) in _SUMS for one in distinct if isinstance(one, str) and _BEGINS.match(one)):
            continue
        text = column.astype(object).where(column.notna(), "").map(lambda one: one if isinstance(one, str) else "0")
        words = text.map(_word)
        here = words.isin(_SUMS | _BESIDE_SUMS)
        others = text[~here & (text.str.strip() != "")]
        n = int(here.sum())
        at_end = here.iloc[-n:].all() and not words[here].duplicated().any() and others.nunique() > 1
        numbered = len(others) > 0 and others.str.strip().str.fullmatch(ANY_NUMBER).all()
        if name in naming or numbered or (at_end and len(table) - n >= _FEW):
            lost |= here
            shown |= set(text[here])
    if not lost.any():
        return table, ()
    what = "1 row that sums" if lost.sum() == 1 else f"{lost.sum()} rows that sum"
    return table[~lost], (f"left out {what} others up ({', '.join(sorted(shown)[:4])})",)


def _word(text: str) -> str:
    return re.sub(r"[\s._:-]+", "", text.lower())
