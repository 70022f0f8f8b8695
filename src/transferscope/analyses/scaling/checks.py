"""Refusals of ambiguous tables: several curves read as one, mixed units, and a target in another unit."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import special

from transferscope.analyses.columns import LOSSES, REPEATS, words_in
from transferscope.errors import DataError, SettingsError
from transferscope.wording import few, number_words

EXPLAINS = 1e-3
"""Significance level of F tests by which a numeric column explains the errors."""

MOST_VALUES = 50
"""With more values, a column of numbers is a measurement rather than a name of curves."""

MOST_APART = 6
"""Most columns named in a message."""

UNBOUNDED = LOSSES | {"entropy", "squared", "absolute"}
"""Words in the names of metrics where lower is better and values are neither shares nor percent."""

FAR_BELOW = 10.0
"""Factor below the least measured error from which a target may be meant in percent and is refused."""

CLEARER = 3.0
"""Factor by which steps between neighbouring sizes must shrink for values up to 1 to count as shares among percent."""


@dataclass(frozen=True, slots=True)
class ToldApart:
    """A column that separates rows which would be read as one curve.

    Attributes:
        rows: Some of these rows in words: "2 rows at n = 500 differ in model (a and b)".
        may_repeat: Whether they may be repeats: they have one size, and no column of seeds leaves them as one.
    """

    column: str
    rows: str
    is_number: bool
    may_repeat: bool


def told_apart(
    frame: pd.DataFrame,
    keys: Sequence[str],
    *,
    sizes: Sequence[str],
    value: str,
    other: Collection[str] = (),
    seeds: Collection[str] = (),
) -> ToldApart | None:
    """Return the column that makes rows with equal `keys` separate curves; None if they are repeats.

    This is a column of names in which such rows differ. A numeric column, and any column if seeds already distinguish
    the rows, must explain the errors: the residuals after its means and slopes are smaller than by chance (EXPLAINS),
    and each seed belongs to one of its values. If no rows have equal keys, a column of names must explain the residuals
    of a common curve.

    Args:
        keys: Columns that identify the curve and the sizes of a row.
        sizes: Those of them that are sizes.
        other: Further columns with another known role.
        seeds: Columns known to distinguish repeats, in addition to those with such names (REPEATS).
    """
    frame = frame.reset_index(drop=True)
    numbers = frame[[value, *sizes]].apply(pd.to_numeric, errors="coerce").astype(np.float64)
    rows = frame[np.isfinite(numbers).all(axis=1) & (numbers[list(sizes)] >= 0).all(axis=1)]
    numbers = numbers.loc[rows.index]
    place = rows.groupby(list(keys), dropna=False, sort=False).ngroup()
    free = [name for name in frame.columns if name not in (*keys, value, *other)]
    if not place.duplicated().any():
        return _between_sizes(rows[free], numbers[value], numbers[list(sizes)]) if len(keys) == 1 else None
    size = rows.groupby(list(sizes), sort=False).ngroup()
    seeds = [name for name in free if name in seeds or words_in(str(name)) & REPEATS]
    by_seed = [rows[seed] for seed in seeds]
    candidates: list[tuple[int, ToldApart]] = []
    for name in free:
        column, number = _kinds(rows[name])
        differ = _differ(column, [place])
        if name in seeds or differ.max() < 2 or _differ(size, [column]).max() < 2:
            continue
        if any(_differ(column, [seed]).max() < 2 and _differ(seed, [column]).max() < 2 for seed in by_seed):
            continue  # another name of the seeds
        numbered = bool(seeds and _differ(column, [place, *by_seed]).max() < 2)
        named = not number and not numbered and column.groupby(place).nunique().max() > 1
        one_each = not numbered or _differ(column, by_seed).max() < 2
        if named or (one_each and _explains(column, place, numbers[value], numbers[list(sizes)])):
            first = rows[place == np.flatnonzero(differ == differ.max())[0]]
            where = ", ".join(f"{key} = {_cell(first[key].iloc[0])}" for key in keys)
            in_words = f"{len(first)} rows at {where} differ in {name} ({few(column[first.index].unique())})"
            left = int(pd.concat([place, column, rows[seeds]], axis=1).duplicated().sum())
            candidates.append((left, ToldApart(str(name), in_words, number, numbered or not seeds)))
    return min(candidates, key=lambda one: (one[0], one[1].is_number))[1] if candidates else None


def columns_apart(frame: pd.DataFrame, keys: Sequence[str], **facts: Any) -> tuple[ToldApart | None, tuple[str, ...]]:
    """Return the result of `told_apart`, and the columns that it names, each with those before as keys."""
    names: list[str] = []
    nearest = following = told_apart(frame, keys, **facts)
    while following is not None and len(names) < MOST_APART:
        names.append(following.column)
        following = told_apart(frame, [*names, *keys], **facts)
    return nearest, tuple(names)


def _between_sizes(free: pd.DataFrame, measured: "pd.Series[float]", sizes: pd.DataFrame) -> ToldApart | None:
    """Return the column of names whose curves lie between each other without repeated sizes; None without one."""
    for name in free:
        column, number = _kinds(free[name])
        kinds = column.iloc[sizes.iloc[:, 0].argsort()].to_numpy()
        changes = int((kinds[1:] != kinds[:-1]).sum())
        if number or words_in(str(name)) & REPEATS or column.value_counts(dropna=False).min() < 3:
            continue
        if changes >= column.nunique(dropna=False) and _explains(column, None, measured, sizes):
            return ToldApart(
                str(name), f"rows differ in {name} ({few(column.unique())}) and lie on no one curve", False, False
            )
    return None


def _kinds(column: pd.Series) -> tuple[pd.Series, bool]:
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return column if number else column.astype(str).where(column.notna()), number


def _differ(column: pd.Series, groups: list[pd.Series]) -> "pd.Series[int]":
    """Return how many different values each group of rows has; missing ones count."""
    return column.groupby(groups, dropna=False).nunique(dropna=False)


def _cell(value: object) -> str:
    return number_words(float(value)) if isinstance(value, int | float | np.number) else str(value)


def _explains(
    column: pd.Series, place: "pd.Series[int] | None", measured: "pd.Series[float]", sizes: pd.DataFrame
) -> bool:
    """Return whether a column explains the scores beyond the sizes: F test of a mean and slopes for each value of it.

    `place` is the size of each row, counted; None for a curve of second degree over the logarithm of the first size.
    """
    kinds = pd.get_dummies(column, dummy_na=bool(column.isna().any()), dtype=float)
    if not 2 <= kinds.shape[1] <= min(MOST_VALUES, len(column) // 2):
        return False
    logs = np.log1p(sizes.to_numpy(dtype=np.float64))
    smooth = np.stack([logs[:, 0] ** power for power in range(3)], axis=1)

    def beyond_sizes(values: Float[np.ndarray, "N k"]) -> Float[np.ndarray, "N k"]:
        if place is None:
            return np.asarray(values - smooth @ np.linalg.lstsq(smooth, values, rcond=None)[0])
        return np.asarray(values - pd.DataFrame(values).groupby(place.to_numpy()).transform("mean").to_numpy())

    raw = measured.to_numpy(dtype=np.float64)
    raw = np.log(raw) if (raw > 0).all() else raw
    y = beyond_sizes(raw[:, None])[:, 0]
    means = kinds.to_numpy()
    for terms in ([means, *(means * log[:, None] for log in logs.T)], [means]):
        x = beyond_sizes(np.concatenate(terms, axis=1))
        solved, _, rank, _ = np.linalg.lstsq(x, y, rcond=1e-9)
        degrees = len(y) - int(rank) - (smooth.shape[1] if place is None else place.nunique())
        total, rest = float(y @ y), float(((y - x @ solved) ** 2).sum())
        if rank > 0 and degrees > 0 and total > 1e-20 * float(raw @ raw):
            ratio = (total - rest) / rank / max(rest / degrees, 1e-30)
            if special.fdtrc(rank, degrees, ratio) < EXPLAINS / 2:
                return True
    return False


def check_units(values: pd.Series, sizes: Sequence[pd.Series], curves: pd.Series | None = None) -> None:
    """Refuse a column that mixes fractions and percentages.

    Units are mixed if steps between sizes become CLEARER times smaller once values up to 1 are multiplied by 100. A
    loss has no unit.

    Args:
        curves: Curve of each value, if curves may have different units; None otherwise.
    """
    values = values[values > 0]
    small = values <= 1
    if not small.any() or small.all() or values.max() > 100 or words_in(str(values.name)) & UNBOUNDED:
        return
    kept = [*([] if curves is None else [curves.loc[values.index]]), *(size.loc[values.index] for size in sizes)]
    order = np.lexsort([values.to_numpy(), *(pd.factorize(key, sort=True)[0] for key in reversed(kept))])
    same = np.ones(len(values) - 1, dtype=bool) if curves is None else np.diff(pd.factorize(kept[0])[0][order]) == 0
    before, after = (
        float(np.abs(np.diff(np.log(one.to_numpy()[order])))[same].sum())
        for one in (values, values.where(~small, 100 * values))
    )
    if CLEARER * after < before:
        raise DataError(
            f"column {values.name} mixes units: {small.sum()} values are at most 1 (up to {values[small].max():.4g}) "
            f"and {(~small).sum()} above 1 (from {values[~small].min():.4g}); write all as shares or all in percent"
        )


def check_target(values: pd.Series, target: float, *, quality: bool) -> None:
    """Refuse a target that is out of range, or that only makes sense in another unit or as the opposite.

    A loss has no unit and any target.

    Args:
        quality: Whether higher values are better; else they are errors.
    """
    low, high = float(values.min()), float(values.max())
    top, within = 1.0 if high <= 1 else 100.0, f"({low:.4g} to {high:.4g})"
    if not quality and (words_in(str(values.name)) & UNBOUNDED or high > 100):
        return
    percent, opposite = target if top == 1 else 100 * target, "an error" if quality else "a quality"
    others = {top - target: f"{opposite} of {target:g}"}
    if target <= 1 < top or target >= 1 == top:
        meant = top * percent / 100
        others = {meant: f"{percent:g} %", top - meant: f"{opposite} of {percent:g} %"}
    ends, otherwise = (high, top) if quality else (low / FAR_BELOW, high), ""
    if quality and not 0 < target < top:
        problem, ends = f"is out of range; expected a number between 0 and {top:g}", (low, top)
        otherwise = "give it in the unit of the column"
    elif quality and target <= 1 < low:
        problem, ends = f"is {target:g} % in the unit of the column {within} and {percent:g} % as a share", (0, top)
    elif quality and target <= high:
        problem = f"was reached already by scores of up to {high:g}"
    elif not quality and high <= 1 <= target:
        problem, otherwise = f"is not below 1, and the column holds shares {within}", "give one below 1"
    elif not quality and target < min(1, low / FAR_BELOW) and top == 100:
        problem = f"is {target:g} % in the unit of the column {within}, less than a tenth of the least"
    elif not quality and target > high and top - target < low:
        problem = f"is above every measured one {within} and would be reached already"
    else:
        return
    fits = next((value for value in others if ends[0] < value < ends[1]), None)
    if fits is not None:
        also = ", and otherwise errors and target as shares" if not quality and target < 1 < top else ""
        otherwise = f"if {others[fits]} is meant, give --target-score {fits:.6g}{also}"
    if otherwise:
        raise SettingsError(f"the target {target:g} of {values.name} {problem}; {otherwise}")
