"""Finished runs on many tasks: from given studies and tables, and those included in the package."""

import functools
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from transferscope.analyses.columns import ACCURACIES, better_of, measured_rows, numbers_in, words_in
from transferscope.analyses.plan import read_scores
from transferscope.data.frame import place_of, read_frame
from transferscope.errors import DataError
from transferscope.settings.questions import LabelColumns
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.places import is_study, open_existing
from transferscope.wording import few

COLUMNS = ("task", "arm", "labels", "score", "measure", "better", "origin")
"""Columns of finished runs: task, arm, number of labels (NaN if unknown), mean score over seeds, metric, direction
("higher" or "lower"), and origin."""

SHIPPED = Path(__file__).with_name("shipped.csv.gz")
"""Finished runs included in the package, with `COLUMNS`; docs/history.md has contents and licences,
`benchmarks/shipped_history.py` makes the file."""


@functools.cache
def shipped_rows() -> pd.DataFrame:
    """Return the included scores, with `COLUMNS`; names such as 007 and NA are kept."""
    rows = read_frame(SHIPPED, "csv", as_it_is=True).rows
    numbers = {one: rows[one].map(lambda text: float(text) if text else np.nan) for one in ("labels", "score")}
    return rows.assign(**numbers)


def known_rows(place: str | Path | pd.DataFrame, columns: LabelColumns) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return finished runs with `COLUMNS`, and how they were read.

    Args:
        place: A table, a study file, the path or URL of a store (all studies are read), or the name of an included
            table.
        columns: Column by role.
    """
    if not isinstance(place, pd.DataFrame):
        name, shipped = str(place), shipped_rows()
        if name in set(shipped["origin"]):  # whose tasks are none of the reader's, whatever they are called
            return shipped[shipped["origin"] == name].assign(task=shipped["origin"] + ": " + shipped["task"]), ()
        if is_study(name):
            with open_existing(name) as store:
                done = [one.name for one in store.studies() if store.counts(one.name).done]
                if not done:
                    raise DataError("no study of the store has a finished run; finish one with `transferscope run`")
                return pd.concat([study_rows(read_study(store, one)) for one in done], ignore_index=True), ()
    read = measured_rows(place, [] if columns.task is None else [columns.task])
    origin = "table" if isinstance(place, pd.DataFrame) else Path(place).stem
    return table_rows(read.rows, columns, origin=origin, notes=read.notes)


def groups_of(rows: pd.DataFrame) -> list[frozenset[str]]:
    """Return groups of tasks connected by common arms, in the order of their first rows."""
    from scipy.sparse import coo_array, csgraph  # here: they take a tenth of a second to import

    (tasks, names), (arms, _) = pd.factorize(rows["task"]), pd.factorize(rows["arm"])
    n = len(names) + len(rows)
    joined = csgraph.connected_components(coo_array((np.ones(len(rows)), (tasks, len(names) + arms)), shape=(n, n)))[1]
    return [frozenset(names[joined[: len(names)] == one]) for one in dict.fromkeys(joined[: len(names)])]


def study_rows(frames: StudyFrames) -> pd.DataFrame:
    """Return mean scores of the finished runs of a study, one row per arm and number of labels.

    The task is the target's data set; sources have the names of the study.
    """
    judged = frames.metric.judged
    final = frames.final(judged.record)
    runs = final[final["role"] == "method"]
    if runs.empty:
        raise DataError(f"the study {frames.study.name} has no finished run; finish it with `transferscope run`")
    target = frames.study.facts.get("target", {})
    arms = [frames.in_prose(method, source) for method, source in zip(runs["method"], runs["source"], strict=True)]
    mean = runs.assign(arm=arms).groupby(["arm", "n_target"], sort=False)["value"].mean().reset_index()
    return pd.DataFrame(
        {
            "task": str(target.get("name", frames.study.name) if isinstance(target, dict) else frames.study.name),
            "arm": mean["arm"],
            "labels": mean["n_target"].astype(float),
            "score": mean["value"],
            "measure": judged.record if judged.computed else judged.name,
            "better": "higher" if judged.higher_is_better else "lower",
            "origin": frames.study.name,
        }
    )


def table_rows(
    frame: pd.DataFrame, columns: LabelColumns, *, origin: str, notes: Collection[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return scores of a table averaged over seeds, as fractions, and how it was read.

    Args:
        columns: Column by role; numbers of labels are optional, and without a column of tasks all rows belong to a task
            named `origin`.
    """
    frame, named, said = read_scores(frame, columns, labelled=False)
    frame = frame.drop_duplicates()  # the same row twice is one run
    better = better_of(str(named.score), columns.better)
    score = numbers_in(frame, str(named.score), "a score in every row")
    if not np.isfinite(score).all():
        place = place_of(score.index, int(np.flatnonzero(~np.isfinite(score))[0]))
        raise DataError(f"column {named.score} has no number in {place}; expected a score in every row")
    tasks = frame[named.task].astype(str) if named.task else pd.Series(origin, index=frame.index)
    labels = numbers_in(frame, named.labels, "a number of labels, such as 1000") if named.labels else np.nan
    tidy = pd.DataFrame({"task": tasks, "arm": frame[named.arm], "labels": labels, "score": score})
    keys = ["task", "arm", "labels"]
    runs = tidy if named.seed is None else tidy.assign(seed=frame[named.seed])
    twice = runs.drop(columns="score").duplicated(keep=False)
    if twice.any():
        first = tidy[twice].iloc[0]
        rows = frame[twice & (tidy[["task", "arm"]] == first[["task", "arm"]]).all(axis=1)]
        used = {named.task, named.arm, named.labels, named.score, named.seed}
        apart = [one for one in frame.columns if one not in used and rows[one].nunique() > 1]
        apart = [one for one in apart if not is_numeric_dtype(frame[one])] or apart
        more = f" (they differ in {few(apart)})" if apart else ""
        raise DataError(
            f"{len(rows)} rows have the arm {first['arm']} on {first['task']}, and no column distinguishes "
            f"them{more}; keep one of each with --where, or add --columns seed=COLUMN to average runs, "
            "arm=COLUMN+COLUMN, or task=COLUMN"
        )
    mean = tidy.groupby(keys, sort=False, dropna=False)["score"].mean().reset_index()
    measure = str(named.score)
    if words_in(measure) & ACCURACIES:  # of all tables in one unit, as studies keep it
        measure = "accuracy"
        mean["score"] /= 100.0 if mean["score"].max() > 1 else 1.0
    return mean.assign(measure=measure, better=better, origin=origin), (*notes, *said)
