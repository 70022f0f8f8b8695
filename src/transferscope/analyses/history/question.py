"""Keeping finished runs of studies and tables, and what to try next on a new task by what is kept."""

import logging
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.analyses.history.proposals import predict
from transferscope.analyses.history.records import History, groups_of, shipped_rows, study_rows, table_rows
from transferscope.analyses.history.result import Proposal, ProposalResult
from transferscope.analyses.plan.measurements import LabelColumns
from transferscope.analyses.scaling.measurements import measured_rows
from transferscope.errors import DataError, SettingsError, refuse_unused, unknown_name
from transferscope.records import HEADLINES
from transferscope.store import without_password
from transferscope.study.frames import read_study
from transferscope.study.places import one_study, open_existing
from transferscope.wording import candidate_words, listed, method_words

LEAST_GAINS = 5
"""Finished comparisons of two methods from which something is said of them."""

_LOG = logging.getLogger(__name__)


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
        refuse_unused({"--study": study is not None}, "a table was given, which holds no studies")
        path = Path(name)
        read = measured_rows(path, [task_column] if task_column else [])
        for note in read.notes:
            _LOG.warning("%s: %s", path.name, note)
        rows = table_rows(read.rows, columns or LabelColumns(), origin=path.stem, task=task, task_column=task_column)
    else:
        named = {} if columns is None else {f.name: getattr(columns, f.name) is not None for f in fields(columns)}
        named["task_column"] = task_column is not None
        refuse_unused(named, f"{without_password(name)} is a study, whose columns are known")
        with open_existing(name) as store:
            rows = study_rows(read_study(store, one_study(store, name, study)), task)
    return len(rows), (history or History.of_user()).add(rows)


def _group(
    frame: pd.DataFrame, history: History, task: str, probes: Mapping[str, float], origin: str | None
) -> pd.DataFrame:
    """The rows that can say something of a task: those that arms in common join with what was tried on it; without
    anything tried, those of the one group that there is, or that the user's own runs belong to.
    """
    if origin is not None:
        known = list(dict.fromkeys(frame["origin"]))
        if origin not in known:
            raise unknown_name("origin", origin, known)
        frame = frame[(frame["origin"] == origin) | (frame["task"] == task)]
    groups = groups_of(frame)
    tried = set(probes) | set(frame.loc[frame["task"] == task, "arm"])
    own = set(history.read()["task"])
    wanted = [group for group in groups if tried & set(frame.loc[frame["task"].isin(group), "arm"])] if tried else []
    wanted = wanted or [group for group in groups if own & group] or groups
    if len(wanted) > 1 and not tried:
        names = [listed(sorted(set(frame.loc[frame["task"].isin(group), "origin"]))) for group in wanted]
        raise DataError(
            f"nothing was tried on {task}, and the history knows {len(wanted)} groups of tasks without an arm in "
            f"common (from {'; '.join(names)}); give a first score with --tried ARM=SCORE, or name one with --origin"
        )
    return frame[frame["task"].isin(frozenset().union(*wanted, {task}))]


def gains_over(
    method: str, other: str, *, source: str | None = None, history: History | None = None, shipped: bool = True
) -> tuple[int, float, float] | None:
    """What a method gained over another one in finished runs, on the same task with the same source and labels.

    Args:
        other: Name of the other, which transfers from the same source unless it needs none.
        source: Only what transfers from this one; None for any.
        history: The user's own; None for that of the machine.
        shipped: Whether what comes with the package is read too, which fine-tunes small networks alone.

    Returns:
        How many comparisons there are, and between which differences, in points, eight of ten of them lie; None where
        there are fewer than LEAST_GAINS.
    """
    own = history or History.of_user()
    rows = own.with_shipped() if shipped else own.read()
    rows = rows[(rows["better"] == "higher") & rows["measure"].isin(HEADLINES)]
    words, alone = method_words(method), rows[rows["arm"] == method_words(other)]
    of_method = rows[rows["arm"].str.startswith(f"{words} from ")]
    sources = of_method["arm"].str.removeprefix(f"{words} from ")
    of_method = of_method.assign(source=sources, arm=[candidate_words(other, name) for name in sources])
    if source is not None:
        of_method = of_method[of_method["source"] == source]
    if len(of_method) < LEAST_GAINS:
        return None
    at = ["task", "labels", "measure"]
    pairs = [
        of_method.merge(rows[[*at, "arm", "score"]], on=[*at, "arm"], suffixes=("", "_of_other")),
        of_method.merge(alone[[*at, "score"]], on=at, suffixes=("", "_of_other")),
    ]
    differences = 100 * pd.concat([pair["score"] - pair["score_of_other"] for pair in pairs])
    if len(differences) < LEAST_GAINS:
        return None
    return len(differences), float(differences.quantile(0.1)), float(differences.quantile(0.9))


def propose(
    task: str,
    *,
    history: History | pd.DataFrame | None = None,
    probes: Mapping[str, float] | None = None,
    labels: float | None = None,
    origin: str | None = None,
    shipped: bool = True,
    every_arm: bool = False,
) -> ProposalResult:
    """Say which arm to try next on a task, by what other tasks say of all arms and by what was tried on it.

    Args:
        task: The new task; what is kept of it counts as tried.
        history: What is known of other tasks, as a table for no more than that; None for the user's own history.
        probes: Further scores on the new task by arm.
        labels: The number of labels; None to read each arm of a task at its largest one.
        origin: Read only what is from there: the name of a study or table, or one of those that come with the package.
        shipped: Whether what comes with the package is read too.
        every_arm: Whether arms are proposed that only what comes with the package knows; naming its `origin` asks for
            them too. Else they only lend what they say of the others.

    Returns:
        The arms of the history that is given, and of the probes, with what is expected of them.

    Raises:
        SettingsError: The task has no name, or a score or number of labels is none.
        UnknownNameError: There is no such origin, or a probe is an arm that no other task knows.
        DataError: Fewer than two other tasks with the same measure know two arms or more, or nothing was tried and
            nothing says which of several groups of tasks without an arm in common counts, or no arm of the user's own
            is left to try.
    """
    if not task.strip():
        raise SettingsError("the new task has no name; give the name of a data set, or any other")
    if labels is not None and not (math.isfinite(labels) and labels > 0):
        raise SettingsError(f"labels = {labels} is out of range; expected a number of labels above 0")
    for arm, score in (probes or {}).items():
        if not math.isfinite(score):
            raise SettingsError(f"{arm} was tried with the score {score}; expected a finite number")
    own_arms: set[str] | None = None
    if isinstance(history, pd.DataFrame):
        frame = history
    else:
        own_history = history or History.of_user()
        frame = own_history.with_shipped() if shipped else own_history.read()
        frame = _group(frame, own_history, task, {**(probes or {})}, origin)
        if not (every_arm or origin in set(shipped_rows()["origin"])):
            own_arms = set(own_history.read()["arm"]) | set(probes or {})
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
    measure = str(others["measure"].iloc[0])
    if others["better"].nunique() > 1:
        tasks = [listed(sorted(set(others.loc[others["better"] == way, "task"]))) for way in ("higher", "lower")]
        raise DataError(
            f"of {measure} more is better on {tasks[0]} and less on {tasks[1]}; take one of them out of the history"
        )
    for arm, score in (probes or {}).items():
        if measure in HEADLINES and score > 1:
            raise SettingsError(
                f"{arm} was tried with the score {score:g}, and {measure} is kept as a share of at most 1; a score in "
                f"percent is written as {score / 100:g}"
            )
    sign = -1.0 if (others["better"] == "lower").any() else 1.0
    matrix = others.pivot_table(index="task", columns="arm", values="score", sort=False)
    tried = dict(zip(own["arm"], own["score"], strict=True)) | dict(probes or {})
    strange = [arm for arm in (probes or {}) if arm not in matrix.columns]
    if strange:
        raise unknown_name("arm", strange[0], map(str, matrix.columns))
    arms = [str(arm) for arm in matrix.columns]
    places = {arms.index(arm): sign * score for arm, score in tried.items() if arm in arms and np.isfinite(score)}
    proposed = [place for place, arm in enumerate(arms) if own_arms is None or arm in own_arms]
    if own_arms is not None and len(proposed) < len(arms) and set(proposed) <= set(places):
        raise DataError(
            f"no arm of your own is left to try on {task}, and of those that come with the package none is proposed "
            "unless you ask for them with --every-arm; add scores of yours with `transferscope history add STUDY|TABLE`"
        )
    found = predict(sign * matrix.to_numpy(), places)
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
        if place in proposed
    ]
    return ProposalResult(task, tuple(proposals), len(matrix), measure, sign > 0)
