"""Whether the networks of a comparison were trained to the end, by their training curves, and learnt anything."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from transferscope.analyses.compare.comparison import Comparison, champion
from transferscope.analyses.compare.words import Progress, completeness, reach
from transferscope.numerics.class_measures import class_measure, is_class_measure
from transferscope.report.page import Verdict
from transferscope.study.finished import LEAST_ABOVE_GUESSING, ArmTraining, arm_trainings, run_ends, run_trainings
from transferscope.study.frames import StudyFrames
from transferscope.study.metric import Metric
from transferscope.wording import candidate_words, capitalised, counted, listed

_NAMED = 4  # arms in a sentence


def untold_in_words(frames: StudyFrames) -> tuple[str, ...]:
    """A sentence on training from scratch that fits its own labels poorly, by a curve that tells no more than that.

    Args:
        frames: The study.
    """
    of_baseline = _untold_baseline(frames)
    if of_baseline.empty:
        return ()
    sizes, steps = sorted(of_baseline["n_target"].unique().tolist()), int(of_baseline["steps"].max())
    fits = of_baseline.groupby("n_target")["fit"].mean()
    along = frames.metric.along
    low = along.in_words(float(fits.min())) if along.is_of_classes else f"{fits.min():.2f}"
    return (
        f"Whether training from scratch was finished after {counted(steps, 'step')} with {_sizes(sizes)} cannot be "
        f"told: its curve has no point in between (eval_every), and on its own training examples it reaches {low} at "
        "the lowest. What is gained over it may be owed to the number of steps.",
    )


def _untold_baseline(frames: StudyFrames) -> pd.DataFrame:
    """The rows of `_ends` of training from scratch that may be finished or not, where it is not known to be cut off."""
    ends = run_ends(frames)
    untold = ends["middle"].isna() & ends["poor"] & ~ends["at_chance"] & ~ends["stopped"] & (ends["steps"] > 0)
    cut_off = [arm.n_target for arm in arm_trainings(frames) if arm.method == frames.baseline and arm.unfinished]
    return ends[untold & (ends["method"] == frames.baseline) & ~ends["n_target"].isin(cut_off)]


def may_be_cut_off_in_words(frames: StudyFrames) -> tuple[str, ...]:
    """A sentence on networks that were, or may have been, cut off in training, with how many there are.

    What they reach may say how fast they learn rather than what their start is worth. Controls do not count. A curve
    without a point in between cannot tell cut off from levelled off: such runs count where they fit their own labels
    poorly.

    Args:
        frames: The study.
    """
    ends = run_ends(frames)
    ends = ends[(ends["steps"] > 0) & ~ends["method"].isin(frames.controls)]
    told = run_trainings(frames)["unfinished"].reindex(ends.index)
    untold = ends["middle"].isna() & ends["poor"] & ~ends["stopped"]
    runs = ends.assign(cut_off=told.where(told.notna(), untold).astype(bool))
    ways = runs.groupby(["n_target", "method", "source"], sort=False, as_index=False).agg(
        share=("cut_off", "mean"), fit=("fit", "mean"), steps=("steps", "max")
    )
    short = ways[ways["share"] > 0.5]
    if short.empty:
        return ()
    many, few = Counter(ways["n_target"].tolist()), Counter(short["n_target"].tolist())
    where = [f"{n:,} of {many[size]:,} ways with {_sizes([size])}" for size, n in sorted(few.items())]
    steps, metric, fits = int(short["steps"].max()), frames.metric.along, short["fit"]
    low, high = (metric.shown(fit) if metric.higher_is_better else f"R² {fit:.2f}" for fit in (fits.min(), fits.max()))
    what = "" if metric.is_of_classes or not metric.higher_is_better else f"{metric.name.lower()} "
    return (
        f"Training may not be finished after {counted(steps, 'step')} in {listed(where)} ({what}{low} to {high} on "
        "their own training examples): differences there may say how fast networks learn rather than what pre-training "
        "is worth. "
        f"Train longer: steps = {2 * steps}.",
    )


def verdict_on_trained(
    comparisons: Sequence[Comparison],
    frames: StudyFrames,
    progress: Progress,
    verdict_on: Callable[[Sequence[Comparison]], Verdict],
) -> Verdict:
    """The verdict on a study, held back where its baseline was not trained to the end.

    Args:
        comparisons: All of the study, at least one.
        frames: The study.
        progress: How much of it is done.
        verdict_on: The verdict on comparisons, for those whose baseline is trained.

    Returns:
        The verdict, with the outcome "unfinished baseline" at numbers of labels where training from scratch was cut
        off. There only plain differences are said; arms other than the baseline that were cut off are named.
    """
    unfinished = [arm for arm in arm_trainings(frames) if arm.unfinished]
    cut_off = {arm.n_target: arm for arm in unfinished if arm.method == frames.baseline}
    others = _others_in_words([arm for arm in unfinished if arm.method != frames.baseline])
    trained = [c for c in comparisons if c.n_target not in cut_off]
    verdict = verdict_on(trained) if trained else None
    if not cut_off:
        assert verdict is not None
        return replace(verdict, sentences=(*verdict.sentences, *others))
    plain = [_difference_in_words([c for c in comparisons if c.n_target == size], frames.metric) for size in cut_off]
    where = "" if len(frames.sizes) == 1 else f" with {_sizes(cut_off)}"
    headline = _baseline_in_words(list(cut_off.values()), frames.metric, where=where)
    outcomes = dict.fromkeys(cut_off, "unfinished baseline")
    if verdict is None:
        said = (*plain, *others, completeness(progress))
        return Verdict(outcomes, headline, tuple(sentence for sentence in said if sentence))
    finished = {c.n_target for c in trained}.difference(_untold_baseline(frames)["n_target"])
    rest = f"With {_sizes(finished)} training from scratch is finished. " if finished else ""
    rest += verdict.headline
    known = dict(sorted({**verdict.outcomes, **outcomes}.items()))
    return Verdict(known, headline, (*plain, rest, *verdict.sentences, *others))


def nothing_learnt_in_words(frames: StudyFrames) -> tuple[str, ...]:
    """A sentence for each number of labels at which the best way is no better than one answer to everything.

    That answer is the most frequent class of the test examples, or the mean for numbers. Ways that all give it agree
    exactly, which looks like certainty and is none.

    Args:
        frames: A study; one without classes of whole inputs or numbers has no such sentence.
    """
    labels, metric = frames.test_labels, frames.metric
    least = LEAST_ABOVE_GUESSING
    if metric.record == "mse":
        guess, scores = 0.0, frames.final("r2")
    elif metric.is_of_classes and labels is not None and labels.ndim == 1 and frames.classes is not None:
        counts, scores = np.bincount(labels), frames.final(metric.record)
        answer, guess = int(counts.argmax()), float(counts.max() / len(labels))
        if is_class_measure(metric.record):
            guess = class_measure(metric.record, np.full_like(labels, answer), labels).value
        spread = 1.0 if metric.record == "matthews" else guess * (1 - guess)  # of a correlation 1 / N
        least = min(least, 2 * math.sqrt(spread / len(labels)))
        always = f"“{frames.classes[answer]}”"
    else:
        return ()
    runs = scores[scores["role"] == "method"]
    means = runs.assign(source=runs["source"].fillna("")).groupby(["n_target", "source", "method"])["value"].mean()
    best = means.groupby(level="n_target").max()

    def beside(score: float) -> str:
        if metric.record == "mse":
            return f"the best R² is {score:.2g}, and always to answer the mean has 0"
        best, one = metric.shown(score), metric.shown(guess)
        if metric.record == "accuracy":
            return f"the best way is right in {best}, and always to answer {always} in {one}"
        return f"the best way reaches {metric.in_words(score)}, and always to answer {always} {one}"

    return tuple(
        f"With {counted(size, 'label')} nothing has been learnt: {beside(score)}."
        for size, score in zip(best.index.astype(int), best, strict=True)
        if score < guess + least
    )


def with_what_was_learnt(verdict: Verdict, frames: StudyFrames) -> Verdict:
    """The verdict, which begins with what was not learnt; where that is so throughout, it is the headline."""
    nothing = nothing_learnt_in_words(frames)
    if not nothing:
        return verdict
    if len(nothing) < len(frames.sizes):
        return replace(verdict, sentences=(*nothing, *verdict.sentences))
    return replace(verdict, headline=nothing[0], sentences=(*nothing[1:], verdict.headline, *verdict.sentences))


def cut_off_in_words(frames: StudyFrames) -> tuple[str, tuple[str, ...]]:
    """What was not trained to the end.

    Returns:
        That training from scratch was cut off and what to do, empty where it was not; and which other arms were.
    """
    unfinished = [arm for arm in arm_trainings(frames) if arm.unfinished]
    baseline = [arm for arm in unfinished if arm.method == frames.baseline]
    others = _others_in_words([arm for arm in unfinished if arm.method != frames.baseline])
    return _baseline_in_words(baseline, frames.metric, where="") if baseline else "", others


def baseline_unfinished(frames: StudyFrames) -> bool:
    """Whether training from scratch was cut off at any number of labels."""
    return any(arm.unfinished and arm.method == frames.baseline for arm in arm_trainings(frames))


def _sizes(sizes: Iterable[int]) -> str:
    numbers = sorted(sizes)
    return f"{listed([f'{size:,}' for size in numbers])} {'label' if numbers == [1] else 'labels'}"


def _baseline_in_words(arms: Sequence[ArmTraining], metric: Metric, *, where: str) -> str:
    """That training from scratch was cut off, and what to do."""
    steps = max(arm.steps for arm in arms)
    worst = min(arms, key=lambda arm: arm.fit)
    return (
        f"Training from scratch{where} is not finished after {counted(steps, 'step')} "
        f"({'at worst ' if len(arms) > 1 else ''}{_fit_in_words(worst, metric)}), so whether transfer helps cannot be "
        f"said; train longer: steps = {2 * steps}."
    )


def _fit_in_words(arm: ArmTraining, metric: Metric) -> str:
    if metric.record == "average_precision":
        return f"the average precision on its own training examples is {100 * arm.fit:.0f} %"
    if metric.higher_is_better:
        return f"{100 * arm.fit:.0f} % of its own training labels are right"
    return f"R² is {arm.fit:.2f} on its own training examples".replace("-", "−")


def _difference_in_words(group: Sequence[Comparison], metric: Metric) -> str:
    """The plain difference of the best transfer at one number of labels; empty when there is none."""
    if not any(c.transfers for c in group):
        return ""
    lead = champion(group, "undecided", metric)
    return f"{capitalised(reach(lead, group, metric))}, which more steps can change."


def _others_in_words(arms: Sequence[ArmTraining]) -> tuple[str, ...]:
    """The arms other than the baseline that were cut off, in one sentence; none where there are none."""
    if not arms:
        return ()
    sizes: dict[str, list[int]] = {}
    for arm in arms:
        sizes.setdefault(candidate_words(arm.method, arm.source), []).append(arm.n_target)
    named = [f"{who} with {_sizes(numbers)}" for who, numbers in sizes.items()]
    more = [f"{len(named) - _NAMED:,} others"] if len(named) > _NAMED + 1 else named[_NAMED:]
    names = listed([*named[:_NAMED], *more])
    steps = counted(max(arm.steps for arm in arms), "step")
    return (f"Not finished after {steps}, so that more would change their scores: {names}.",)
