"""Whether the networks of a comparison have learnt anything."""

import math

import numpy as np

from transferscope.numerics.class_measures import class_measure, is_class_measure
from transferscope.study.finished import LEAST_ABOVE_GUESSING
from transferscope.study.frames import StudyFrames
from transferscope.study.measure import SQUARED_ERROR


def nothing_learnt(frames: StudyFrames) -> frozenset[int]:
    """The numbers of labels at which the best arm is no better than one answer to everything.

    That answer is the most frequent class of the test examples, or the mean for numbers. Arms that all give it agree
    exactly, which looks like certainty and is none. Of a study without classes of whole inputs or numbers nothing is
    known.
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
