"""Keeping finished runs of studies and tables, and what to try next on a new task by what is kept."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.analyses.compare.frames import read_study
from transferscope.analyses.history.proposals import RULES, Rule, predict
from transferscope.analyses.history.records import History, study_rows, table_rows
from transferscope.analyses.history.result import Proposal, ProposalResult
from transferscope.analyses.plan.measurements import LabelColumns
from transferscope.analyses.scaling.measurements import read_table
from transferscope.errors import DataError, SettingsError, unknown_name
from transferscope.study.places import one_study, open_existing
from transferscope.wording import listed


def add_to_history(
    place: str | Path,
    *,
    history: History | None = None,
    columns: LabelColumns | None = None,
    task: str | None = None,
    task_column: str | None = None,
    study: str | None = None,
) -> tuple[int, int]:
    """Keep the finished runs of a study, or the scores of a table.

    Args:
        place: A study file, the path or URL of a store, or a CSV, TSV or JSON table with a row for each score.
        history: Where to keep them; None for the user's own.
        columns: Which column of a table holds what; None to find them by common names.
        task: The name of the task; None for the target of a study, or the name of a table.
        task_column: The column of a table that tells tasks apart.
        study: Which study, when a store holds several.

    Returns:
        How many scores were read, and how many of them are new; the others replace what was kept.

    Raises:
        TransferscopeError: A study or table that cannot be used, or one of another measure than what is kept.
    """
    name = str(place)
    if task is not None and task_column is not None:
        raise SettingsError(
            "both --task and --task-column were given; a table is about one task, or has a column of them"
        )
    if "://" not in name and not name.endswith((".toml", ".sqlite", ".db")):
        path = Path(name)
        rows = table_rows(
            read_table(path), columns or LabelColumns(), origin=path.stem, task=task, task_column=task_column
        )
    else:
        with open_existing(name) as store:
            rows = study_rows(read_study(store, one_study(store, name, study)), task)
    return len(rows), (history or History.of_user()).add(rows)


def propose(
    task: str,
    *,
    history: History | pd.DataFrame | None = None,
    probes: Mapping[str, float] | None = None,
    labels: float | None = None,
    rule: Rule = "combined",
) -> ProposalResult:
    """Say which arm to try next on a task, by what other tasks say of all arms and by what was tried on it.

    Args:
        task: The new task; what is kept of it counts as tried.
        history: What is known of other tasks; None for the user's own history.
        probes: Further scores on the new task by arm.
        labels: The number of labels; None to read each arm of a task at its largest one.
        rule: "static", "low-rank", "combined" or "gaussian-process".

    Returns:
        All arms with what is expected of them.

    Raises:
        UnknownNameError: There is no such rule, or a probe is an arm that no other task knows.
        DataError: Fewer than two other tasks with the same measure know two arms or more.
    """
    if rule not in RULES:
        raise unknown_name("rule", rule, RULES)
    frame = history if isinstance(history, pd.DataFrame) else (history or History.of_user()).read()
    if labels is not None:
        frame = frame[(frame["labels"] == labels) | frame["labels"].isna()]
    frame = frame.sort_values("labels", na_position="first").drop_duplicates(["task", "arm"], keep="last")
    own = frame[frame["task"] == task]
    measures = own["measure"].unique().tolist() if len(own) else frame["measure"].unique().tolist()
    others = frame[(frame["task"] != task) & frame["measure"].isin(measures)]
    several = others.groupby("task")["arm"].transform("nunique") > 1
    others = others[several]
    if others["measure"].nunique() > 1:
        raise DataError(
            f"the history measures tasks by {listed(sorted(others['measure'].unique()))}, and nothing is kept of "
            f"{task} to say which counts; add a first run of it, with `transferscope history add`"
        )
    if others["task"].nunique() < 2:
        raise DataError(
            f"the history knows {others['task'].nunique()} other task(s) with two or more arms, and a proposal "
            "takes 2; keep more with `transferscope history add STUDY|TABLE`"
        )
    sign = -1.0 if (others["better"] == "lower").any() else 1.0
    matrix = others.pivot_table(index="task", columns="arm", values="score", sort=False)
    tried = dict(zip(own["arm"], own["score"], strict=True)) | dict(probes or {})
    strange = [arm for arm in (probes or {}) if arm not in matrix.columns]
    if strange:
        raise unknown_name("arm", strange[0], map(str, matrix.columns))
    arms = [str(arm) for arm in matrix.columns]
    places = {arms.index(arm): sign * score for arm, score in tried.items() if arm in arms and np.isfinite(score)}
    found = predict(sign * matrix.to_numpy(), places, rule)
    counts = matrix.notna().sum()
    proposals = [
        Proposal(
            arm=arms[place],
            tasks=int(counts.iloc[place]),
            expected=sign * float(found.mean[place]) if places else float("nan"),
            sd=float(found.sd[place]) if places else float("nan"),
            improvement=float(found.improvement[place]) if places else float("nan"),
            tried=place in places,
        )
        for place in found.order
    ]
    return ProposalResult(task, tuple(proposals), rule, len(matrix), str(others["measure"].iloc[0]), sign > 0)
