"""Signs of insufficient training: unfinished training from scratch, and arms that learnt nothing."""

import math

import numpy as np

from transferscope.numerics.class_measures import class_measure, is_class_measure
from transferscope.study.finished import LEAST_ABOVE_GUESSING, run_ends
from transferscope.study.frames import StudyFrames
from transferscope.study.measure import SQUARED_ERROR


def untold_steps(frames: StudyFrames) -> dict[int, int]:
    """Return steps of training from scratch, by labels, if it fits its own examples poorly and may be unfinished."""
    ends = run_ends(frames)
    untold = ends["middle"].isna() & ends["poor"] & ~ends["at_chance"] & ~ends["stopped"] & (ends["steps"] > 0)
    own = ends[untold & (ends["method"] == frames.baseline)]
    return {int(str(size)): int(steps) for size, steps in own.groupby("n_target")["steps"].max().items()}


def nothing_learnt(frames: StudyFrames) -> frozenset[int]:
    """Return the numbers of labels at which the best arm is no better than a constant prediction.

    The constant is the most frequent class of the test examples, or the mean for numbers. Arms that all predict it
    agree exactly, which looks like certainty. Empty for labels on a grid and several labels per input.
    """
    labels, metric, least = frames.test_labels, frames.metric, LEAST_ABOVE_GUESSING
    if metric == SQUARED_ERROR:
        guess, scores = 0.0, frames.final("r2")
    elif metric.is_of_classes and labels is not None and labels.ndim == 1 and frames.classes is not None:
        counts, scores = np.bincount(labels), frames.final(metric.record)
        answer, guess = int(counts.argmax()), float(counts.max() / len(labels))
        if is_class_measure(metric.record):
            guess = class_measure(metric.record, np.full_like(labels, answer), labels).value
        spread = 1.0 if metric.record == "matthews" else guess * (1 - guess)  # of a correlation 1 / N
        least = min(least, 2 * math.sqrt(spread / len(labels)))
    else:
        return frozenset()
    runs = scores[scores["role"] == "method"]
    means = runs.assign(source=runs["source"].fillna("")).groupby(["n_target", "source", "method"])["value"].mean()
    best = means.groupby(level="n_target").max()
    return frozenset(int(size) for size in best.index[best < guess + least])
