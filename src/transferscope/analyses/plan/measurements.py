"""Scores of arms at numbers of labels, from a table or a study."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from transferscope.analyses.columns import (
    MEASURE_COLUMNS,
    ROLES,
    as_option,
    check_one_measure,
    columns_by_role,
    long_form,
    numbers_in,
    plain_name,
    rows_where,
    with_joined,
    words_in,
)
from transferscope.analyses.scaling.checks import UNBOUNDED, check_units, columns_apart
from transferscope.analyses.scaling.measurements import as_errors, curves
from transferscope.data.arrays import check_spellings
from transferscope.errors import DataError, SettingsError, unknown_name
from transferscope.scaling.observations import Observations
from transferscope.settings.questions import Columns, LabelColumns
from transferscope.study.decisions import arms_of, best_baseline, decisions
from transferscope.study.frames import StudyFrames
from transferscope.study.measure import Measure
from transferscope.wording import counted, few, measure_words, sizes_in_words

_ROLES = {role: ROLES[role] for role in ("labels", "arm", "score", "seed", "task", "stderr")}

_SCRATCH_NAMES = (
    "scratch from_scratch training_from_scratch train_from_scratch random_init random_initialisation random "
    "random_initialization no_transfer not_pretrained without_pretraining"
)
SCRATCH_NAMES = frozenset(_SCRATCH_NAMES.split())

THIS_ARM = "this arm"
"""Name of the only arm of a table without a column of arms."""


@dataclass(frozen=True)
class Measured:
    """All measurements of a plan.

    Attributes:
        curves: Mean errors at numbers of labels above 0 by arm, training from scratch first.
        scratch: The arm that trains from scratch; None without one.
        by_seed: Errors by arm, number of labels and seed; empty without seeds.
        target_error: The target score as an error; None without one.
        chance: The error of guessing; None if unknown.
    """

    curves: Mapping[str, Observations]
    scratch: str | None
    by_seed: Mapping[str, Mapping[float, Mapping[object, float]]]
    measure: Measure
    target_error: float | None
    notes: tuple[str, ...]
    chance: float | None = None


def table_measurements(frame: pd.DataFrame, columns: LabelColumns, target_score: float | None) -> Measured:
    """Read a table with one row per score, or a column of scores for each arm or number of labels.

    Args:
        target_score: The target score, in the unit of its column; None without one.
    """
    frame, columns, notes = read_scores(frame, columns)
    labels, arm, score = str(columns.labels), str(columns.arm), str(columns.score)
    if columns.task is not None and frame[columns.task].nunique() > 1:
        tasks = list(dict.fromkeys(frame[columns.task].dropna()))
        raise DataError(
            f"the rows have {len(tasks)} tasks (column {columns.task}: {few(tasks)}), but a plan is for one; add "
            f'--where "{columns.task}={tasks[0]}"'
        )
    scratch = _scratch_among(list(dict.fromkeys(frame[arm])), columns.scratch)
    check_units(pd.to_numeric(frame[score], errors="coerce"), [pd.to_numeric(frame[labels], errors="coerce")])
    stderr = None if columns.seed is not None else columns.stderr
    if columns.seed is not None and columns.stderr is not None:
        notes.append(f"{columns.stderr} was not used, since the spread over {columns.seed} says more")
    _check_no_repeats(frame, columns)
    read = Columns(score, labels, None, (arm,), stderr, columns.seed is not None, columns.better)
    frame, target, measure = as_errors(frame, read, target_score, rises=False)
    return _measured(frame, read, columns.seed, Measured({}, scratch, {}, measure, target, tuple(notes)))


def study_measurements(frames: StudyFrames, target_score: float | None) -> Measured:
    """Read the finished runs of a study: accuracy or R² of every transfer arm, and of the best baseline.

    The best baseline is that of the decision at the largest number of labels; it is compared with transfer at every
    size. Means are adjusted for seeds that an arm lacks, as in the decisions.

    Args:
        target_score: The target accuracy or average precision (0.85, or 85 for percent) or R²; None without one.
    """
    name = frames.study.name
    if len(frames.sizes) < 2:
        n, table = frames.sizes[0] or 100, "target" if "target" in frames.study.spec else "run"  # 0: all there are
        raise SettingsError(
            f"the study {name} has only {sizes_in_words(frames.sizes)}, but a plan needs several numbers; give labels "
            f"= [{n}, {2 * n}, {4 * n}] under [{table}] in its file and run it again"
        )
    judged = frames.metric.judged
    if judged.unit not in ("share", "R²") or not judged.higher_is_better:
        raise SettingsError(
            f"the metric of {name} is {judged.name}; expected a share of 1 of which more is better, such as accuracy: "
            'if it is one, give unit = "share" in [run] of its file and run it again'
        )
    words = measure_words(judged.record)
    final = frames.final(judged.record)
    best = best_baseline(frames)
    if best is None:
        raise DataError(
            f"the study {name} has no finished run of a baseline; add one such as [methods.scratch] to its file and "
            "run it again"
        )
    runs = final[(final["role"] == "method") & ((final["source"] != "") | (final["method"] == best.method))]
    arms = [frames.in_prose(method, source) for method, source in zip(runs["method"], runs["source"], strict=True)]
    scratch = frames.in_prose(best.method, "")
    values = runs["value"].copy()
    for n, decision in decisions(frames).items():
        for arm, facts in zip(arms_of(frames, n), decision.arms, strict=True):
            if facts.adjusted and facts.mean is not None:
                own = (runs["n_target"] == n) & (runs["method"] == arm.method) & (runs["source"] == arm.source)
                values[own] += frames.metric.from_points(facts.mean) - values[own].mean()
    frame = pd.DataFrame({"arm": arms, "n": runs["n_target"], "seed": runs["seed"], "error": 1 - values})
    target = None if target_score is None else judged.error_of(target_score)
    if frame.empty:
        raise DataError(f"the study {name} has no finished run; finish it with `transferscope run`")
    k = len(frames.classes or ()) if frames.metric.is_of_classes else 0
    asked = Measured({}, scratch, {}, replace(judged, name=words), target, (), chance=1 - 1 / k if k else None)
    return _measured(frame, Columns(by=("arm",), repeats=True), "seed", asked)


def error_of_guessing(measured: Measured, classes: int) -> float:
    """Return the error of guessing among equally frequent classes, in the unit of the table."""
    measure, worst = measured.measure, max(float(data.errors.max()) for data in measured.curves.values())
    if measure.unit == "R²" or words_in(measure.name) & UNBOUNDED or worst > 100:
        raise SettingsError(
            f"classes = {classes} applies to error rates only, but the metric is {measure.name}; leave it out"
        )
    top = measure.bounds[1] if measure.higher_is_better else 1.0 if worst <= 1 else 100.0
    return top * (1 - 1 / classes)


def read_scores(
    frame: pd.DataFrame, columns: LabelColumns, *, labelled: bool = True
) -> tuple[pd.DataFrame, LabelColumns, list[str]]:
    """Return the selected rows with one score each, with columns found by their common names.

    Args:
        labelled: Whether the table must have numbers of labels; otherwise it must have arms.

    Returns:
        The rows with names of arms as text ("this arm" without a column of names), their columns, and notes on how they
        were read.
    """
    given = {role: getattr(columns, role) for role in _ROLES}
    series = (
        "task"
        if columns.wide == "tasks"
        else "arm"
        if columns.wide or any(plain_name(str(name)) in SCRATCH_NAMES for name in frame.columns)
        else None
    )
    frame = with_joined(with_joined(rows_where(frame, columns.where), columns.arm), columns.seed)
    frame, melted, how_read = long_form(frame, _ROLES, given, size="labels", value="score", series=series)
    optional = ["seed", "stderr", "task", "arm" if labelled else "labels"]
    option = as_option if labelled else _option_of_tasks
    by_role, notes = columns_by_role(frame, _ROLES, {**given, **melted}, optional=optional, option=option)
    labels, own_arm, score, seed, task, stderr = (by_role[role] for role in _ROLES)
    if labels is not None:
        numbers_in(frame, labels, f"a number of labels, such as 1000 (--where '{labels}!=VALUE' leaves rows out)")
    arm = own_arm or THIS_ARM
    frame = frame if own_arm else frame.assign(**{THIS_ARM: THIS_ARM})
    columns = replace(columns, labels=labels, arm=arm, score=score, seed=seed, task=task, stderr=stderr)
    named = frame[arm].notna()
    if not named.any():
        raise DataError(f"column {arm} is empty in every row; expected the arm of each score, as in scratch")
    if not named.all():
        notes.append(f"left out {counted(int((~named).sum()), 'row')} without any {arm}")
    frame = frame[named].astype({arm: str})
    for name, what in ((arm, "arms"), (columns.task, "tasks")):
        check_spellings(frame[name].tolist() if name else (), f"the rows of column {name}", what)
    check_one_measure(frame, str(columns.score), arm, *([columns.task] if columns.task else []))
    for name in [str(name) for name in frame.columns if str(name).lower() in MEASURE_COLUMNS]:
        measures = [str(one) for one in frame[name].dropna().unique() if str(one) not in frame]
        if len(measures) == 1:
            frame, columns = frame.rename(columns={columns.score: measures[0]}), replace(columns, score=measures[0])
    return frame, columns, [*how_read, *notes]


def _option_of_tasks(role: str, column: str) -> str:
    return f"--metric {column or 'COLUMN'}" if role == "score" else as_option(role, column)


def _scratch_among(arms: list[str], named: str | None) -> str | None:
    if named is not None and named not in arms:
        raise unknown_name("arm", named, arms)
    scratch = [arm for arm in arms if arm == named or (named is None and plain_name(arm) in SCRATCH_NAMES)]
    if len(scratch) > 1:
        raise SettingsError(f"the arms {few(scratch)} could each be training from scratch; choose one with --without")
    return scratch[0] if scratch else None


def _check_no_repeats(frame: pd.DataFrame, columns: LabelColumns) -> None:
    """Refuse repeated rows of one arm, number of labels and seed, and rows of several tasks with their own seeds."""
    arm, labels, score, seed = str(columns.arm), str(columns.labels), str(columns.score), columns.seed
    keys = [arm, labels, *([seed] if seed else [])]
    frame = frame[frame[[labels, score]].notna().all(axis=1)]
    repeated = frame[frame.duplicated(keys, keep=False)]
    several, apart = columns_apart(
        frame,
        [arm, labels] if arm != THIS_ARM else [labels],
        sizes=[labels],
        value=score,
        other=[name for name in (columns.stderr, columns.task, THIS_ARM) if name],
        seeds=[seed] if seed else [],
    )
    if several is not None:
        joined = "+".join(apart if arm == THIS_ARM else (arm, *apart))
        raise DataError(
            f"{several.rows}, so that they may be of several arms or tasks; identify arms by these columns, as in "
            f"--columns arm={joined}, keep the rows of one with --where, or drop columns that number repeats"
        )
    if repeated.empty:
        return
    first = repeated.iloc[0][keys]
    alike, where = (
        (repeated[keys] == first).all(axis=1),
        ", ".join(f"{name} = {value}" for name, value in first.items()),
    )
    more = "; keep one task, one metric and one row per run"
    if seed is None:
        more = ", and no column distinguishes them; add --columns seed=COLUMN, or keep the rows of one task"
    raise DataError(f"{alike.sum()} rows have {where}{more}")


def _measured(frame: pd.DataFrame, columns: Columns, seed: str | None, asked: Measured) -> Measured:
    """Return the curves of arms at two numbers of labels or more above 0, training from scratch first."""
    (arm,), labels, scratch = columns.by, columns.pretrain_size, asked.scratch
    kept: dict[str, Observations] = {}
    notes = list(asked.notes)
    for name, data in sorted(curves(frame, columns).items(), key=lambda one: one[0] != scratch):
        notes += data.notes
        zero_from = np.inf if data.zero_from is None else data.zero_from
        usable = (data.sizes[:, 0] > 0) & ((data.errors > 0) | (data.sizes[:, 0] >= zero_from))
        if not usable.all():
            what = "0 labels, or without any error before one with some"
            notes.append(f"{name}: left out {counted(int((~usable).sum()), 'score')} at {what}")
        data = data.take(usable)
        if data.n_distinct >= 2:
            kept[name] = data
        else:
            notes.append(f"{name} was left out, since it was measured at fewer than two usable numbers of labels")
    lacking = "no arm" if not kept else scratch if scratch is not None and scratch not in kept else None
    if lacking:
        raise DataError(
            f"{lacking} has two usable numbers of labels, as a learning curve needs; give 2, better 4, such as "
            "25, 50, 100 and 200"
        )
    by_seed: dict[str, dict[float, dict[object, float]]] = {}
    if seed is not None:
        for name, n, run, error in frame[[arm, labels, seed, columns.error]].dropna().itertuples(index=False):
            if 0 <= float(error) < np.inf:
                by_seed.setdefault(name, {}).setdefault(float(n), {})[run] = float(error)
    return replace(asked, curves=kept, by_seed=by_seed, notes=tuple(dict.fromkeys(notes)))
