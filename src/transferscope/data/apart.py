"""Splits by group and time: no group is in two parts, and the test part is later."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Int64, Shaped

from transferscope.data.arrays import Parts
from transferscope.data.cells import DayOrder, days_of
from transferscope.errors import DataError
from transferscope.wording import counted, few

_GROUP_WORDS = re.compile(
    r"(^|_)(patient|user|shop|site|subject|customer|household|hospital|speaker|session|store|group|person|participant)s?"
    r"(_?(id|no|nr|number|name))?$|_id$"
)
_FEW_ROWS = 50
"""Mean number of rows per group below which a column may hold groups; with more, it is rather a category."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Groups and times of rows.

    Attributes:
        place: Location of the rows, for messages.
        group: Name of the group column, such as a patient; None for none.
        time: Name of the time column; None for none.
        groups: The group number of each row, one numbering for all parts; None without groups.
        times: Comparable times of each row; None without.
    """

    place: str = ""
    group: str | None = None
    time: str | None = None
    groups: Int64[np.ndarray, " N"] | None = None
    times: Shaped[np.ndarray, " N"] | None = None

    def take(self, rows: Int64[np.ndarray, " n"]) -> "Apart":
        """Return the groups and times of some rows."""
        groups, times = (None if one is None else one[rows] for one in (self.groups, self.times))
        return replace(self, groups=groups, times=times)

    def kept(self, parts: Parts) -> Parts:
        """Return both parts with the groups of their examples, and notes on what is kept apart.

        The rows are those of the training part, and then those of the test part.

        Raises:
            DataError: A group is in both parts, or the test part is not later.
        """
        said = [parts.words]
        n_train = len(parts.train)
        if self.times is not None:
            self._check_later(self.times[:n_train], self.times[n_train:])
            said.append(f"the test part is later by {self.time!r}")
        if self.groups is not None:
            numbers = self.groups[:n_train], self.groups[n_train:]
            said.append(self._checked(*numbers))
            own, other = (replace(one, groups=of) for one, of in zip((parts.train, parts.test), numbers, strict=True))
            parts = replace(parts, train=own, test=other)
        return replace(parts, words="; ".join(filter(None, said)))

    def _check_later(self, train: Shaped[np.ndarray, " n"], test: Shaped[np.ndarray, " m"]) -> None:
        if n := int((test <= train.max()).sum()):
            raise DataError(
                f"{self.place}: column {self.time!r}: {n} of {len(test)} test rows are not later than all training "
                "rows; give a later test part, or leave it out to split by time"
            )

    def _checked(self, train: Int64[np.ndarray, " n"], test: Int64[np.ndarray, " m"]) -> str:
        if len(shared := np.intersect1d(train, test)):
            raise DataError(
                f"{counted(len(shared), 'group')} of {self.group!r} in both training and test part "
                f"({np.isin(test, shared).sum()} of {len(test)} test rows); give parts without common groups, or leave "
                "out the test part to split by group"
            )
        n_train, n_test = (len(np.unique(one)) for one in (train, test))
        return f"{n_train} groups by {self.group!r} in training and {n_test} others in test"


def read_apart_by(
    table: pd.DataFrame, group: str | None, time: str | None, place: str, order: DayOrder | None = None
) -> Apart:
    """Return groups and times of the rows of a table: times as numbers, or as dates in days.

    Raises:
        DataError: A row has no group, or a time that is neither a number nor a date.
    """
    groups = None if group is None else _group_numbers(table[group], f"{place}: column {group!r}")
    times = None if time is None else _times_of(table[time], f"{place}: column {time!r}", order)
    return Apart(place, group, time, groups, times)


def _group_numbers(column: pd.Series, what: str) -> Int64[np.ndarray, " N"]:
    if column.dtype == object:
        column = column.map(lambda one: one.strip() or None if isinstance(one, str) else one)
    if n := int(column.isna().sum()):
        raise DataError(f"{what} is empty in {n} of {len(column)} rows; give every row a group, or remove those rows")
    return pd.factorize(column)[0].astype(np.int64)


def _times_of(column: pd.Series, what: str, order: DayOrder | None) -> Shaped[np.ndarray, " N"]:
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
