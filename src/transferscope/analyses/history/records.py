"""Finished runs of many studies and tables: those that come with the package, and the user's own in a tidy CSV file."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from platformdirs import user_data_path

from transferscope.analyses.columns import better_of
from transferscope.analyses.plan.measurements import LabelColumns, check_one_measure, find_columns
from transferscope.analyses.scaling.checks import words_in
from transferscope.analyses.scaling.measurements import ACCURACIES
from transferscope.data.arrays import check_spellings
from transferscope.data.frame import read_frame
from transferscope.errors import CorruptDataError, DataError, StoreError, unknown_name
from transferscope.files import require_regular, written_whole
from transferscope.study.frames import StudyFrames
from transferscope.study.named_measure import NamedMeasure
from transferscope.wording import candidate_words, listed

COLUMNS = ("task", "arm", "labels", "score", "measure", "better", "origin")
"""Columns of the file: what was learnt, with what, from how many labels (NaN where that is not known), the mean score
over seeds, what it measures, which scores are better ("higher" or "lower"), and where it is from."""

SHIPPED = Path(__file__).with_name("shipped.csv.gz")
"""Finished runs that come with the package, with `COLUMNS`; docs/history.md says what they are and under which licence,
and `benchmarks/shipped_history.py` makes the file."""

PLACE = "TRANSFERSCOPE_HISTORY"
"""Environment variable that names another file."""


@dataclass(frozen=True)
class History:
    """The file of a user; there need not be one yet."""

    path: Path

    @classmethod
    def of_user(cls) -> "History":
        """The file in the user's data directory, or the one that TRANSFERSCOPE_HISTORY names."""
        named = os.environ.get(PLACE)
        return cls(Path(named) if named else user_data_path("transferscope") / "history.csv")

    def read(self) -> pd.DataFrame:
        """All that is kept, with `COLUMNS`; no rows where there is no file.

        Raises:
            CorruptDataError: The file is no history.
        """
        require_regular(self.path, "a history of finished runs in CSV")
        if not self.path.exists():
            return pd.DataFrame(columns=list(COLUMNS))
        return _rows_of(self.path)

    def with_shipped(self) -> pd.DataFrame:
        """All that is kept and all that comes with the package, whose tasks are named ORIGIN: TASK.

        Raises:
            CorruptDataError: The file is no history.
        """
        own, shipped = self.read(), shipped_rows()
        shipped = shipped.assign(task=shipped["origin"] + ": " + shipped["task"])
        return shipped if own.empty else pd.concat([own, shipped], ignore_index=True)

    def add(self, rows: pd.DataFrame) -> int:
        """Keep rows, with `COLUMNS`; those of the same task, arm and number of labels are replaced.

        Returns:
            How many of them are new.

        Raises:
            DataError: They measure a task by something else than what is kept of it.
            StoreError: The file cannot be written.
        """
        kept = self.read()
        for task in dict.fromkeys(rows["task"]):
            before, now = (set(part.loc[part["task"] == task, "measure"]) for part in (kept, rows))
            if len(before | now) > 1:
                raise DataError(
                    f"the task {task} is measured by {listed(sorted(before | now))}; keep one measure, or give it "
                    "another name with --task"
                )
        keys = ["task", "arm", "labels"]
        joined = pd.concat([kept, rows[list(COLUMNS)]], ignore_index=True) if len(kept) else rows[list(COLUMNS)]
        joined = joined.drop_duplicates(keys, keep="last")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(self.path) as place:
                joined.to_csv(place, index=False)
        except OSError as error:
            raise StoreError(f"the history {self.path} cannot be written: {error.strerror or error}") from None
        return len(joined) - len(kept)


@functools.cache
def shipped_rows() -> pd.DataFrame:
    """What comes with the package, with `COLUMNS`."""
    return _rows_of(SHIPPED)


def _rows_of(path: Path) -> pd.DataFrame:
    """Finished runs from a file, with names such as 007 and NA kept as they are."""
    try:
        rows = read_frame(path, "csv", as_it_is=True).rows
        if tuple(rows.columns) == COLUMNS:
            numbers = {
                name: rows[name].map(lambda one: float(one) if one else np.nan).astype(np.float64)
                for name in ("labels", "score")
            }
            return rows.assign(**numbers)
    except (DataError, ValueError) as error:
        raise CorruptDataError(f"{path} cannot be read as a history: {error}; move it away") from None
    raise CorruptDataError(
        f"{path} is no history of finished runs: its columns are {listed([str(name) for name in rows.columns])}; move "
        "it away"
    )


def groups_of(rows: pd.DataFrame) -> list[frozenset[str]]:
    """Tasks that arms in common join, directly or through others, in the order of their first rows."""
    groups: list[set[str]] = []
    for _, tasks in rows.groupby("arm", sort=False)["task"]:
        joined, apart = set(tasks), []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    order = {task: place for place, task in enumerate(dict.fromkeys(rows["task"]))}
    return sorted(map(frozenset, groups), key=lambda group: min(order[task] for task in group))


def study_rows(frames: StudyFrames, task: str | None = None) -> pd.DataFrame:
    """Mean scores of the finished runs of a study, a row for each arm and number of labels.

    The task is the target's data set, and a source the name that the study gives it.

    Raises:
        DataError: No run is finished.
    """
    named = frames.metric if isinstance(frames.metric, NamedMeasure) else None
    final = frames.final(frames.metric.headline)
    runs = final[final["role"] == "method"]
    if runs.empty:
        raise DataError(f"the study {frames.study.name} has no finished run; finish it with `transferscope run`")
    target = frames.study.facts.get("target", {})
    name = task or str(target.get("name", frames.study.name) if isinstance(target, dict) else frames.study.name)
    arms = [
        candidate_words(m, s or None, frames.methods_of_others)
        for m, s in zip(runs["method"], runs["source"], strict=True)
    ]
    mean = runs.assign(arm=arms).groupby(["arm", "n_target"], sort=False)["value"].mean().reset_index()
    return pd.DataFrame(
        {
            "task": name,
            "arm": mean["arm"],
            "labels": mean["n_target"].astype(float),
            "score": mean["value"],
            "measure": named.name if named else frames.metric.headline,
            "better": "higher" if named is None or named.higher_is_better else "lower",
            "origin": frames.study.name,
        }
    )


def table_rows(
    frame: pd.DataFrame, columns: LabelColumns, *, origin: str, task: str | None, task_column: str | None
) -> pd.DataFrame:
    """Scores of a table, averaged over seeds; an accuracy in percent becomes a share.

    Args:
        columns: Which column holds what; numbers of labels are optional.
        task: The name of its task, where it is about one.
        task_column: Its column of tasks, where it is about several.

    Raises:
        SettingsError: A column cannot be found.
        DataError: Rows of one arm and task repeat without seeds, or a score is no number.
    """
    if task_column is not None and task_column not in frame.columns:
        raise unknown_name("column", task_column, map(str, frame.columns))
    named, _ = find_columns(frame, columns, optional=("labels", "seed", "stderr"))
    better = better_of(str(named.score), columns.better)
    check_one_measure(frame, str(named.score), str(named.arm), *([task_column] if task_column else []))
    for name, what in ((named.arm, "arms"), (task_column, "tasks")):
        check_spellings(frame[name].tolist() if name else (), f"the rows of column {name}", what)
    score = pd.to_numeric(frame[named.score], errors="coerce")
    if score.isna().any():
        row = int(np.flatnonzero(score.isna())[0]) + 1
        raise DataError(f"column {named.score} holds no number in row {row}; expected a score in every row")
    tasks = frame[task_column].astype(str) if task_column else pd.Series(task or origin, index=frame.index)
    labels = pd.to_numeric(frame[named.labels]) if named.labels else pd.Series(np.nan, index=frame.index)
    tidy = pd.DataFrame({"task": tasks, "arm": frame[named.arm].astype(str), "labels": labels, "score": score})
    keys = ["task", "arm", "labels"]
    if named.seed is None and tidy.duplicated(keys).any():
        first = tidy[tidy.duplicated(keys)].iloc[0]
        raise DataError(
            f"several rows hold the arm {first['arm']} on {first['task']} and no column says which run they are; name "
            "it with --seed-column, or the column of tasks with --task-column"
        )
    mean = tidy.groupby(keys, sort=False, dropna=False)["score"].mean().reset_index()
    measure = str(named.score)
    if words_in(measure) & ACCURACIES:  # of all tables in one unit, as studies keep it
        measure = "accuracy"
        mean["score"] /= 100.0 if mean["score"].max() > 1 else 1.0
    return mean.assign(measure=measure, better=better, origin=origin)
