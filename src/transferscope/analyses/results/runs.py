"""Tables of finished runs, one row each: arm, source, seed, number of labels and score."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from transferscope.analyses.columns import (
    FALLING,
    LOSSES,
    MEASURE_COLUMNS,
    REPEATS,
    RISING,
    ROLES,
    better_of,
    check_one_measure,
    columns_by_role,
    numbers_in,
    plain_name,
    rows_where,
    size_of_column,
    texts_of,
    with_joined,
    words_in,
)
from transferscope.analyses.columns import cell_text as _text
from transferscope.analyses.results.by_example import scores_by_example
from transferscope.analyses.results.means import SEED, runs_of_means, unused_deviation
from transferscope.data.arrays import check_spellings
from transferscope.data.cells import is_text, without_summaries
from transferscope.data.frame import Frame
from transferscope.errors import DataError, SettingsError, TransferscopeError, missing_file, unknown_name
from transferscope.settings.questions import RunColumns
from transferscope.study.decisions import Arm
from transferscope.study.measure import Measure
from transferscope.wording import ALL_LABELS, counted, few, listed

_ROLES = {role: ROLES[role] for role in ("arm", "source", "seed", "labels", "cost", "state", "predictions")}

_FAILED_NAMES = "failed fail crashed killed cancelled canceled pruned error diverged oom out_of_memory timeout"
_FAILED = frozenset(_FAILED_NAMES.split())
_UNDER_WAY = frozenset(
    ["running", "scheduled", "waiting", "pending", "queued", "planned", "paused", "preempted", "preempting"]
)
_DONE = frozenset(("", "finished", "done", "complete", "completed", "success", "succeeded", "ok"))
_NO, _YES = ("no", "none", "false", "0"), ("yes", "true", "1")
_VALUES = ("value", "metric_value", "score")
_REPEAT = "|".join(sorted({*ROLES["seed"].names.split()}, key=len, reverse=True))
_OF_SEED = re.compile(
    rf"(?:(?P<before>.+?)[\s_.-]+)?(?:{_REPEAT})[\s_.:=-]*(?P<seed>\d{{1,9}})(?:[\s_.-]+(?P<after>.+))?",
    re.IGNORECASE,
)
"""Names of columns with one seed each, such as seed0 or accuracy_seed_1."""
_MOST_VALUES = 20
"""Most distinct values of a numeric column that counts as a setting."""
_FEW_RUNS = 5
"""Number of scores of one sign from which another sign is an outlier."""
_FAR = 8.0
"""Factor from the other scores beyond which another unit or a shifted decimal point is likely."""
_NO_SHARES = frozenset(("r2", "mcc", "kappa", "reward", "psnr", "quality"))
"""Metrics for which higher is better, but which are not shares of 1."""
_SPREADS = frozenset(("std", "sd", "stderr", "se", "sem", "ci", "lower", "upper", "runtime", "second", "seconds"))


@dataclass(frozen=True)
class Runs:
    """The runs of one comparison.

    Attributes:
        rows: One row per run: method, source ("" for a baseline or an unnamed source; a name that the table gives to
            "no source" is part of the method), n_target (ALL_LABELS if unknown), seed (numbered), score (as in the
            table; NaN unless done), seconds (NaN if unknown) and state: "done", "failed" (also diverged), or "planned"
            (also running).
        examples: Contributions of the test examples to the score, by position in `rows`; empty without predictions.
        with_source: The transfer arms.
        seeds: Name of each seed in the table, by number; None if the runs of an arm are numbered in their order.
        table: The original rows, in the same order.
        columns: Column of the table by role, including "score".
        notes: How the table was read.
    """

    rows: pd.DataFrame
    examples: Mapping[int, Float[np.ndarray, " N"]]
    measure: Measure
    with_source: frozenset[Arm]
    seeds: Mapping[int, object] | None
    table: pd.DataFrame
    columns: Mapping[str, str]
    notes: tuple[str, ...]

    def seed_of(self, place: int) -> str:
        """Return the table's seed of the run at a position; its number without seeds."""
        column = self.columns.get("seed")
        return str(self.rows["seed"][place]) if column is None else _text(self.table[column][place])


def read_runs(
    read: Frame, asked: RunColumns, without: Collection[str] | None, *, folder: Path, predictions: Path | None = None
) -> Runs:
    """Read a table of runs.

    Args:
        without: Baselines: names of arms, methods or sources; empty, or only "none" unless an arm has this name, for no
            baseline; None if the table shows it.
        folder: Base folder of relative paths in a column of predictions.
        predictions: A folder with the predictions of each run as ARM/SEED.csv (or .npz), or LABELS/ARM/SEED.csv.

    Raises:
        UnknownNameError: A named column, metric or arm does not exist.
        SettingsError: The table does not show its metric, which scores are better, or the baselines, so they must be
        given.
        DataError: Rows repeat, mix units, or have an invalid score, seed or number of labels.
    """
    form = _form(read, asked, without, folder=folder, predictions=predictions)
    if form.baselines and [*(without or ())] != ["none"]:
        without = [*(without or ()), *form.baselines]
    table, asked, columns, score, measure_name = form.table, form.asked, form.columns, form.score, form.measure
    naming = [columns[role] for role in ("seed", "arm") if role in columns]
    table, left = without_summaries(table, naming)
    table, of_rows = _each_once(table, columns)
    words = _state_words(table, columns.get("state"))
    table, unnamed = _attributed(table, words, columns)
    words = words.loc[table.index]
    known = table.assign(**{name: table[name].where(words.isin(_DONE)) for name in (score, columns.get("cost", score))})
    values = numbers_in(known, score, "a score, such as 0.91, or nothing where there is none")
    states = _states(words, values)
    values = values.where(states == "done")
    levels = values if form.means is None else form.means.reindex(values.index).where(values.notna())
    check_one_measure(
        table.drop(columns={score, measure_name} & {*table}).assign(**{measure_name: levels}),
        measure_name,
        *(name for name in naming if name != measure_name),
    )
    rows = pd.DataFrame(
        {
            "method": _names(table, columns["arm"], "arms"),
            "source": _sources(table, columns["source"]) if "source" in columns else "",
            "n_target": _labels(table, columns.get("labels")),
            "score": values,
            "seconds": numbers_in(known, columns["cost"], "a number of seconds, such as 48.5").replace(np.inf, np.nan)
            if "cost" in columns
            else np.nan,
            "state": states,
        }
    )
    if values.isna().all():
        raise DataError(f"column {score} is empty in every row; expected a score of each run")
    again = _repeated(table, rows, columns)
    table, rows, levels = table[~again], rows[~again], levels[~again]
    _check_once(
        table.drop(columns=[score]),
        rows,
        columns,
        told=without is not None or ("source" in columns and bool((rows["source"] == "").any())),
    )
    left = (*left, *of_rows, *unnamed, *_of_seeds(table.drop(columns=[score]), rows, columns))
    if again.any():
        left = (*left, f"left out without a score and run again: {counted(int(again.sum()), 'run')}")
    left = (*left, *_strange(table, rows, columns, measure_name))
    tops = levels.groupby(rows["method"]).max().dropna()
    if words_in(measure_name) & (FALLING - LOSSES) and tops.min() <= 1 < tops.max():
        above = [str(name) for name in tops.index[tops > 1]]
        left = (*left, f"{measure_name} is above 1 for {listed(above)} alone: all of it was read in one unit")
    seeds, names, of_seeds = _seeds(table, rows, columns.get("seed"))
    rows.insert(3, "seed", seeds)
    if planned := int((rows["state"] == "planned").sum()):
        of_seeds.append(
            f"{counted(planned, 'row')} without a final score {'is' if planned == 1 else 'are'} still to be run"
        )
    with_source = _with_source(table, rows, without, columns)
    runs = Runs(
        rows.reset_index(drop=True),
        {},
        _measure(measure_name, levels.dropna(), asked),
        with_source,
        names,
        table.reset_index(drop=True),
        {**columns, "score": score},
        tuple(dict.fromkeys([*form.notes, *left, *of_seeds])),
    )
    return replace(runs, examples=_examples(runs, folder, predictions))


@dataclass(frozen=True)
class _Form:
    """A table with one score per row, its columns by role, the mean behind each row of a table of means, and the
    baselines that a table of sources alone shows."""

    table: pd.DataFrame
    asked: RunColumns
    columns: dict[str, str]
    score: str
    measure: str
    means: pd.Series | None
    baselines: list[str] | None
    notes: list[str]


def _form(
    read: Frame, asked: RunColumns, without: Collection[str] | None, *, folder: Path, predictions: Path | None
) -> _Form:
    """Return the form of a table; arguments as for `read_runs`, to say what else must be given with the metric."""
    table, notes = rows_where(read.rows, asked.where), list(read.notes)
    table, in_percent = _without_signs(table)
    asked = replace(asked, wide="seeds") if asked.wide is None and _of_seeds_in(table, asked) else asked
    if asked.wide is not None:
        in_percent |= {str(asked.metric)} if in_percent else set()
        table, asked, said_wide = _long(table, asked)
        notes.append(said_wide)
    unused, means = unused_deviation(table, asked), None
    if (of_means := runs_of_means(table, asked)) is not None:
        unused = []
        table, asked, means, said_means = of_means
        notes.append(said_means)
    try:
        score, measure, table = _score_column(table, asked)
    except SeveralMetricsError as error:
        then = _further(read, replace(asked, metric=error.first), without, folder=folder, predictions=predictions)
        raise SettingsError(f"{error}{then}") from error
    if score in in_percent and asked.unit is None:
        asked = replace(asked, unit="%")
    table, asked, baselines, of_sources = _of_sources(table, asked)
    notes += of_sources
    given = {role: getattr(asked, role) for role in _ROLES}
    table = with_joined(table, asked.arm)
    others = table.drop(columns=[score]).rename(columns=str)
    others = others[[name for name in others if name in given.values() or (texts_of(others[name]) != "").any()]]
    by_role, how_found = columns_by_role(others, _ROLES, given, optional=[role for role in _ROLES if role != "arm"])
    columns = {role: column for role, column in by_role.items() if column is not None}
    notes += [*(unused if "seed" not in columns else ()), *how_found]
    return _Form(table, asked, columns, score, measure, means, baselines, notes)


_NO_SOURCE = "no source"


def _of_sources(table: pd.DataFrame, asked: RunColumns) -> tuple[pd.DataFrame, RunColumns, list[str] | None, list[str]]:
    """Take the sources of a table without arms as arms, and those of rows without a source as the baseline."""
    names = {plain_name(str(name)): str(name) for name in table.columns}
    has_arms = bool({*names} & {*_ROLES["arm"].names.split()})
    column = asked.source or next((names[one] for one in _ROLES["source"].names.split() if one in names), None)
    if column is None or column not in table or asked.arm not in (None, column) or (asked.arm is None and has_arms):
        return table, asked, None, []
    texts = texts_of(table[column])
    if texts.str.lower().isin(("", *_NO, *_YES)).all():
        return table, asked, None, []
    table, asked = table.assign(**{column: texts.where(texts != "", _NO_SOURCE)}), replace(asked, arm=column)
    notes = [f'using column "{column}" as the arms']
    if (texts == "").any():
        return table, asked, [_NO_SOURCE], [f"{notes[0]}; rows without a source are the baseline {_NO_SOURCE}"]
    return table, asked, None, notes


def _of_seeds_in(table: pd.DataFrame, asked: RunColumns) -> dict[str, "re.Match[str]"]:
    """Return the columns with the scores of one seed each, of the requested metric or the only one."""
    names = {plain_name(str(name)): str(name) for name in table.columns}
    named = {getattr(asked, role) for role in _ROLES}
    if asked.seed or asked.metric in table or {*names} & {*_ROLES["seed"].names.split()}:
        return {}
    matches = {str(name): match for name in table.columns if (match := _OF_SEED.fullmatch(str(name)))}
    matches = {
        name: match
        for name, match in matches.items()
        if name not in named and pd.api.types.is_numeric_dtype(table[name])
    }
    measures = {_measure_in(match) for match in matches.values()}
    others = [name for name in table.columns if name not in matches and words_in(str(name)) & (RISING | FALLING)]
    if asked.metric is None and others and asked.wide is None:
        return {}
    if asked.metric in measures:
        matches = {name: match for name, match in matches.items() if _measure_in(match) == asked.metric}
    elif len(measures) > 1:
        return {}
    return matches if len(matches) > 1 and len({int(match["seed"]) for match in matches.values()}) > 1 else {}


def _measure_in(match: "re.Match[str]") -> str:
    return match["before"] or match["after"] or ""


def _long(table: pd.DataFrame, asked: RunColumns) -> tuple[pd.DataFrame, RunColumns, str]:
    """Convert a table with a column of scores for each of several arms, sizes or seeds to one score per row."""
    wide = asked.wide
    assert wide is not None
    of_seeds = _of_seeds_in(table, asked) if asked.wide == "seeds" else {}
    if asked.metric is None and of_seeds:
        asked = replace(asked, metric=_measure_in(next(iter(of_seeds.values()))) or None)
    if asked.metric is None:
        raise SettingsError(
            f"the metric of a table with a column per {asked.wide} is unknown; name it, as in --metric accuracy"
        )
    name, role = asked.metric, {"arms": "arm", "labels": "labels", "seeds": "seed"}[wide]
    roles = {key: about for key, about in _ROLES.items() if key != role}
    given = {key: getattr(asked, key) for key in roles}
    by_role, _ = columns_by_role(table, roles, given, optional=[*_ROLES])
    kept = [column for column in by_role.values() if column is not None]
    numeric = [str(c) for c in table.columns if c not in kept and pd.api.types.is_numeric_dtype(table[c])]
    if role == "labels":
        numeric = [column for column in numeric if (size := size_of_column(column)) is not None and size.is_integer()]
    if role == "seed":
        numeric = list(of_seeds)
    if len(numeric) < 2:
        raise SettingsError(
            f"--wide {asked.wide} needs a column of scores for each of several {asked.wide}, but "
            f"{counted(len(numeric), 'column')} of {listed([str(one) for one in table.columns])} "
            f"{'has' if len(numeric) == 1 else 'have'} numbers; leave it out for a table with a row per score"
        )
    others = [str(column) for column in table.columns if column not in numeric]
    if taken := [one for one in (name, role) if one in table.columns]:
        raise SettingsError(
            f"--wide {asked.wide} gives its {'scores' if taken[0] == name else asked.wide} the name {taken[0]}, but "
            f"the table has a column {taken[0]}; rename it"
        )
    long = table.melt(others, numeric, var_name=role, value_name=name, ignore_index=False)
    long.index = pd.Index([f"{row}, column {column}" for row, column in long[role].items()])
    if role == "labels":
        long = long.assign(labels=long["labels"].map(size_of_column).astype(int))
        long = long[long["labels"] > 0]  # 0: before any training
    if role == "seed":
        long = long.assign(seed=[int(of_seeds[column]["seed"]) for column in long["seed"]])
    asked = replace(asked, metric=name, wide=None)
    asked = replace(asked, **{role: role})  # type: ignore[arg-type]
    return long, asked, f"the columns {listed(numeric)} were read as {_ROLES[role].what}"


def _score_column(table: pd.DataFrame, asked: RunColumns) -> tuple[str, str, pd.DataFrame]:
    of_measure = [str(name) for name in table.columns if str(name).lower() in MEASURE_COLUMNS]
    columns = {str(name): str(name) for name in table.columns}
    if asked.metric in columns:
        return asked.metric, asked.metric, table
    if of_measure:
        there = texts_of(table[of_measure[0]]).unique().tolist()
        values = [name for name in _VALUES if name in columns]
        if len(values) == 1:
            if asked.metric is None and len(there) > 1:
                raise SeveralMetricsError(f" in column {of_measure[0]} ({few(there, 9)})", there[0])
            chosen = asked.metric or there[0]
            if chosen not in there:
                raise unknown_name(f"value of {of_measure[0]}", chosen, there)
            return values[0], chosen, table[texts_of(table[of_measure[0]]) == chosen]
    if asked.metric is not None:
        raise unknown_name("column of scores", asked.metric, columns)
    named = {getattr(asked, role) for role in _ROLES}
    usual = {alias for about in _ROLES.values() for alias in about.names_in(is_needed=False)}
    measures = [
        name
        for name in columns
        if words_in(name) & (RISING | FALLING)
        and not words_in(name) & (_SPREADS | REPEATS)
        and name not in named
        and name.lower() not in usual
    ]
    known = [name for name in measures if pd.api.types.is_numeric_dtype(table[name])]
    known = known or measures[:1]  # whose texts are refused, each by its row
    if len(known) == 1:
        return known[0], known[0], table
    if not known:
        sizes = [name for name in columns if size_of_column(name) is not None]
        if len(sizes) > 1:
            raise SettingsError(
                f"the columns {few(sizes)} seem to hold scores by the number of labels; add --wide labels and their "
                "metric, as in --metric accuracy"
            )
        raise SettingsError(
            f"no column of {listed(list(columns))} is named like a metric; name that of the scores with --metric, or "
            "give --wide arms or --wide labels where a row holds several scores"
        )
    known.sort(key=lambda name: ("train" in words_in(name), "test" not in words_in(name)))
    raise SeveralMetricsError(f" ({listed(known[:8])})", known[0])


class SeveralMetricsError(SettingsError):
    """One of several metrics must be chosen, such as the first."""

    def __init__(self, seen: str, first: str) -> None:
        super().__init__(f"the table has several metrics{seen}; choose one with --metric {first}")
        self.first = first


def _further(
    read: Frame, asked: RunColumns, without: Collection[str] | None, *, folder: Path, predictions: Path | None
) -> str:
    """Return what else must be given once the metric is, so that one call more answers."""
    try:
        read_runs(read, asked, without, folder=folder, predictions=predictions)
    except TransferscopeError as error:
        return f". Then: {error}"
    return ""


def _without_signs(table: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
    """Convert columns of percentages with a sign, as in "71.5 %", to numbers, and return their names."""
    table, names = table.copy(), set()
    for name in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        if not is_text(table[name]):
            table[name] = table[name].map(lambda cell: str(cell) if isinstance(cell, list | dict) else cell)  # of JSON
        texts = texts_of(table[name])
        there = texts != ""
        shares = [re.fullmatch(r"[-+]?\d+(\.\d*)?\s*%", one) for one in texts[there].unique()]
        if shares and all(shares):
            table[name] = pd.to_numeric(texts.where(there).str.removesuffix("%"))
            names.add(str(name))
    return table, names


def _names(table: pd.DataFrame, column: str, what: str, *, may_lack: bool = False) -> "pd.Series[str]":
    names = texts_of(table[column])
    if not may_lack and (names == "").any():
        row = names.index[names == ""][0]
        raise DataError(f"column {column} is empty in {row}; expected the arm of every run")
    check_spellings(names.unique().tolist(), f"the rows of column {column}", what)
    return names


def _sources(table: pd.DataFrame, column: str) -> "pd.Series[str]":
    """Return the source of each run; for a column of yes and no, its name if yes."""
    names = _names(table, column, "sources", may_lack=True)
    words = names.str.lower()
    if not words.isin(("", *_NO, *_YES)).all() or not words.isin(_YES).any():
        return names
    return words.where(~words.isin(_YES), column).where(words.isin(_YES), "")


def _labels(table: pd.DataFrame, column: str | None) -> "pd.Series[int]":
    if column is None:
        return pd.Series(ALL_LABELS, index=table.index)
    numbers = numbers_in(table, column, "a number of labels, such as 1000")
    wrong = ~((numbers >= 1) & (numbers < 2**53) & (numbers == np.floor(numbers)))
    if wrong.any():
        row = numbers.index[wrong][0]
        raise DataError(
            f"column {column} holds {_text(table[column][row])!r} in {row}; expected a number of labels, at least 1"
        )
    return numbers.astype(np.int64)


def _each_once(table: pd.DataFrame, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """Remove rows equal to an earlier one, if seeds identify runs, and describe them."""
    if "seed" not in columns:
        return table, []
    named = {role: texts_of(table[columns[role]]) for role in ("arm", "source", "seed", "labels") if role in columns}
    again, alike = np.zeros(len(table), dtype=np.bool_), pd.DataFrame(named).duplicated(keep=False).to_numpy()
    again[alike] = table[alike].astype(str).duplicated()  # of parquet, cells may be lists
    places = table.index[again].tolist()
    said = f"left out {counted(len(places), 'row')} equal to one before in every column ({few(places, 4)})"
    return table[~again], [said] if places else []


def _state_words(table: pd.DataFrame, column: str | None) -> "pd.Series[str]":
    """Return the state of every run in the table, in lower case; "" without one."""
    words = pd.Series("", index=table.index) if column is None else texts_of(table[column]).str.lower()
    unknown = ~words.isin(_DONE | _FAILED | _UNDER_WAY)
    if column is not None and unknown.any():
        row = unknown.index[unknown][0]
        raise DataError(
            f"column {column} holds {_text(table[column][row])!r} in {row}; expected the state of a run, such as "
            "finished, failed or running, or rename the column"
        )
    return words


def _attributed(
    table: pd.DataFrame, words: "pd.Series[str]", columns: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Remove runs without a score that name no arm, and count them."""
    undone = ~words.isin(_DONE)
    if not undone.any():
        return table, []
    naming = [columns[role] for role in ("arm", "seed", "labels") if role in columns]
    lacking = undone & np.any([texts_of(table[name]) == "" for name in naming], axis=0)
    said = f"left out without a score and without {listed(naming, last='or')}: {counted(int(lacking.sum()), 'run')}"
    return table[~lacking], [said] if lacking.any() else []


def _states(words: "pd.Series[str]", values: "pd.Series[float]") -> "pd.Series[str]":
    """Return the state of every run. An infinite score means diverged, unless the run has not ended; without a state, a
    run without a score is pending.
    """
    states = pd.Series("done", index=words.index)
    states[values.isna()] = "failed"
    states[(values.isna() & (words == "")) | words.isin(_UNDER_WAY)] = "planned"
    states[np.isinf(values) | words.isin(_FAILED)] = "failed"
    return states


def _repeated(table: pd.DataFrame, rows: pd.DataFrame, columns: Mapping[str, str]) -> "pd.Series[bool]":
    """Return which failed runs were repeated with the same arm and seed: all but the one that counts."""
    if "seed" not in columns or (rows["state"] == "done").all():
        return pd.Series(False, index=rows.index)
    order = {"done": 0, "planned": 1, "failed": 2}
    run = rows[["method", "source", "n_target"]].assign(seed=texts_of(table[columns["seed"]]))
    first = rows["state"].map(order).sort_values(kind="stable").index
    return run.loc[first].duplicated().reindex(rows.index) & (rows["state"] != "done")


def _strange(table: pd.DataFrame, rows: pd.DataFrame, columns: Mapping[str, str], measure: str) -> list[str]:
    """Describe scores that are probably mistakes: of another sign than all others, or far from those of their arm."""
    scores, notes = rows["score"].dropna(), []

    def named(row: Any) -> str:
        seed = f", {columns['seed']} {_text(table[columns['seed']][row])}" if "seed" in columns else ""
        return f"{row} ({rows['method'][row]}{seed}) has {measure} = {scores[row]:g}"

    below, above = scores.index[scores < 0], scores.index[scores > 0]
    few_of, many = sorted((below, above), key=len)
    if len(few_of) == 1 and len(many) >= _FEW_RUNS and len(many) == len(scores) - 1:
        notes.append(f"{named(few_of[0])}, the only one {'below' if few_of is below else 'above'} 0: check its sign")
    for _, own in scores.groupby([rows["method"], rows["source"], rows["n_target"]]):
        beside = own if len(own) > 3 else scores[rows["n_target"] == rows["n_target"][own.index[0]]]
        sizes = beside.abs().to_numpy()
        ends = sorted({int(sizes.argmin()), int(sizes.argmax())})  # no other score can be far from all
        for at in ends if len(beside) > 3 else ():
            row, size, others = beside.index[at], sizes[at], np.delete(sizes, at)
            if beside is not own and row not in own.index:
                continue
            low, high, middle = others.min(), others.max(), np.median(others)
            if low > 0 and (
                (size >= _FAR * middle and size >= 2 * high) or (0 < size * _FAR <= middle and 2 * size <= low)
            ):
                notes.append(f"{named(row)}, and those beside it about {middle:.3g}: check its unit")
    return notes


def _check_once(table: pd.DataFrame, rows: pd.DataFrame, columns: Mapping[str, str], *, told: bool) -> None:
    """Refuse two rows of one run: several tasks, several settings, or duplicates.

    Args:
        told: Whether the baselines are known; if not, the advice has them too.
    """
    keys = ["method", "source", "n_target"]
    seed = columns.get("seed")
    paired = seed is not None and _are_shared(texts_of(table[seed]), rows)
    marked = rows.assign(seed=texts_of(table[seed]) if paired else 0)
    twice = marked[marked.duplicated([*keys, "seed"], keep=False)]
    if twice.empty or (not paired and not _are_several(table, marked, columns)):
        return
    first = twice[(twice[[*keys, "seed"]] == twice.iloc[0][[*keys, "seed"]]).all(axis=1)]
    group = table.loc[first.index]
    apart = [c for c in _free(table, columns) if texts_of(group[c]).nunique() > 1]
    apart = [c for c in apart if not words_in(c) & (RISING | FALLING)] or apart  # scores may differ
    shown = ["arm", "source", "labels", *(["seed"] if paired else [])]
    which = ", ".join(f"{columns[role]} = {_text(group.iloc[0][columns[role]])}" for role in shown if role in columns)
    if not any(_is_setting(table[name]) for name in apart):
        differ = f", and differ in results ({few(apart)}) alone" if apart else ""
        raise DataError(
            f"{len(group)} rows ({few(group.index)}) are of the same run, {which}{differ}; keep one row per run"
        )
    named = [name for name in apart if group[name].map(lambda cell: isinstance(cell, str)).all()] or apart
    telling, rest = _telling(table, marked[[*keys, "seed"]], columns)
    task = next((name for name in telling if name.lower() in ROLES["task"].names.split()), None)
    if len(telling) > 1:
        arm = "+".join([columns["arm"], *(name for name in telling if name != task)])
        raise DataError(
            f"{len(group)} rows are of the same run, {which}; columns {listed(telling)} distinguish "
            f"{'all runs' if not rest else f'all but {rest} of {len(table)} rows'}: "
            f"add --columns {f'task={task} ' if task else ''}arm={arm}"
            f"{'' if told else ' --without BASELINES (or none)'}, or keep one value of a column, as in "
            f'--where "{telling[-1]}={_text(texts_of(table[telling[-1]]).mode()[0])}"'
        )
    if task is not None:
        raise DataError(
            f"{len(group)} rows are of the same run, {which}, but differ in {task}; add --columns task={task} for an "
            f'answer for each, or keep one, as in --where "{task}={_text(group.iloc[0][task])}"'
        )
    values = group[named[0]]  # of numbers, such as steps and epochs, the last
    value = _text(values.max() if pd.api.types.is_numeric_dtype(values) else values.iloc[0])
    raise DataError(
        f"{len(group)} rows are of the same run, {which}, but differ in {listed(apart[:4])}; keep some of them, as in "
        f'--where "{named[0]}={value}", or add what distinguishes runs, as in --columns seed=COLUMN or '
        f"arm={columns['arm']}+{named[0]}"
    )


def _is_setting(column: pd.Series) -> bool:
    """Return whether a column describes how a run was made: text, or few numbers other than ends of intervals and
    times."""
    if is_text(column) or not pd.api.types.is_numeric_dtype(column):
        return True
    return column.nunique() <= _MOST_VALUES and not words_in(str(column.name)) & _SPREADS


def _telling(table: pd.DataFrame, keys: pd.DataFrame, columns: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the fewest columns of settings, found one by one, that distinguish runs, and the number of rows left
    alike.

    Columns of many numbers, such as ends of intervals, are results rather than settings.
    """
    text = {name: texts_of(table[name]) for name in _free(table, columns)}
    settings = [name for name, one in text.items() if 1 < one.nunique() <= len(one) / 4 and _is_setting(table[name])]
    found: list[str] = []
    known = keys.reset_index(drop=True)

    def left(name: str) -> int:
        return int(known.assign(_=text[name].to_numpy()).duplicated().sum())

    rest = int(known.duplicated().sum())
    while rest and (others := [name for name in settings if name not in found]):
        best = min(others, key=left)
        if (now := left(best)) >= rest:
            break
        found.append(best)
        known, rest = known.assign(**{f"_{best}": text[best].to_numpy()}), now
    return found, rest


def _of_seeds(table: pd.DataFrame, rows: pd.DataFrame, columns: Mapping[str, str]) -> list[str]:
    """Return columns with one value per seed, the same for all arms, such as a task with its own seeds."""
    seed = columns.get("seed")
    if seed is None:
        return []
    seeds, notes = texts_of(table[seed]), []
    for name in _free(table, columns):
        texts = texts_of(table[name])
        several = 1 < texts.nunique() < seeds.nunique()
        if several and texts.groupby(seeds).nunique().max() == 1 and seeds.groupby(seeds).size().min() > 1:
            notes.append(f"runs that differ in {name} were read as repeats; --where {name}=VALUE keeps those of one")
    return notes


def _free(table: pd.DataFrame, columns: Mapping[str, str]) -> list[str]:
    return [str(name) for name in table.columns if name not in columns.values()]


def _are_several(table: pd.DataFrame, marked: pd.DataFrame, columns: Mapping[str, str]) -> bool:
    """Return whether runs without seeds are not repeats: they differ in a column of few names, such as tasks, or in one
    that has the same values in every arm, such as epochs or learning rates.
    """
    for name in _free(table, columns):
        texts = texts_of(table[name])
        groups = texts.groupby([marked["method"], marked["source"], marked["n_target"]])
        is_name = table[name].map(lambda cell: isinstance(cell, str)).any()
        in_arms = {tuple(sorted(values)) for _, values in groups}
        crossed = len(in_arms) == 1 and len(groups) > 1
        if groups.nunique().max() > 1 and ((is_name and texts.duplicated().any()) or crossed):
            return True
    return False


def _are_shared(seeds: "pd.Series[str]", rows: pd.DataFrame) -> bool:
    """Return whether a seed identifies runs of one arm: there is one arm, or two of them share a value."""
    n_arms = len(rows[["method", "source", "n_target"]].drop_duplicates())
    return n_arms == 1 or bool(seeds.groupby(rows["n_target"]).apply(lambda one: one.duplicated().any()).any())


def _seeds(
    table: pd.DataFrame, rows: pd.DataFrame, column: str | None
) -> tuple["pd.Series[int]", dict[int, object] | None, list[str]]:
    """Return seeds as numbers, their names in the table, and how they were read."""
    in_order = rows.groupby(["method", "source", "n_target"], sort=False).cumcount()
    if column is None:
        several = bool((in_order > 0).any())
        notes = ["no column says which seed a run has: runs of an arm are numbered in their order"] if several else []
        return in_order, None, notes
    texts = texts_of(table[column])
    if (texts == "").any():
        row = texts.index[texts == ""][0]
        raise DataError(f"column {column} is empty in {row}; expected the seed of every run")
    if column == SEED:
        return texts.astype(int), None, []
    if not _are_shared(texts, rows):
        return in_order, None, [f"no two arms share a value of {column}: runs of an arm are numbered in their order"]
    if texts.str.fullmatch(r"\d{1,9}").all():
        return texts.astype(int), {}, []
    names = list(dict.fromkeys(sorted(texts)))
    return texts.map({name: number for number, name in enumerate(names)}), dict(enumerate(names)), []


def _with_source(
    table: pd.DataFrame, rows: pd.DataFrame, without: Collection[str] | None, columns: Mapping[str, str]
) -> frozenset[Arm]:
    """Return the transfer arms: those with a source, or not among the named baselines.

    The source of a named baseline, as of one that is called "none", becomes part of its method in `rows`.
    """
    joined = [name for name in columns["arm"].split("+") if "+" in columns["arm"] and name in table]
    of_arms = table.loc[rows.drop_duplicates("method").index, joined] if joined else table.iloc[:0, :0]
    parts = {rows["method"][row]: {*map(_text, cells)} for row, *cells in of_arms.itertuples(name=None)}
    has_column = "source" in columns
    pairs = rows[["method", "source"]].drop_duplicates().itertuples(index=False)
    arms = [Arm(method, source) for method, source in pairs]
    called = {arm: {str(arm), arm.method, arm.source, *parts.get(arm.method, ())} - {""} for arm in arms}
    names = sorted(set().union(*called.values()))
    if without is None:
        if has_column and any(not arm.source for arm in arms):
            return frozenset(arm for arm in arms if arm.source)
        shown = [str(arm) for arm in arms]
        raise SettingsError(
            f"it is unknown which of the arms {few(shown, 9)} are baselines, such as training from scratch or ridge "
            f"regression; name them, as in --without {shown[0]!r}, or give --without none"
        )
    for name in without:
        if name not in names and [*without] != ["none"]:
            raise unknown_name("arm of --without", name, names)
    named = {arm for arm in arms if called[arm] & set(without)}
    for arm in named:
        if arm.source:
            own = (rows["method"] == arm.method) & (rows["source"] == arm.source)
            rows.loc[own, ["method", "source"]] = [str(arm), ""]
    return frozenset(arm for arm in arms if arm not in named and (arm.source or not has_column))


def _measure(name: str, scores: "pd.Series[float]", asked: RunColumns) -> Measure:
    """Return the metric of the scores: those from 0 to 1 are fractions, and those up to 100 percentages."""
    better = better_of(name, asked.better)
    unit = asked.unit
    if unit is None:
        bounded = better == "higher" and not words_in(name) & _NO_SHARES and scores.min() >= 0
        unit = "" if not bounded or scores.max() > 100 else "share" if scores.max() <= 1 else "%"
    least, most = float(scores.min()), float(scores.max())
    if (unit == "share" and not 0 <= least <= most <= 1) or (unit == "%" and better == "higher" and 0 <= most <= 1):
        given = "shares of 1" if unit == "share" else "percent"
        raise DataError(
            f"unit = {unit}, but the scores from {least:g} to {most:g} are not {given}; leave unit out, or convert them"
        )
    return Measure(name, unit, better == "higher", "score")


def _same_labels(labels: "pd.Series[str]", others: "pd.Series[str]") -> Bool[np.ndarray, " N"]:
    """Return whether labels are the same text, or the same number up to rounding."""
    numbers, known = (pd.to_numeric(one, errors="coerce").to_numpy(dtype=np.float64) for one in (labels, others))
    return np.asarray((labels == others).to_numpy() | np.isclose(numbers, known, rtol=1e-4))


def _examples(runs: Runs, folder: Path, predictions: Path | None) -> dict[int, Float[np.ndarray, " N"]]:
    """Return the contribution of every test example to the score of each run, if known."""
    examples: dict[int, Float[np.ndarray, " N"]] = {}
    column, rows = runs.columns.get("predictions"), runs.rows
    several = rows["n_target"].nunique() > 1
    known: pd.Series[str] | None = None
    if predictions is None and column is None:
        return examples
    for at, row in rows[rows["state"] == "done"].iterrows():
        place = int(str(at))
        if predictions is not None:
            arm = str(Arm(row["method"], row["source"]))
            stem = predictions / (str(row["n_target"]) if several else "") / arm / runs.seed_of(place)
            paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".csv", ".npz")]
            path = next((one for one in paths if one.is_file()), None)
            if path is None:
                raise missing_file("file of predictions", paths[0], "expected it (or .npz) for that run")
        elif column is not None and (named := _text(runs.table[column][place])):
            path = folder / named
        else:
            continue
        examples[place], labels = scores_by_example(path, float(row["score"]), runs.measure.name)
        known = labels if known is None else known
        if labels is not None and known is not None and len(labels) == len(known):
            other = ~_same_labels(labels, known)
            if other.any():
                raise DataError(
                    f"the labels in {path} differ from those in earlier files, starting at example "
                    f"{int(other.argmax()) + 1}; expected the same test examples in the same order for all runs"
                )
    for (_, one), (at, other) in pairwise(examples.items()):
        if len(one) != len(other):
            arm = str(Arm(rows["method"][at], rows["source"][at]))
            raise DataError(
                f"the predictions of {arm}, seed {runs.seed_of(at)}, are of {len(other):,} test examples, but those "
                f"before of {len(one):,}; expected the same examples in the same order for all runs"
            )
    return examples
