"""What keeps examples apart: groups, of which none is in two parts of a split, and times, with the test part later."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from jaxtyping import Int64, Shaped

from transferscope.data.arrays import Parts
from transferscope.data.cells import DayOrder, days_of
from transferscope.errors import DataError, SettingsError
from transferscope.wording import counted, few

_GROUP_WORDS = re.compile(
    r"(^|_)(patient|user|shop|site|subject|customer|household|hospital|speaker|session|store|group|person|participant)s?"
    r"(_?(id|no|nr|number|name))?$|_id$"
)
_FEW_ROWS = 50
"""On average for each value of a column that looks like a group: more rows, and it is rather a category."""


def check_one_way(group: str | None, time: str | None) -> None:
    """Refuse groups and times together, with a SettingsError: a group may have rows on either side of a time."""
    if group is not None and time is not None:
        raise SettingsError(
            "group and time are both given; give one of them, and your own test set (test=FILE) to separate by the "
            "other"
        )


def group_numbers(columns: Sequence[pd.Series], what: str) -> list[Int64[np.ndarray, " _"]]:
    """Return the group number of each row, one numbering for all parts.

    Raises:
        DataError: A row has no group.
    """
    whole = pd.concat([column.reset_index(drop=True) for column in columns], ignore_index=True)
    if whole.dtype == object:
        whole = whole.map(lambda one: one.strip() or None if isinstance(one, str) else one)
    if n := int(whole.isna().sum()):
        raise DataError(f"{what} is empty in {n} of {len(whole)} rows; give every row a group, or remove those rows")
    numbers = pd.factorize(whole)[0].astype(np.int64)
    return np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def times_of(column: pd.Series, what: str, order: DayOrder | None = None) -> Shaped[np.ndarray, " N"]:
    """Return comparable times: numbers as they are, dates as days.

    Raises:
        DataError: A row holds neither, or only some rows hold numbers.
    """
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        return numbers.to_numpy(dtype=np.float64)
    days = pd.Series([days_of(value, order) for value in column], dtype=np.float64)
    if (strange := days.isna()).any():
        first = column.iloc[int(strange.to_numpy().argmax())]
        raise DataError(
            f"{what} contains the time {str(first)[:40]!r}; expected numbers, or dates as 2026-11-28, in every row "
            "(for 3/4/2026, give dates=day-first or dates=month-first)"
        )
    return days.to_numpy(dtype=np.float64)


def check_later(train: Shaped[np.ndarray, " n"], test: Shaped[np.ndarray, " m"], what: str) -> None:
    """Refuse, with a DataError, a test part that is not later than the training part."""
    if n := int((test <= train.max()).sum()):
        raise DataError(
            f"{what}: {n} of {len(test)} test rows are not later than all training rows; give a later test part, or "
            "leave it out to split by time"
        )


def grouped(parts: Parts, numbers: Sequence[Int64[np.ndarray, " _"]], name: str) -> Parts:
    """Return both parts with the groups of their examples, and a note on the number of groups.

    Raises:
        DataError: A group is in both.
    """
    train, test = numbers
    if len(shared := np.intersect1d(train, test)):
        raise DataError(
            f"{counted(len(shared), 'group')} of {name!r} in both training and test part "
            f"({np.isin(test, shared).sum()} of {len(test)} test rows); give parts without common groups, or leave "
            "out the test part to split by group"
        )
    own, other = (replace(part, groups=one) for part, one in zip((parts.train, parts.test), numbers, strict=True))
    n_train, n_test = (len(np.unique(one)) for one in numbers)
    said = f"{n_train} groups by {name!r} in training and {n_test} others in test"
    return replace(parts, train=own, test=other, words="; ".join(filter(None, (parts.words, said))))


def group_note(table: pd.DataFrame) -> str:
    """Return a note on columns that look like groups, by name and few rows per value; "" if there is none."""
    looking = []
    for name in map(str, table.columns):
        if not _GROUP_WORDS.search(name.lower()):
            continue
        held = table[name].dropna()
        distinct = held.nunique()
        if distinct > 1 and 1.2 <= len(held) / distinct <= _FEW_ROWS:
            looking.append((name, distinct, len(held) / distinct))
    if not looking:
        return ""
    shown = few([f"{name!r} ({n:,} values, {rows:.1f} rows each)" for name, n, rows in looking], 3)
    return (
        f"{shown} may say which rows belong together: group={looking[0][0]} keeps the rows of one out of either "
        "training or test, and is no feature"
    )
