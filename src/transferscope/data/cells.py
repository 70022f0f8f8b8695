"""What the text in a column of a table means: gaps, numbers, codes, dates and summary rows, for all readers."""

import datetime
import functools
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from transferscope.wording import few

DayOrder = Literal["day-first", "month-first"]

GAPS = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"]
) | {"1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
"""What stands for nothing in any column of features."""

MARKS = frozenset(["?", "-", "--", "—", "–", ".", "..", "..."])
"""What stands for nothing among numbers and dates; among names it is one of them."""

_GAPS_AMONG_NUMBERS = GAPS | MARKS

NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_SPACES = " '’\u00a0\u202f"
_WITH_POINT = rf"[+-]?[1-9]\d{{0,2}}([,{_SPACES}]\d{{3}})+(\.\d+)?"
_WITH_COMMA = rf"[+-]?([1-9]\d{{0,2}}([.{_SPACES}]\d{{3}})+|\d+)(,\d+)?"
ANY_NUMBER = rf"({NUMBER}|{_WITH_POINT}|{_WITH_COMMA})"
_INFINITE = r"[+-]?inf(inity)?"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_TIME = (
    r"(?P<hour>\d{1,2})(?:[:h](?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?|(?=\s?[ap]\.?m))"
    r"\s?(?P<half>[ap]\.?m\.?)?\s?(?P<zone>[+-]\d{2}:?\d{2}|[a-z]{1,5})?"
)
_DATE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
    r"(?:(?P<y1>\d{4}(?=-\d{2}-\d{2})|(?:1[89]|2[01])\d{2})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})"
    rf"|(?P<d2>\d{{1,2}})[ .-]{{0,2}}(?P<m2>{_MONTH})\.?[ ,-]{{0,2}}(?P<y2>\d{{4}}|\d{{2}})"
    rf"|(?P<m3>{_MONTH})\.? (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,? ?(?P<y3>\d{{4}})"
    r"|(?P<first>\d{1,2})[./-](?P<second_number>\d{1,2})[./-](?P<y4>\d{4}|\d{2}))"
    rf"(?:[T ,]+{_TIME})?",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(_TIME.replace("(?P<half>[ap]\\.?m\\.?)?", "(?P<half>[ap]\\.?m\\.?)"), re.IGNORECASE)
_UTC = ("z", "utc", "gmt")
_EPOCH = datetime.datetime(1970, 1, 1)

_SUMS = frozenset(
    ["total", "totals", "subtotal", "grandtotal", "all", "sum", "mean", "means", "average", "averages", "avg", "std"]
)
"""Words that say of a row that it sums others up."""
_BESIDE_SUMS = frozenset(
    ["stdev", "stddev", "sd", "se", "sem", "stderr", "median", "min", "max", "count", "overall", "25%", "50%", "75%"]
)
"""Words that say so beside those alone: Max is a name, SE a country and 50% a share."""
_FEW = 3


def is_text(column: pd.Series) -> bool:
    """Whether all values are text; gaps aside, and not where there is nothing else."""
    return bool(pd.api.types.infer_dtype(column, skipna=True) == "string")


def are_codes(texts: Sequence[str]) -> bool:
    """Whether numbers are codes: one has zeros before it (01067), or is as 1E2, which no program writes for 100."""
    if any(re.fullmatch(r"[+-]?0\d+", one) for one in texts):
        return True
    measured = any(re.fullmatch(r".*\..*|.*[eE][+-].*", one) for one in texts)
    return not measured and any(re.fullmatch(r"\d+[eE]\d+", one) for one in texts)


def typed(column: pd.Series) -> pd.Series:
    """A column of text as the numbers or truth values that all of it is, gaps and marks aside; else without gaps.

    Returns:
        int64 or float64, truth values, or text with None for `GAPS`; what is no text stays as it is.
    """
    if not is_text(column):
        return column
    column = column.astype(object)
    distinct = {one: one.strip() for one in column.dropna().unique().tolist()}
    known = {raw: text for raw, text in distinct.items() if text not in _GAPS_AMONG_NUMBERS}
    texts = list(known.values())
    if not known:
        return pd.Series(np.nan, index=column.index, name=column.name)
    are_numbers = all(re.fullmatch(NUMBER, one) or re.fullmatch(_INFINITE, one, re.I) for one in texts)
    if are_numbers and not are_codes(texts) and any(re.fullmatch(NUMBER, one) for one in texts):
        whole = all(re.fullmatch(r"[+-]?\d{1,18}", one) for one in texts)
        read = column.map({raw: int(text) if whole else float(text) for raw, text in known.items()})
        return read.astype(np.int64) if whole and read.notna().all() else read.astype(np.float64)
    if all(one.lower() in ("true", "false") for one in texts):
        read = column.map({raw: text.lower() == "true" for raw, text in known.items()})
        return read.astype(bool) if read.notna().all() else read.where(read.notna(), None)
    named = {raw: None if text in GAPS else raw for raw, text in distinct.items()}
    return column.map(named).astype(object).where(lambda one: one.notna(), None)


def with_plain_numbers(table: pd.DataFrame, separator: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table of text whose numbers have a point for their decimals and nothing between their thousands.

    A column is changed where all of it is numbers in one way of writing. One that could be in two ways (1.234, 1,234)
    is read as the other columns of its file are, or as a comma between values has it; else a comma stays, for whoever
    needs the number to refuse, and a point is read before decimals, which is said.

    Returns:
        The table, and which columns were changed, in a sentence.
    """
    numbers: dict[str, tuple[pd.Series, bool, bool]] = {}
    for name in (one for one in table.columns if is_text(table[one])):
        distinct = pd.Series(table[name].dropna().unique(), dtype=object).str.strip().str.replace("−", "-")
        known = distinct[~distinct.isin(_GAPS_AMONG_NUMBERS)]
        if len(known) and known.str.fullmatch(ANY_NUMBER).all():
            point = bool(known.str.fullmatch(f"({NUMBER}|{_WITH_POINT})").all())
            comma = bool(known.str.fullmatch(_WITH_COMMA).all())
            numbers[str(name)] = (known, point, comma)
    marked = {name: known[known.str.contains(r"[.,]")] for name, (known, _, _) in numbers.items()}
    clear = {  # a point between thousands alone (1.234.567) is one of decimals nowhere, and may be of an address
        point
        for name, (_, point, comma) in numbers.items()
        if point != comma and len(marked[name]) and (point or marked[name].str.contains(",").any())
    }
    of_file = clear.pop() if len(clear) == 1 else None
    changed: dict[str, pd.Series] = {}
    commas, points = [], []
    for name, (known, point, comma) in numbers.items():
        has_comma = bool(marked[name].str.contains(",").any())
        tied, told = point and comma and len(marked[name]) > 0, of_file is not None or separator == ","
        if not (point or comma) or (tied and has_comma and not told) or not (point or has_comma or of_file is False):
            continue
        points += [name] if tied and not told else []
        decimal_comma = comma and (not point or of_file is False)
        if not decimal_comma and known.str.fullmatch(NUMBER).all() and not table[name].str.contains("−").any():
            continue
        taken = f"[{_SPACES}{'.' if decimal_comma else ','}]"
        plain = table[name].str.strip().str.replace("−", "-").str.replace(taken, "", regex=True)
        plain = plain.str.replace(",", ".", regex=False) if decimal_comma else plain
        gap = table[name].str.strip().isin(_GAPS_AMONG_NUMBERS)
        changed[name] = table[name].where(gap, plain)
        commas += [name] if decimal_comma and has_comma else []
    notes = [
        f"{words} in {few(names)}"
        for words, names in (("numbers with a decimal comma", commas), ("points read before decimals", points))
        if names
    ]
    return table.assign(**changed), tuple(notes)


def is_date(text: str) -> bool:
    """Whether text has the form of a date, or of a time of the day with AM or PM, whether or not it exists."""
    return bool(_DATE.fullmatch(text) or _TIME_OF_DAY.fullmatch(text))


def has_no_order(text: str) -> bool:
    """Whether text has the form of a date as 3/4/2021, which does not say what is the day."""
    match = _DATE.fullmatch(text)
    return match is not None and match["first"] is not None


def days_of(value: object, order: DayOrder | None) -> float | None:
    """Days since 1970 of a date or time of the years 1 to 9999 (UTC where it says an offset); None for what is none.

    Args:
        value: Text, or a date of Python.
        order: How dates as 3/4/2021 are read; None for those that are no dates then.
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
    full = int(year) + (0 if len(year) == 4 else 2000 if int(year) < 69 else 1900)  # as POSIX has it
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
    """A table without rows that sum others up, such as a last row "Total" and "mean" among the numbers of seeds.

    A row is one where such a word stands in a column that names the rows, in one that holds numbers otherwise, or in
    the last rows of a column of names, each of which is there once.

    Args:
        naming: Columns that name what a row is of, such as a seed, task or arm.

    Returns:
        The other rows, with their index, and what was left out, in a sentence.
    """
    lost = pd.Series(False, index=table.index)
    shown: set[str] = set()
    for name in table.columns:
        column = table[name]
        if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
            continue
        text = column.where(column.notna(), "").map(lambda one: one if isinstance(one, str) else "0")
        words = text.str.lower().str.replace(r"[\s._:-]+", "", regex=True)
        here = words.isin(_SUMS)
        if not here.any():
            continue
        here |= words.isin(_BESIDE_SUMS)
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
