"""`propose`: the next arm to try on a task, from scores on other tasks."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.analyses.history.proposals import predict
from transferscope.analyses.history.records import groups_of, known_rows
from transferscope.analyses.history.result import Proposal, ProposalResult
from transferscope.errors import DataError, SettingsError, out_of_range, unknown_name
from transferscope.records import HEADLINES
from transferscope.settings.questions import LabelColumns
from transferscope.wording import few, listed


def propose(
    task: str,
    known: str | Path | pd.DataFrame | Sequence[str | Path | pd.DataFrame],
    *,
    tried: Mapping[str, float] | None = None,
    columns: LabelColumns | None = None,
    labels: float | None = None,
) -> ProposalResult:
    """Propose the next arm for a task, from the scores of all arms on other tasks and those tried on it.

    Args:
        task: The new task; its known scores count as tried.
        known: Scores of arms on tasks: a data frame, a CSV, TSV or JSON table, a study file, the path or URL of a
            store, the name of an included table (docs/history.md), or several of these; a later one takes precedence
            for the same arm and task.
        tried: Further scores on the new task by arm.
        columns: Column by role; None to find them by common names.
        labels: Number of labels; None for the largest one of each arm and task.

    Raises:
        SettingsError: The task has no name, or a score or number of labels is invalid.
        UnknownNameError: No other task has a tried arm.
        DataError: Fewer than two other tasks with the same metric have two arms or more, or nothing was tried and the
        tasks form several groups without a common arm.
    """
    tried = tried or {}
    if not task.strip():
        raise SettingsError("the new task has no name; give one, such as that of a data set")
    if labels is not None and not (math.isfinite(labels) and labels > 0):
        raise out_of_range("labels", labels, "a number of labels above 0")
    for arm, score in tried.items():
        if not math.isfinite(score):
            raise SettingsError(f"{arm} was tried with the score {score}; expected a finite number")
    places = [known] if isinstance(known, str | Path | pd.DataFrame) else known
    read = [known_rows(place, columns or LabelColumns()) for place in places]
    frame = pd.concat([rows for rows, _ in read], ignore_index=True)
    if labels is not None:
        frame = frame[(frame["labels"] == labels) | frame["labels"].isna()]
    frame = frame.sort_values("labels", na_position="first").drop_duplicates(["task", "arm", "measure"], keep="last")
    own = frame[frame["task"] == task]
    others = _others(frame, task, set(tried) | set(own["arm"]))
    if len(own):
        others = others[others["measure"].isin(own["measure"])]
    measure, higher = _measure(others)
    if strange := [arm for arm in tried if arm not in set(others["arm"])]:
        raise unknown_name("arm", strange[0], map(str, others["arm"].unique()))
    for arm, score in tried.items():
        if measure in HEADLINES and score > 1:
            raise SettingsError(
                f"{arm} was tried with the score {score:g}, but {measure} is a share of at most 1; write "
                f"{score / 100:g} for percent"
            )
    sign = 1.0 if higher else -1.0
    matrix = others.pivot_table(index="task", columns="arm", values="score", sort=False)
    arms = [str(arm) for arm in matrix.columns]
    scores = dict(zip(own["arm"], own["score"], strict=True)) | dict(tried)
    probes = {arms.index(arm): sign * score for arm, score in scores.items() if arm in arms and np.isfinite(score)}
    prediction = predict(sign * matrix.to_numpy(), probes)
    counts = matrix.notna().sum()
    proposals = [
        Proposal(
            arm=arms[place],
            tasks=int(counts.iloc[place]),
            expected=sign * float(prediction.mean[place]) if probes else float("nan"),
            sd=float(prediction.sd[place]) if probes else float("nan"),
            improvement=float(prediction.improvement[place]) if probes else float("nan"),
            tried=place in probes,
        )
        for place in prediction.order
    ]
    notes = tuple(dict.fromkeys(note for _, how_read in read for note in how_read))
    return ProposalResult(task, tuple(proposals), len(matrix), measure, higher, notes)


def _others(frame: pd.DataFrame, task: str, tried: set[str]) -> pd.DataFrame:
    """Return the rows of other tasks with at least two arms that are connected to the tried arms by common arms."""
    frame = frame[frame["task"] != task]
    frame = frame[frame.groupby("task")["arm"].transform("nunique") > 1]
    groups = groups_of(frame)
    wanted = [group for group in groups if tried & set(frame.loc[frame["task"].isin(group), "arm"])] or groups
    if len(wanted) > 1 and not tried:
        raise DataError(
            f"nothing was tried on {task}, and the known tasks are in {len(wanted)} groups without common arms "
            f"({'; '.join(few(sorted(group), 3) for group in wanted[:3])}); give a first score with --tried ARM=SCORE"
        )
    return frame[frame["task"].isin(frozenset().union(*wanted))]


def _measure(others: pd.DataFrame) -> tuple[str, bool]:
    """Return the metric of the tasks, and whether higher is better."""
    if others["measure"].nunique() > 1:
        raise DataError(
            f"the tasks have several metrics, {listed(sorted(others['measure'].unique()))}; keep the tasks of one, or "
            "add a row of the new task"
        )
    if others["task"].nunique() < 2:
        raise DataError(
            f"{others['task'].nunique()} other task(s) have two or more arms; expected at least 2: give a table with a "
            "column of tasks, or one with a column for each task and --wide tasks, or several tables or studies"
        )
    measure = str(others["measure"].iloc[0])
    if others["better"].nunique() > 1:
        tasks = [few(sorted(set(others.loc[others["better"] == way, "task"]))) for way in ("higher", "lower")]
        raise DataError(f"higher {measure} is better on {tasks[0]} and lower on {tasks[1]}; leave one of them out")
    return measure, str(others["better"].iloc[0]) == "higher"
