"""Tables of means: a row for each arm with the mean, the standard deviation and the number of its runs."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from transferscope.analyses.columns import COUNTS, FALLING, REPEATS, RISING, numbers_in, words_in
from transferscope.errors import DataError, SettingsError
from transferscope.settings.questions import RunColumns

SEED = "run of a mean"
"""Column of run numbers, all different, so that runs are not paired."""

_SEVERAL = frozenset(one for one in REPEATS if one.endswith("s"))
_DEVIATIONS, _ERRORS = frozenset(("std", "sd", "stdev")), frozenset(("stderr", "sem", "se"))
_MEANS = frozenset(("mean", "avg", "average"))


def runs_of_means(table: pd.DataFrame, asked: RunColumns) -> tuple[pd.DataFrame, RunColumns, pd.Series, str] | None:
    """Return a table with a row for each run that a mean stands for.

    The runs of a row have its mean and its standard deviation, of which intervals of runs that share no seed are made.
    Their extremes, which a decision reads of unstable arms, are those of normal runs.

    Returns:
        The table, the columns with those of scores and runs named, the mean of each row, and how the table was read;
        None for a table of another kind.

    Raises:
        SettingsError: The column is called "mean", and its metric is not named.
        DataError: A number of runs or a deviation is none, or no scores have the mean and deviation of a row.
    """
    found = None if asked.seed is not None or asked.wide is not None else _columns(table, asked)
    if found is None:
        return None
    count, mean, spread = found
    metric = "_".join(one for one in re.split(r"[\W_]+", mean) if one.lower() not in _MEANS)
    metric = mean if metric in table else metric
    if words_in(mean) <= _MEANS:
        if asked.metric in (None, mean):
            raise SettingsError(
                f"column {mean} holds means of {count} runs, and nothing names their metric; name it, as in "
                "--metric accuracy"
            )
        metric = str(asked.metric)
    n = numbers_in(table, count, "a number of runs, such as 5")
    sd = numbers_in(table, spread, "a standard deviation, such as 0.02").where(n > 1, 0.0)
    wrong = (n < 1) | (n != np.floor(n)) | ~(sd >= 0) | np.isinf(sd)
    if wrong.any():
        row = wrong.index[wrong][0]
        raise DataError(
            f"{row} has {count} = {n[row]:g} and {spread} = {sd[row]:g}; expected a number of runs, at least 1, and "
            "their standard deviation"
        )
    if words_in(spread) & _ERRORS:
        sd = sd * np.sqrt(n)
    level = numbers_in(table, mean, "a mean, such as 0.91")
    times = n.astype(int).tolist()
    rows = np.repeat(np.arange(len(table)), times)
    rising, most = words_in(metric) & RISING, float(level.max())
    bounds = (0.0, 1.0 if most <= 1 else 100.0) if rising and level.min() >= 0 and most <= 100 else (-np.inf, np.inf)
    runs = [_runs(*one, bounds) for one in zip(level, sd, times, strict=True)]
    for row, one, own, of_runs in zip(table.index, level, sd, runs, strict=True):
        if abs(of_runs.mean() - one) > _half_digit(level) + 1e-9:
            raise DataError(
                f"{row} has {mean} = {one:g} of {len(of_runs)} runs with a standard deviation of {own:g}; no scores "
                f"from {bounds[0]:g} to {bounds[1]:g} have both: expected a mean and a deviation of the same scores"
            )
    scores = np.concatenate(runs)
    number = np.concatenate([np.arange(one) for one in times])
    long = table.drop(columns=[mean]).iloc[rows].assign(**{metric: scores, SEED: np.arange(len(rows))})
    places = [f"{place}, run {i + 1}" for place, i in zip(table.index[rows], number, strict=True)]
    long.index = pd.Index(places)
    means = pd.Series(level.to_numpy()[rows], index=long.index)
    note = (
        f'each row is a mean of "{count}" runs: CIs follow from this number and from "{spread}", without pairs of '
        "runs, since single runs are not known"
    )
    return long, replace(asked, metric=metric, seed=SEED), means, note


def unused_deviation(table: pd.DataFrame, asked: RunColumns) -> list[str]:
    """Return a note on a column of deviations in a table without one column of the number of runs."""
    if asked.seed is not None or asked.wide is not None or not (pairs := _pairs(table, asked)):
        return []
    return [
        f'column "{pairs[0][1]}" is not used: no single column gives the number of runs behind it, as n_seeds does, so '
        "that each row is taken as one run"
    ]


def _columns(table: pd.DataFrame, asked: RunColumns) -> tuple[str, str, str] | None:
    """Return the columns of numbers of runs, means and deviations; None if there is not one of each."""
    numeric = _numeric(table)
    counts = [
        name
        for name in numeric
        if ((words := words_in(name)) & _SEVERAL or (words & REPEATS and words & COUNTS))
        and (table[name].dropna() >= 1).all()
    ]
    pairs = _pairs(table, asked)
    return (counts[0], *pairs[0]) if len(counts) == 1 and pairs else None


def _numeric(table: pd.DataFrame) -> list[str]:
    return [str(name) for name in table.columns if pd.api.types.is_numeric_dtype(table[name])]


def _pairs(table: pd.DataFrame, asked: RunColumns) -> list[tuple[str, str]]:
    """Return pairs of a column of means and one of their deviations; of several, those of the metric."""
    numeric = _numeric(table)
    measures = [one for one in numeric if words_in(one) & (RISING | FALLING | _MEANS)]
    pairs = []
    for spread in numeric:
        of = words_in(spread) - _DEVIATIONS - _ERRORS - _MEANS
        if of == words_in(spread) - _MEANS:
            continue
        plain = [one for one in measures if one != spread and not words_in(one) & (_DEVIATIONS | _ERRORS)]
        alike = [one for one in plain if words_in(one) - _MEANS == of]
        alike = alike or [one for one in plain if not of and (one == asked.metric or len(plain) == 1)]
        pairs += [(one, spread) for one in alike]
    if len(pairs) > 1:
        pairs = [pair for pair in pairs if pair[0] == asked.metric] or pairs
    return pairs


def _half_digit(means: pd.Series) -> float:
    """Return half a unit of the last decimal that any mean has: how much rounding can have moved one."""
    decimals = max(len(f"{one:.12f}".rstrip("0").partition(".")[2]) for one in means)
    return 0.5 * 10.0**-decimals


def _runs(mean: float, sd: float, n: int, bounds: tuple[float, float]) -> np.ndarray:
    """Return n scores of that mean and deviation: spread as normal ones, or near a bound with one far from the others.

    Where the bounds allow neither, the scores end there and have another mean.
    """
    if n == 1 or sd == 0:
        return np.full(n, mean)
    from scipy.special import ndtri

    numbers = ndtri((np.arange(n) + 0.5) / n)
    one_apart = np.where(np.arange(n) == 0, 1.0 - n, 1.0) / np.sqrt(n)
    for shape in (numbers / numbers.std(ddof=1), one_apart, -one_apart):
        found = mean + sd * shape
        if bounds[0] <= found.min() and found.max() <= bounds[1]:
            return np.asarray(found)
    found = mean + sd * (one_apart if mean > np.mean(bounds) else -one_apart)
    return np.asarray(np.clip(found, *bounds))
