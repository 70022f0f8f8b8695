"""Training progress of the networks of a study, by their training curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from transferscope.study.frames import StudyFrames

FITTED_ACCURACY = 0.95
"""Training accuracy from which training counts as finished, even if the loss still falls."""

FITTED_R2 = 0.9
"""The same for a regression, in R² on the training examples."""

LATE_FALL = 0.1
"""Share of the fall of the training loss in the second half of the steps from which training is not finished."""

LEAST_ABOVE_GUESSING = 0.01
"""Least gain in accuracy, or R², of the best arm over a constant prediction, for anything to be learnt; or two standard
errors over test examples, if that is less, as with a hundred classes."""


@dataclass(frozen=True, slots=True)
class ArmTraining:
    """The training progress of one method from one source at one number of labels.

    Attributes:
        fit: Accuracy, average precision or R² on its own training examples at the end, mean over seeds.
        late_fall: Share of the decrease of the training loss in the second half of the steps, median over seeds; above
            1 if the loss rose first, NaN if it did not decrease.
        unfinished: Whether training was cut off in more than half of the seeds: the fit is below FITTED_ACCURACY (or
            FITTED_R2) and `late_fall` above LATE_FALL; or its training accuracy is that of a constant prediction. A
            loss that levelled off is finished at any height, as with noisy labels, and so is a run ended by early
            stopping.
    """

    method: str
    source: str | None
    n_target: int
    steps: int
    fit: float
    late_fall: float
    unfinished: bool


@lru_cache(maxsize=1)  # asked for each number of labels
def arm_trainings(frames: StudyFrames) -> tuple[ArmTraining, ...]:
    """Return the training progress of every arm with training curves, by number of labels, then as in the study file.

    The middle loss is that of the measured step nearest to half of the steps. Arms without a measurement in the middle
    half of the steps are left out unless they learnt nothing, and so are arms solved in closed form.
    """
    if frames.is_of_others:  # of which no curves are known
        return ()
    by_arm = dict(list(run_trainings(frames).groupby(["n_target", "method", "source"], sort=False)))
    trainings = []
    for n_target in frames.sizes:
        for method in frames.methods:
            for source in ["", *frames.sources]:
                rows = by_arm.get((n_target, method, source))
                if rows is not None:
                    trainings.append(
                        ArmTraining(
                            method=method,
                            source=source or None,
                            n_target=n_target,
                            steps=int(rows["steps"].max()),
                            fit=float(rows["fit"].mean()),
                            late_fall=float(rows["late_fall"].median()),
                            unfinished=bool(rows["unfinished"].mean() > 0.5),
                        )
                    )
    return tuple(trainings)


def run_trainings(frames: StudyFrames) -> pd.DataFrame:
    """Return one row per run with a usable curve: source, method, n_target, steps, fit, late_fall, unfinished."""
    ends = run_ends(frames)
    runs = ends[(ends["middle"].notna() | ends["at_chance"]) & (ends["steps"] > 0)]
    fall = (runs["first"] - runs["last"]).where(lambda fell: fell > 0)
    late_fall = (runs["middle"] - runs["last"]) / fall
    cut_off = (runs["poor"] & (late_fall > LATE_FALL)) | runs["at_chance"]
    return runs.assign(late_fall=late_fall, unfinished=cut_off & ~runs["stopped"])


@lru_cache(maxsize=1)
def run_ends(frames: StudyFrames) -> pd.DataFrame:
    """Return one row per run with a curve and a fit: source, method, n_target, steps, loss (first, middle, last), fit
    and its assessment (poor, at_chance), and whether early stopping ended it (stopped).
    """
    classes = frames.metric.higher_is_better
    curve = frames.curves("loss" if classes else "mse", "target_train").sort_values(["key", "step"])
    by_run = curve.groupby("key", sort=False)
    ends = by_run.agg(
        source=("source", "first"),
        method=("method", "first"),
        n_target=("n_target", "first"),
        steps=("step", "last"),
        first=("value", "first"),
        last=("value", "last"),
    )
    from_half = (curve["step"] / by_run["step"].transform("last") - 0.5).abs()  # NaN where no step was taken
    measured = curve[from_half <= 0.25]
    nearest = from_half[measured.index].groupby(measured["key"], sort=False).idxmin()
    ends["middle"] = measured.loc[nearest].set_index("key")["value"]
    ends["fit"] = frames.final(frames.metric.along.judged.record, "target_train").set_index("key")["value"]
    ends = ends[ends["fit"].notna()]
    stopped = frames.cells["stopped_early"].set_axis(frames.keys).reindex(ends.index).fillna(False).astype(bool)
    return ends.assign(
        at_chance=ends["fit"] < share_of_one_answer(frames) + LEAST_ABOVE_GUESSING,
        poor=ends["fit"] < (FITTED_ACCURACY if classes else FITTED_R2),
        stopped=stopped,
    )


def share_of_one_answer(frames: StudyFrames) -> float:
    """Return the training accuracy of a constant prediction; -1 without single classes or counts."""
    target = frames.study.facts.get("target", {})
    counts = target.get("class_counts", {}).get("train") if isinstance(target, Mapping) else None
    if not frames.metric.is_of_classes or frames.classes is None or not counts:
        return -1.0
    return float(max(counts) / sum(counts))
