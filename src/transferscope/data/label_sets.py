"""Several labels of each input in tables: a column of 0 and 1 for each, or their names in one column."""

from collections.abc import Sequence, Set
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool

from transferscope.data.arrays import check_spellings
from transferscope.errors import DataError
from transferscope.wording import few


def flags(columns: pd.DataFrame, path: Path) -> Bool[np.ndarray, "N K"]:
    """Convert columns of 0 and 1, or of booleans, to booleans; raises DataError for other or missing values."""
    numbers = columns.apply(pd.to_numeric, errors="coerce")
    columns = columns.where(numbers.isna(), numbers)  # numbers are text in a column with other words
    for name in columns.columns:
        column = columns[name]
        strange = column[~column.isin([0, 1, True, False])]
        if len(strange):
            raise DataError(
                f"{path}: label column {str(name)!r} holds {str(strange.iloc[0])[:40]!r} in {len(strange)} of "
                f"{len(column)} rows; expected 0 or 1 in each of several label columns, or label names in one column "
                "with separator=|"
            )
    return np.asarray(columns.to_numpy(dtype=np.float64) > 0)


def named_labels(column: pd.Series, separator: str | None, path: Path) -> list[tuple[str, ...]]:
    """Return the names of the labels in each row of one column, empty if there are none.

    Args:
        column: Text with separated names, or lists of names.
        separator: The separator; None for lists.

    Raises:
        DataError: A value is neither.
    """

    def names(value: object) -> tuple[str, ...]:
        if isinstance(value, Sequence | Set | np.ndarray) and not isinstance(value, str | bytes):
            names_here = [str(one).strip() for one in value]
        elif value is None or value is pd.NA or value != value:
            return ()
        elif isinstance(value, str) and separator is not None:
            names_here = [one.strip() for one in value.split(separator)]
        elif separator is not None:
            names_here = [f"{value:g}" if isinstance(value, float) else str(value)]
        else:
            raise DataError(
                f"{path}: label column {str(column.name)!r} holds {str(value)[:40]!r}; expected lists of labels, or "
                "names with a separator, as in separator=|"
            )
        return tuple(dict.fromkeys(one for one in names_here if one))

    held = [names(value) for value in column]
    sets = [value for value in column if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)]
    alike = len({len(value) for value in sets}) == 1 and len(sets[0]) > 1
    if alike and {one for row in held for one in row} in ({"0", "1"}, {"0.0", "1.0"}, {"False", "True"}):
        raise DataError(
            f"{path}: label column {str(column.name)!r} holds lists of {len(sets[0])} numbers 0 and 1; expected lists "
            "of label names, or a column per label"
        )
    return held


def label_matrix(rows: Sequence[Sequence[str]], names: Sequence[str], path: Path) -> Bool[np.ndarray, "N K"]:
    """Return whether each row has each of the labels; raises DataError for an unknown label."""
    check_spellings(names, f"{path}: the labels", "labels")
    place = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)), dtype=np.bool_)
    for i, row in enumerate(rows):
        for name in row:
            if name not in place:
                raise DataError(
                    f"{path}: the test label {name!r} is not among the training labels {few(names, 10)}; add training "
                    "examples of it, or drop its test examples"
                )
            matrix[i, place[name]] = True
    return matrix
