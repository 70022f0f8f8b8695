"""Measured errors at sizes, as curves, from a table or a finished study."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from transferscope.analyses.columns import (
    ACCURACIES,
    FALLING,
    PARAMETERS,
    R_SQUARED,
    RISING,
    ROLES,
    as_option,
    columns_by_role,
    long_form,
    numbers_in,
    plain_name,
    words_in,
)
from transferscope.analyses.scaling.checks import (
    check_target,
    check_units,
    columns_apart,
)
from transferscope.data.arrays import check_spellings
from transferscope.errors import DataError, SettingsError, each_once, unknown_name
from transferscope.scaling.observations import Observations, observe
from transferscope.settings.questions import Columns
from transferscope.study.measure import Measure

EVERYTHING = "all rows"
"""Name of the only group of a table that is not divided."""

MOST_GROUPS = 200

CLEAR_TREND = 0.5
"""Least absolute rank correlation with the sizes that counts as a rise or fall."""


def curves(frame: pd.DataFrame, columns: Columns) -> dict[str, Observations]:
    """Return the observations of each group, over n or over (n, s).

    Returns:
        Observations by the name of the group ("a, b" for two columns); a group without a usable row is left out, with a
        note on the first remaining one.
    """
    _check_known(frame, columns)
    for name in columns.numeric:
        frame = frame.assign(**{name: numbers_in(frame, name)})
    parts = _parts(frame, columns)
    by_name: dict[str, Observations] = {}
    lost = []
    for name, rows in parts.items():
        try:
            observed = _observed(rows, columns)
            named = tuple(f"{name}: {note}" for note in observed.notes) if len(parts) > 1 else observed.notes
            by_name[name] = replace(observed, notes=named)
        except DataError as error:
            lost.append(f"left out {name}: {error}")
    if not by_name:
        raise DataError(f"no row can be used: {'; '.join(lost)}")
    if lost:
        first = next(iter(by_name))
        everything = np.ones(len(by_name[first]), dtype=bool)
        by_name[first] = by_name[first].take(everything, "; ".join(lost))
    return by_name


_ROLES = {"error": ROLES["score"], **{role: ROLES[role] for role in ("pretrain_size", "finetune_size", "budget")}}
"""By field of `Columns`. A second size is looked for where the first is not called n, and a budget of parameters and
tokens."""


def found_columns(frame: pd.DataFrame, columns: Columns) -> tuple[pd.DataFrame, Columns, tuple[str, ...]]:
    """Return the table with one error per row, its columns found by common names, and how it was read.

    See `columns.long_form` and `columns.columns_by_role`.
    """
    usual = Columns()
    named = {role: getattr(columns, role) for role in _ROLES}
    given = {role: name for role, name in named.items() if name != getattr(usual, role) or name in frame}
    frame, melted, read = long_form(frame, _ROLES, given, size="pretrain_size", value="error")
    if melted and "column" not in frame:  # "rows at column = 100": what the table has
        frame, melted = frame.rename(columns={"pretrain_size": "column"}), melted | {"pretrain_size": "column"}
    given |= melted
    unasked = {"finetune_size"} - {role for role, name in given.items() if name} if "pretrain_size" in given else set()
    roles = {role: about for role, about in _ROLES.items() if role not in unasked}
    taken = [name for name in (*columns.by, columns.stderr) if name is not None]
    by_role, notes = columns_by_role(
        frame.drop(columns=taken, errors="ignore"), roles, given, optional=["finetune_size", "budget"], option=_option
    )
    error, n = str(by_role["error"]), str(by_role["pretrain_size"])
    second = by_role.get("finetune_size") or columns.finetune_size
    columns, budget = replace(columns, error=error, pretrain_size=n, finetune_size=second), by_role.get("budget")
    columns, alone = _alone(frame, columns)
    notes = [*notes, *alone]
    if budget is not None and of_compute(columns):
        return frame, replace(columns, budget=budget), (*read, *notes)
    return frame, columns, (*read, *(note for note in notes if not note.endswith(_ROLES["budget"].what)))


FIXED = 0.1
"""Log range below which parameters, tokens, or tokens per parameter count as constant."""


def _alone(frame: pd.DataFrame, columns: Columns) -> tuple[Columns, tuple[str, ...]]:
    """Return a law over parameters or tokens alone if the others are fixed or a fixed multiple of them."""
    if not of_compute(columns):
        return columns, ()
    n, d = columns.pretrain_size, str(columns.finetune_size)
    sizes = np.stack([pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64) for name in (n, d)])
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(sizes[:, (np.isfinite(sizes) & (sizes > 0)).all(axis=0)])
    if logs.shape[1] < 2:
        return columns, ()
    ratio = logs[1] - logs[0]
    for fixed, kept, what in (
        (logs[0], d, f"all runs have {np.exp(logs[0].mean()):,.4g} parameters"),
        (logs[1], n, f"all runs have {np.exp(logs[1].mean()):,.4g} tokens"),
        (ratio, n, f"all runs have {np.exp(ratio.mean()):.3g} tokens a parameter"),
    ):
        if np.ptp(fixed) < FIXED:
            note = f"{what}, so that the law is over {kept} alone, and its forecasts are of such runs"
            return replace(columns, pretrain_size=kept, finetune_size=None), (note,)
    return columns, ()


def _option(role: str, column: str) -> str:
    return as_option({"error": "score", "pretrain_size": "pretrain", "finetune_size": "labels"}.get(role, role), column)


def size_columns(columns: Columns) -> list[str]:
    """Return the one or two columns of sizes."""
    return [size for size in (columns.pretrain_size, columns.finetune_size) if size is not None]


def of_compute(columns: Columns) -> bool:
    """Return whether the two sizes are parameters and training tokens: by the name of the first, or as N and D."""
    n, d = columns.pretrain_size, columns.finetune_size
    return d is not None and (of_parameters(columns) or (n, d) == ("N", "D"))


def of_parameters(columns: Columns) -> bool:
    """Return whether the first size is a number of parameters, by its name."""
    return plain_name(columns.pretrain_size) in PARAMETERS.split()


CHECKPOINTS = frozenset(("epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "checkpoint"))
"""Words in the names of columns that number points of one run rather than training set sizes."""


def schedule_cautions(frame: pd.DataFrame, columns: Columns) -> tuple[str, ...]:
    """Return a caution if the first size counts the epochs of one run, by name or as 1, 2, ... of at least four."""
    sizes = np.unique(numbers_in(frame, columns.pretrain_size))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    counted = len(sizes) > 3 and np.array_equal(sizes, np.arange(1, len(sizes) + 1))
    if not counted and not words_in(str(columns.pretrain_size)) & CHECKPOINTS:
        return ()
    return (
        f"Column {columns.pretrain_size} seems to count epochs or steps of one run. With a learning-rate schedule "
        "such a curve follows the schedule and no law in n, so that its intervals do not hold. Give the last point of "
        "runs of different lengths, each with its own schedule.",
    )


def as_errors(
    frame: pd.DataFrame, columns: Columns, target: float | None, *, rises: bool = True
) -> tuple[pd.DataFrame, float | None, Measure]:
    """Return the table with the score as an error.

    A quality q in [0, 1] becomes 1 - q, in percent 100 - q. R² becomes 1 - R², also below 0.

    Args:
        target: The target value, in the unit of the column; None without one.
        rises: Whether an error may rise with the sizes: possible for pretraining, not for labels.
    """
    _check_known(frame, columns)
    name = columns.error
    values = numbers_in(frame, name)
    sizes = [numbers_in(frame, size) for size in size_columns(columns)]
    usable = np.isfinite(values) & np.logical_and.reduce([np.isfinite(size) & (size > 0) for size in sizes])
    values, sizes = values[usable], [size[usable] for size in sizes]
    itself = Measure(str(name), higher_is_better=False)
    if values.empty:
        return frame, target, itself
    check_units(values, sizes, frame.groupby(list(columns.by), dropna=False).ngroup() if columns.by else None)
    if columns.better == "lower" or (columns.better is None and not _rises(name, values, sizes, target, rises)):
        if target is not None:
            check_target(values, target, quality=False)
        return frame, target, itself
    check_units(values, sizes)
    low, high = float(values.min()), float(values.max())
    r_squared = bool(R_SQUARED.search(str(name).lower())) and high <= 1
    if (low < 0 or high > 100) and not r_squared:
        raise SettingsError(
            f"column {name} is read as a score of which higher is better, but its values ({low:g} to {high:g}) are "
            "neither within 0 to 1 nor within 0 to 100; give a column of its best value minus it"
        )
    top = 1.0 if high <= 1 else 100.0
    frame = frame.assign(**{name: top - numbers_in(frame, name)})
    percent = "share" if top == 1 else "%"
    unit = "R²" if r_squared else percent if words_in(str(name)) & ACCURACIES else ""
    measure = Measure("R²" if r_squared else str(name), unit, limits=(0.0 if unit in ("share", "%") else -np.inf, top))
    if target is not None:
        check_target(values, target, quality=True)
    return frame, None if target is None else top - target, measure


def _rises(name: str, values: pd.Series, sizes: list[pd.Series], target: float | None, rises: bool) -> bool:
    """Return whether higher is better, from the name of the column and the trend of its values over the sizes."""
    from scipy import stats  # here: it takes half a second to import

    words = words_in(str(name))
    ranks = np.sum([size.rank() for size in sizes], axis=0)
    varies = len(np.unique(ranks)) > 1 and values.nunique() > 1
    trend = float(stats.spearmanr(ranks, values).statistic) if varies else 0.0
    order = np.argsort(ranks, kind="stable")
    ends = f"from {values.iloc[order[0]]:.4g} to {values.iloc[order[-1]]:.4g}"
    ask = "say which with --better higher (a quality, such as an accuracy) or --better lower (an error or a loss)"
    if words & FALLING:
        reached = target is not None and float(values.min()) <= target
        if trend > CLEAR_TREND and (reached or not rises or words & RISING):
            raise SettingsError(f"column {name} rises with the sizes ({ends}), unlike an error; {ask}")
        return False
    if words & RISING:
        if trend < -CLEAR_TREND:
            raise SettingsError(f"column {name} falls with the sizes ({ends}), unlike a score; {ask}")
        return True
    if trend >= -CLEAR_TREND:
        raise SettingsError(f"the name and values of column {name} ({ends}) do not show whether it is an error; {ask}")
    return False


def check_one_curve(frame: pd.DataFrame, columns: Columns) -> tuple[str, ...]:
    """Refuse a table in which rows at the same sizes belong to several curves that `by` does not separate.

    Returns:
        A sentence if `repeats` declares such rows as repeats, none otherwise.
    """
    _check_known(frame, columns)
    sizes = size_columns(columns)
    several, apart = columns_apart(
        frame, [*columns.by, *sizes], sizes=sizes, value=columns.error, other=columns.numeric
    )
    if several is None:
        return ()
    by = " ".join(f"--by {name!r}" if " " in name else f"--by {name}" for name in (*columns.by, *apart))
    if columns.repeats and several.may_repeat:
        return (f"{several.rows} and were averaged as repeats; give {by} for a curve of each",)
    is_size = plain_name(several.column) in _ROLES["finetune_size"].names.split()
    if several.is_number and columns.finetune_size is None and is_size:
        by = f"--columns labels={several.column} for laws over both sizes, or {by}"
    repeats = columns.stderr is None and several.may_repeat
    otherwise = "--repeats if they are repeats" if repeats else "leave that column out if they are of one"
    raise SettingsError(
        f"{several.rows}, so that they may be of several curves; give {by} for a curve of each, or {otherwise}"
    )


def by_finetune_size(groups: Mapping[str, Observations]) -> dict[str, Observations]:
    """Return curves over n alone: one for each group and fine-tuning size."""
    result = {}
    for name, data in groups.items():
        for s in np.unique(data.sizes[:, 1]):
            part = data.take(data.sizes[:, 1] == s)
            label = f"s = {s:,.0f}" if name == EVERYTHING else f"{name}, s = {s:,.0f}"
            result[label] = replace(part, sizes=part.sizes[:, :1], notes=())
    return result


def _check_known(frame: pd.DataFrame, columns: Columns) -> None:
    for name in (*columns.numeric, *columns.by):
        if name not in frame.columns:
            raise unknown_name("column", str(name), map(str, frame.columns))
    for name in columns.by:
        nested = [cell for cell in frame[name] if isinstance(cell, list | dict)]
        if nested:
            raise DataError(f"column {name} holds {nested[0]!r}; expected a name or a number for each curve")
        check_spellings(frame[name].tolist(), f"the rows of column {name}", "curves")


def _parts(frame: pd.DataFrame, columns: Columns) -> dict[str, pd.DataFrame]:
    if not columns.by:
        return {EVERYTHING: frame}
    grouped = frame.groupby(list(columns.by), sort=False, dropna=False)
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in columns.by]
    parts = each_once(
        (
            (
                ", ".join(  # a number alone says little
                    f"{column} = {value}" if is_number else str(value)
                    for column, value, is_number in zip(columns.by, key, numeric, strict=True)
                ),
                rows,
            )
            for key, rows in grouped
        ),
        "curve",
    )
    if len(parts) > MOST_GROUPS:
        raise DataError(
            f"the columns {', '.join(columns.by)} divide the table into {len(parts)} curves; expected at most "
            f"{MOST_GROUPS}: choose fewer columns"
        )
    return parts


def _observed(rows: pd.DataFrame, columns: Columns) -> Observations:
    stderr = None if columns.stderr is None else rows[columns.stderr].to_numpy()
    places = None if pd.api.types.is_integer_dtype(rows.index) else rows.index.to_numpy(dtype=np.str_)
    spent = None if columns.budget is None else rows[columns.budget].to_numpy()
    observed = observe(
        rows[size_columns(columns)].to_numpy(), rows[columns.error].to_numpy(), stderr=stderr, rows=places, spent=spent
    )
    return _averaged(observed) if columns.repeats else observed


def _averaged(data: Observations) -> Observations:
    """Return means over repeats with standard errors from the pooled relative spread, which pairs suffice for."""
    names = list(range(data.sizes.shape[1]))
    rows = pd.DataFrame(data.sizes, columns=names).assign(error=data.errors)
    summary = rows.groupby(names)["error"].agg(["mean", "std", "count"]).reset_index()
    spread = (summary["std"] / summary["mean"].where(summary["mean"] > 0)).to_numpy()
    degrees = np.where(np.isfinite(spread), summary["count"] - 1, 0)
    sizes, mean = summary[names].to_numpy(), summary["mean"].to_numpy()
    pooled = np.sqrt((degrees * np.nan_to_num(spread) ** 2).sum() / max(degrees.sum(), 1))
    stderr = None if pooled == 0 else np.maximum(pooled * mean / np.sqrt(summary["count"]), 1e-12)
    return replace(observe(sizes, mean, stderr=stderr), notes=data.notes)
