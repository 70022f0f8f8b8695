"""Scores of arms at numbers of labels, from a table as people keep it or from a study."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from transferscope.analyses.columns import ARM_NAMES, SEED_NAMES, Role, columns_by_role
from transferscope.analyses.scaling.checks import UNBOUNDED, check_units, told_apart, words_in
from transferscope.analyses.scaling.measure import Measure
from transferscope.analyses.scaling.measurements import R_SQUARED, RISING, Better, Columns, as_errors, curves
from transferscope.data.arrays import check_spellings
from transferscope.errors import DataError, SettingsError, unknown_name
from transferscope.scaling.observations import Observations
from transferscope.study.decisions import best_without
from transferscope.study.frames import StudyFrames
from transferscope.study.named_measure import NamedMeasure
from transferscope.wording import candidate_words, counted, listed, measure_words

ROLES = {
    "labels": Role(
        "numbers of labels",
        "labels n_labels num_labels n_target labelled labeled n_labelled n_labeled label_count train_size n_train "
        "num_train n_examples examples n_samples samples size sizes n",
    ),
    "arm": Role("arms (from scratch, and the ways of transfer)", ARM_NAMES),
    "score": Role(
        "scores",
        "score accuracy acc test_accuracy test_acc val_accuracy top1 r2 f1 macro_f1 auc auroc error err test_error "
        "error_rate mse rmse mae loss test_loss",
        alone=True,
    ),
    "seed": Role("seeds", SEED_NAMES),
    "stderr": Role("standard errors", "stderr std_error standard_error se sem uncertainty"),
}
"""What the columns of a table hold."""

SCRATCH_NAMES = frozenset(
    (
        "scratch",
        "from_scratch",
        "training_from_scratch",
        "train_from_scratch",
        "random_init",
        "random_initialisation",
        "random_initialization",
        "random",
        "no_transfer",
        "not_pretrained",
        "without_pretraining",
    )
)

MEASURE_COLUMNS = frozenset(("metric", "measure", "metric_name", "measure_name"))
"""Columns that say what a row measures; a plan is about one."""


@dataclass(frozen=True)
class LabelColumns:
    """Which column of a table holds what; None to find it by common names.

    Attributes:
        labels: The number of labels.
        arm: What was trained: from scratch, or a way of transfer.
        seed: The repetition; runs of two arms with the same seed share their labels.
        scratch: The value of `arm` that means training from scratch.
        better: Which scores are better; None to tell by name and trend.
    """

    labels: str | None = None
    arm: str | None = None
    score: str | None = None
    seed: str | None = None
    stderr: str | None = None
    scratch: str | None = None
    better: Better | None = None


@dataclass(frozen=True)
class Measured:
    """All measurements that a plan rests on.

    Attributes:
        curves: Mean errors at numbers of labels above 0 by arm, training from scratch first.
        by_seed: Errors by arm: number of labels to errors by seed; empty without seeds.
        target_error: The wanted score as an error; None without one.
        chance: The error of guessing; None when unknown.
    """

    curves: Mapping[str, Observations]
    scratch: str
    by_seed: Mapping[str, Mapping[float, Mapping[object, float]]]
    measure: Measure
    target_error: float | None
    notes: tuple[str, ...]
    chance: float | None = None


def table_measurements(frame: pd.DataFrame, columns: LabelColumns, target_score: float | None) -> Measured:
    """Read a table with a row for each score.

    Args:
        target_score: The score that is wanted, in the unit of its column; None without one.

    Raises:
        UnknownNameError: A column, or the arm that trains from scratch, does not exist.
        SettingsError: A column cannot be found, no arm or no other arm than from scratch is there, or the score that
            is wanted is out of range.
        DataError: Rows mix measures or units, repeat each other, or hold no numbers.
    """
    columns, notes = find_columns(frame, columns)
    labels, arm, score = str(columns.labels), str(columns.arm), str(columns.score)
    named = frame[arm].notna()
    if not named.any():
        raise DataError(f"no row has a name in {arm}; expected the arm of each score, as in scratch")
    if not named.all():
        notes.append(f"left out {counted(int((~named).sum()), 'row')} without any {arm}")
    check_spellings(frame[arm].tolist(), f"the rows of column {arm}", "arms")
    frame = frame[named].astype({arm: str})
    scratch = _scratch_among(list(dict.fromkeys(frame[arm])), columns.scratch)
    check_one_measure(frame, score, arm)
    check_units(pd.to_numeric(frame[score], errors="coerce"), [pd.to_numeric(frame[labels], errors="coerce")])
    stderr = None if columns.seed is not None else columns.stderr
    if columns.seed is not None and columns.stderr is not None:
        notes.append(f"{columns.stderr} was not used, since the spread over {columns.seed} says more")
    _check_no_repeats(frame, columns)
    read = Columns(score, labels, None, (arm,), stderr, columns.seed is not None, columns.better)
    frame, target, measure = as_errors(frame, read, target_score, option="--target-score", rises=False)
    found = curves(frame, read)
    by_seed: dict[str, dict[float, dict[object, float]]] = {}
    if columns.seed is not None:
        usable = frame[[arm, labels, columns.seed, score]].dropna()
        errors = pd.to_numeric(usable[score])
        usable = usable[np.isfinite(errors) & (errors >= 0)]
        for name, n, seed, error in usable.itertuples(index=False):
            by_seed.setdefault(name, {}).setdefault(float(n), {})[seed] = float(error)
    return _checked(found, scratch, by_seed, measure, target, tuple(notes))


def study_measurements(frames: StudyFrames, target_score: float | None) -> Measured:
    """Read the finished runs of a study: accuracy or R² of every arm with a source, and of the best without one.

    The best is that of the decision on the largest number of labels; it is what catches up with transfer.

    Args:
        target_score: The wanted accuracy or average precision (0.85, or 85 for percent) or R²; None without one.

    Raises:
        SettingsError: The study has one number of labels only, or the score that is wanted is out of range.
        DataError: Nothing without a source has a run, or no arm was measured at two numbers of labels.
    """
    name = frames.study.name
    if len(frames.sizes) < 2:
        raise SettingsError(
            f"the study {name} has one number of labels, {frames.sizes[0]:,}, and a plan takes several; give labels = "
            f"[{frames.sizes[0]}, {2 * frames.sizes[0]}, {4 * frames.sizes[0]}] under [target] in its file and run it "
            "again"
        )
    if isinstance(frames.metric, NamedMeasure) and (
        frames.metric.unit != "share" or not frames.metric.higher_is_better
    ):
        raise SettingsError(
            f"the study {name} is judged by {frames.metric.name}, and a plan takes a share of 1 of which more is "
            'better, as accuracy is; if it is one, say unit = "share" in [run] of its file and run it again'
        )
    share_of_one, words = frames.metric.higher_is_better, measure_words(frames.metric.headline)
    final = frames.final(frames.metric.headline)
    best = best_without(frames)
    if best is None:
        raise DataError(
            f"the study {name} has no finished run without a source, so that nothing can catch up with transfer; add a "
            "method such as [methods.scratch] to its file and run it again"
        )
    runs = final[(final["role"] == "method") & ((final["source"] != "") | (final["method"] == best.method))]
    others = frames.methods_of_others
    arms = [candidate_words(m, s or None, others) for m, s in zip(runs["method"], runs["source"], strict=True)]
    scratch = candidate_words(best.method, None, others)
    frame = pd.DataFrame({"arm": arms, "n": runs["n_target"], "seed": runs["seed"], "error": 1 - runs["value"]})
    target = None
    if target_score is not None:
        share = target_score / 100 if share_of_one and target_score > 1 else target_score
        if not (0 if share_of_one else -np.inf) < share < 1:
            expected = f"{words} above 0 and below 1, or up to 100 in percent" if share_of_one else "an R² below 1"
            raise SettingsError(f"the target score {target_score:g} is out of range; expected {expected}")
        target = 1 - share
    if frame.empty:
        raise DataError(f"the study {name} has no finished run; finish it with `transferscope run`")
    columns = Columns(by=("arm",), repeats=True)
    found = curves(frame, columns)
    by_seed: dict[str, dict[float, dict[object, float]]] = {}
    for arm, n, seed, error in frame.itertuples(index=False):
        by_seed.setdefault(arm, {}).setdefault(float(n), {})[seed] = float(error)
    measure = Measure(words, "accuracy" if share_of_one else "r2", 1.0)
    k = len(frames.classes or ()) if frames.metric.is_of_classes else 0
    return replace(_checked(found, scratch, by_seed, measure, target, ()), chance=1 - 1 / k if k else None)


def error_of_guessing(measured: Measured, classes: int) -> float:
    """The error of guessing among equally frequent classes, in the unit of the table.

    Raises:
        SettingsError: What is measured is a loss, or R², and no share of errors.
    """
    measure, worst = measured.measure, max(float(data.errors.max()) for data in measured.curves.values())
    if measure.kind == "r2" or words_in(measure.name) & UNBOUNDED or worst > 100:
        raise SettingsError(
            f"{classes} classes were given, and {measure.name} is no share of errors, which guessing would have 1 - 1/"
            f"{classes} of; leave out --classes"
        )
    return (measure.top or (1.0 if worst <= 1 else 100.0)) * (1 - 1 / classes)


def find_columns(
    frame: pd.DataFrame, columns: LabelColumns, *, optional: Collection[str] = ("seed", "stderr")
) -> tuple[LabelColumns, list[str]]:
    """The columns that were not named, by their common names; see `columns.columns_by_role`."""
    given = {role: getattr(columns, role) for role in ROLES}
    found, notes = columns_by_role(frame, ROLES, given, optional=optional)
    labels, arm, score, seed, stderr = (found[role] for role in ROLES)
    return LabelColumns(labels, arm, score, seed, stderr, columns.scratch, columns.better), notes


def _scratch_among(arms: list[str], named: str | None) -> str:
    if named is not None:
        if named not in arms:
            raise unknown_name("arm", named, arms)
        found = [named]
    else:
        found = [arm for arm in arms if re.sub(r"[^a-z0-9]+", "_", arm.lower()).strip("_") in SCRATCH_NAMES]
    if len(arms) < 2:
        raise SettingsError(
            f"the table has one arm, {listed(arms)}, and a plan compares training from scratch with transfer; add rows "
            "of the other"
        )
    if len(found) != 1:
        which = "none" if not found else listed(found)
        raise SettingsError(
            f"of the arms {_few(arms)}, {which} could be training from scratch; say which one it is with --without"
        )
    return found[0]


def check_one_measure(frame: pd.DataFrame, score: str, *by: str) -> None:
    """Refuse rows of several measures, and qualities that are shares in some groups of rows and percent in others.

    Args:
        by: Columns whose values have each one unit, such as arms and tasks.

    Raises:
        DataError: The rows mix them.
    """
    for name in frame.columns:
        if str(name).lower() in MEASURE_COLUMNS and frame[name].nunique() > 1:
            raise DataError(
                f"the rows mix measures: column {name} holds {_few([str(v) for v in frame[name].dropna().unique()])}; "
                "keep the rows of one"
            )
    values, words = pd.to_numeric(frame[score], errors="coerce"), set(re.findall(r"[a-z]+[0-9]?", score.lower()))
    for group in by if words & RISING and not R_SQUARED.search(score.lower()) else ():
        tops = values.groupby(frame[group]).max().dropna()
        if (tops <= 1).any() and (tops > 1).any():
            raise DataError(
                f"column {score} mixes units: it is at most 1 for {_few(list(map(str, tops.index[tops <= 1])))} and "
                f"above 1 for {_few(list(map(str, tops.index[tops > 1])))}; write all of it as shares or all in percent"
            )


def _check_no_repeats(frame: pd.DataFrame, columns: LabelColumns) -> None:
    """Refuse rows of one arm, number of labels and seed, and rows of several tasks that have seeds of their own."""
    arm, labels, score, seed = str(columns.arm), str(columns.labels), str(columns.score), columns.seed
    keys = [arm, labels, *([seed] if seed else [])]
    frame = frame[frame[[labels, score]].notna().all(axis=1)]
    repeated = frame[frame.duplicated(keys, keep=False)]
    several = told_apart(
        frame,
        [arm, labels],
        sizes=[labels],
        value=score,
        other=[columns.stderr] if columns.stderr else [],
        seeds=[seed] if seed else [],
    )
    if several is not None:
        raise DataError(
            f"{several.rows}, so that they may be of several tasks; keep the rows of one, or leave that column out if "
            "they are repeats"
        )
    if repeated.empty:
        return
    where = ", ".join(f"{name} = {value}" for name, value in zip(keys, repeated.iloc[0][keys], strict=True))
    if seed is None:
        raise DataError(
            f"{len(repeated[(repeated[keys] == repeated.iloc[0][keys]).all(axis=1)])} rows hold {where} and no column "
            "says which run they are; name it with --columns seed=COLUMN, or keep the rows of one task"
        )
    raise DataError(f"several rows hold {where}; keep one task, one measure and one row for each run")


def _checked(
    found: Mapping[str, Observations],
    scratch: str,
    by_seed: Mapping[str, Mapping[float, Mapping[object, float]]],
    measure: Measure,
    target: float | None,
    notes: tuple[str, ...],
) -> Measured:
    """Curves with at least two numbers of labels above 0, training from scratch first."""
    kept: dict[str, Observations] = {}
    said = list(notes)
    for arm in (scratch, *(arm for arm in found if arm != scratch)):
        data = found.get(arm)
        if data is None:
            raise DataError(f"{scratch} has no usable row; a plan takes it at two numbers of labels or more")
        said += data.notes
        usable = (data.sizes[:, 0] > 0) & (data.errors > 0)
        if not usable.all():
            what = "0 labels or without any error"
            said.append(f"{arm}: left out {counted(int((~usable).sum()), 'score')} at {what}, which have no logarithm")
        data = data.take(usable)
        if data.n_distinct >= 2:
            kept[arm] = data
        elif arm == scratch:
            sizes = listed([f"{size:,.0f}" for size in np.unique(data.sizes)]) or "none"
            raise DataError(
                f"{scratch} was measured at {counted(data.n_distinct, 'usable number')} of labels ({sizes}), and a "
                "learning curve takes at least 2, better 4, such as 25, 50, 100 and 200"
            )
        else:
            said.append(f"{arm} was left out, since it was measured at fewer than two usable numbers of labels")
    if len(kept) < 2:
        raise DataError(
            "no way of transfer was measured at two or more numbers of labels, which a learning curve takes; measure "
            "it at more, such as 25, 50, 100 and 200"
        )
    return Measured(kept, scratch, by_seed, measure, target, tuple(dict.fromkeys(said)))


def _few(names: list[str]) -> str:
    return listed(names if len(names) <= 5 else [*names[:4], f"{len(names) - 4} more"])
