"""A table of errors at sizes, as people keep it: columns in, curves out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.errors import CorruptDataError, DataError, MissingDataError, SettingsError, unknown_name
from transferscope.scaling.observations import Observations, observe

EVERYTHING = "all rows"
"""Name of the only group of a table that is not divided."""

MOST_GROUPS = 200


@dataclass(frozen=True)
class Columns:
    """Which column holds what.

    Attributes:
        error: The target error or loss.
        pretrain_size: Pre-training size n.
        finetune_size: Fine-tuning size s; None when there is only one.
        by: Columns that tell curves apart (task, model, rendering).
        stderr: Standard errors of `error`; None when unknown.
        repeats: Rows at the same sizes are repeats: their mean and its standard error are used.

    Raises:
        SettingsError: Both standard errors and repeats were asked for.
    """

    error: str = "error"
    pretrain_size: str = "n"
    finetune_size: str | None = None
    by: tuple[str, ...] = ()
    stderr: str | None = None
    repeats: bool = False

    def __post_init__(self) -> None:
        """Check that one source of weights was chosen."""
        if self.stderr is not None and self.repeats:
            raise SettingsError(
                f"both a column of standard errors ({self.stderr}) and repeats were given; choose one of them"
            )

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return tuple(
            name for name in (self.error, self.pretrain_size, self.finetune_size, self.stderr) if name is not None
        )


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It is no table.
    """
    if not path.is_file():
        raise MissingDataError(f"{path} is not a file; give a CSV table with a row for each measured error")
    try:
        frame = pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise CorruptDataError(f"{path} cannot be read as a CSV table: {error}") from None
    if len(frame.columns) == 1 and any(sign in str(frame.columns[0]) for sign in ";\t|"):
        raise CorruptDataError(
            f"{path} has one column, {str(frame.columns[0])!r}; separate columns with commas, and write decimals with "
            "a point"
        )
    if frame.empty:
        raise CorruptDataError(f"{path} has no rows; expected one for each measured error")
    return frame


def curves(frame: pd.DataFrame, columns: Columns) -> dict[str, Observations]:
    """Observations of each group, over n or over (n, s).

    Args:
        frame: A row for each measurement.
        columns: Which column holds what.

    Returns:
        Observations by the name of the group ("a, b" for two columns); a group without a usable row is left out, with
        a note on the first one that is kept.

    Raises:
        UnknownNameError: A column does not exist.
        DataError: A column holds something that is no number, or nothing is usable.
    """
    for name in (*columns.numeric, *columns.by):
        if name not in frame.columns:
            raise unknown_name("column", name, map(str, frame.columns))
    for name in columns.numeric:
        frame = frame.assign(**{name: _numeric(frame[name])})
    parts = _parts(frame, columns)
    found: dict[str, Observations] = {}
    lost = []
    for name, rows in parts.items():
        try:
            observed = _observed(rows, columns)
            named = tuple(f"{name}: {note}" for note in observed.notes) if len(parts) > 1 else observed.notes
            found[name] = replace(observed, notes=named)
        except DataError as error:
            lost.append(f"left out {name}: {error}")
    if not found:
        raise DataError(f"no row can be used: {'; '.join(lost)}")
    if lost:
        first = next(iter(found))
        everything = np.ones(len(found[first]), dtype=bool)
        found[first] = found[first].take(everything, "; ".join(lost))
    return found


def by_finetune_size(groups: Mapping[str, Observations]) -> dict[str, Observations]:
    """Curves over n alone: one for each group and fine-tuning size."""
    result = {}
    for name, data in groups.items():
        for s in np.unique(data.sizes[:, 1]):
            rows = data.sizes[:, 1] == s
            stderr = None if data.stderr is None else data.stderr[rows]
            label = f"s = {s:,.0f}" if name == EVERYTHING else f"{name}, s = {s:,.0f}"
            result[label] = Observations(data.sizes[rows, :1], data.errors[rows], stderr)
    return result


def _numeric(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    strange = column[numbers.isna() & column.notna()]
    if len(strange):
        raise DataError(
            f"column {column.name} holds {strange.iloc[0]!r} in row {int(strange.index[0]) + 1}; expected plain "
            "numbers, such as 64000"
        )
    return numbers.astype(np.float64)


def _parts(frame: pd.DataFrame, columns: Columns) -> dict[str, pd.DataFrame]:
    if not columns.by:
        return {EVERYTHING: frame}
    grouped = frame.groupby(list(columns.by), sort=False, dropna=False)
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in columns.by]
    parts = {
        ", ".join(_named(*part) for part in zip(columns.by, key, numeric, strict=True)): rows for key, rows in grouped
    }
    if len(parts) > MOST_GROUPS:
        raise DataError(
            f"the columns {', '.join(columns.by)} divide the table into {len(parts)} curves, more than {MOST_GROUPS}; "
            "choose fewer columns"
        )
    return parts


def _named(column: str, value: object, numeric: bool) -> str:
    """ "resnet", or "depth = 18": a number alone says little."""
    return f"{column} = {value}" if numeric else str(value)


def _observed(rows: pd.DataFrame, columns: Columns) -> Observations:
    names = [columns.pretrain_size] + ([columns.finetune_size] if columns.finetune_size is not None else [])
    if columns.repeats:
        return _averaged(rows, names, columns.error)
    stderr = None if columns.stderr is None else rows[columns.stderr].to_numpy()
    return observe(rows[names].to_numpy(), rows[columns.error].to_numpy(), stderr=stderr)


def _averaged(rows: pd.DataFrame, names: list[str], error: str) -> Observations:
    """Means over repeats; their standard errors come from the pooled relative spread, so that pairs can be used too."""
    summary = rows.dropna(subset=[*names, error]).groupby(names)[error].agg(["mean", "std", "count"]).reset_index()
    spread = (summary["std"] / summary["mean"].where(summary["mean"] > 0)).to_numpy()
    degrees = np.where(np.isfinite(spread), summary["count"] - 1, 0)
    sizes, mean = summary[names].to_numpy(), summary["mean"].to_numpy()
    pooled = np.sqrt((degrees * np.nan_to_num(spread) ** 2).sum() / max(degrees.sum(), 1))
    if pooled == 0:
        return observe(sizes, mean)
    return observe(sizes, mean, stderr=np.maximum(pooled * mean / np.sqrt(summary["count"]), 1e-12))
