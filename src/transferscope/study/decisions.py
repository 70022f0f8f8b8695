"""The scores of a study's arms, and the one decision on each number of labels that every reader shares."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.decision import Decision, Difference, Scores, decide, example_variance
from transferscope.study.finished import arm_trainings
from transferscope.study.frames import StudyFrames

MOST_SEEDS = 12
"""Largest number of seeds of an arm in a race."""


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """A method with its source; `source` is "" for a baseline."""

    method: str
    source: str

    def __str__(self) -> str:
        return f"{self.method} from {self.source}" if self.source else self.method


def arms_of(frames: StudyFrames, n_target: int) -> list[Arm]:
    """Return the arms that a study plans at one number of labels: baselines first, then as in its file."""
    in_order = [Arm(method, source) for source in ["", *frames.sources] for method in frames.methods]
    return [arm for arm in in_order if (n_target, arm.method, arm.source) in frames.planned_arms]


def arms_by_key(frames: StudyFrames) -> dict[str, str]:
    """Return the arm name of each method cell, as in the decisions."""
    cells = frames.method_cells
    rows = zip(cells["key"], cells["method"], cells["source"], strict=True)
    return {str(key): str(Arm(str(method), str(source))) for key, method, source in rows}


class Asked(TypedDict):
    """The arguments of `decide` and `next_runs`."""

    margin: float
    planned: int | None
    worth: float | None


def asked_of(frames: StudyFrames) -> Asked:
    """Return the decision settings of a study, for every report and its race."""
    table, planned = frames.study.spec.get("decision"), frames.study.facts.get("planned_seeds")
    given = table if isinstance(table, Mapping) else {}
    margin, worth = given.get("margin"), given.get("worth")
    return {
        "margin": float(margin) if isinstance(margin, int | float) else frames.metric.margin,
        "planned": planned if isinstance(planned, int) else None,
        "worth": float(worth) if isinstance(worth, int | float) else None,
    }


def scores_of(
    frames: StudyFrames, n_target: int, *, arms: Sequence[Arm] | None = None, seeds: Sequence[int] | None = None
) -> Scores:
    """Return the scores of the runs of every arm at one number of labels, in points.

    A point is a hundredth of an accuracy, another metric of classes, an average precision, or R² for numbers; for a
    metric named by the study see `Measure`.

    Args:
        arms: All arms, if the store may lack some; None for those in the store.
        seeds: All seeds, if the store may lack some; None for those in the store.
    """
    metric = frames.metric
    arms = arms_of(frames, n_target) if arms is None else arms
    seeds = frames.seeds if seeds is None else seeds
    row = {(arm.method, arm.source): i for i, arm in enumerate(arms)}
    cells = frames.method_cells
    own = cells[cells["n_target"] == n_target]
    (methods, known), (sources_of, from_) = (pd.factorize(own[name]) for name in ("method", "source"))
    there = np.full((len(known) + 1, len(from_) + 1), -1)
    for (i, method), (j, source) in product(enumerate(known), enumerate(from_)):
        there[i, j] = row.get((method, source), -1)
    places = there[methods, sources_of]
    columns = pd.Index(seeds).get_indexer(pd.Index(own["seed"]))
    values = np.full((len(arms), len(seeds)), np.nan)
    failed = np.zeros(values.shape, dtype=bool)
    measured = metric.in_points(
        frames.final_values(metric.judged.record)[frames.keys.get_indexer(pd.Index(own["key"]))]
    )
    values[places, columns] = np.where(own["state"] == "done", measured, np.nan)
    failed[places, columns] = own["state"].isin(["failed", "blocked"])
    rising = {
        Arm(one.method, one.source or "")
        for one in arm_trainings(frames)
        if one.unfinished and one.n_target == n_target
    }
    sources = {source: i for i, source in enumerate(frames.sources)}
    drawn, units = _example_variance(frames, own, places, columns, values)
    return Scores(
        arms=tuple(map(str, arms)),
        values=values,
        with_source=np.array([bool(arm.source) or arm.method in frames.source_unnamed for arm in arms]),
        clusters=np.array([sources.get(arm.source, len(sources) + i) for i, arm in enumerate(arms)]),
        cost=_seconds(frames, own, places, len(arms)),
        example_variance=drawn,
        unfinished=np.array([arm in rising for arm in arms]),
        failed=failed,
        resolution=metric.resolution(values, frames.test_labels),
        bounds=metric.points_bounds,
        scale=metric.noise_scale(values),
        test_units=units,
    )


def decisions(frames: StudyFrames) -> dict[int, Decision]:
    """Return the decision for each number of labels of a study, ascending; see `decision.decide`."""
    own = sources_that_are_target(frames.study.facts)
    made = {n: decide(scores_of(frames, n), **asked_of(frames)) for n in frames.sizes}
    return {n: _without_verdict(one) for n, one in made.items()} if own else made


def sources_that_are_target(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sources of a study that are its target's own data, by the checksums in its facts."""
    target, sources = facts.get("target"), facts.get("sources")
    own = target.get("fingerprint") if isinstance(target, Mapping) else None
    about = sources.items() if isinstance(sources, Mapping) else ()
    return tuple(str(name) for name, one in about if own and isinstance(one, Mapping) and one.get("fingerprint") == own)


def _without_verdict(decision: Decision) -> Decision:
    """Return a decision with the measured values and no statement on transfer."""
    bare = None if decision.difference is None else Difference(decision.difference.value, None, None, None)
    arms = tuple(
        arm
        if not arm.with_source
        else replace(
            arm,
            gain=None if arm.gain is None else Difference(arm.gain.value, None, None, None),
            call="not tested",
            why="source is target",
        )
        for arm in decision.arms
    )
    return replace(
        decision,
        outcome="source is target" if decision.recommended is not None else decision.outcome,
        difference=bare,
        expected=None,
        helping=(),
        harmful=(),
        arms=arms,
        more_seeds=None,
        why="",
    )


def between_sources(frames: StudyFrames, n_target: int) -> Decision | None:
    """Decide whether the leading source is better than the others, by their arms.

    "helps" means that one of its arms is better than every arm of the others. The error is divided by the number of
    sources, any of which could have led. None if fewer than two have a run.
    """
    arms, margin = arms_of(frames, n_target), asked_of(frames)["margin"]
    if len({arm.source for arm in arms} - {""}) < 2:
        return None
    scores = scores_of(frames, n_target)
    known = [(arm.mean, one) for arm, one in zip(decide(scores, margin=margin).arms, arms, strict=True) if one.source]
    leads = max(((mean, one) for mean, one in known if mean is not None), default=None)
    n_sources = len({one.source for mean, one in known if mean is not None})
    if leads is None or n_sources < 2:
        return None
    at = np.array([i for i, arm in enumerate(arms) if arm.source])
    extra = scores.example_variance
    return decide(
        replace(
            scores,
            arms=tuple(scores.arms[i] for i in at),
            values=scores.values[at],
            with_source=np.array([arms[i].source == leads[1].source for i in at]),
            clusters=scores.clusters[at],
            cost=scores.cost[at],
            example_variance=None if extra is None else extra[np.ix_(at, at)],
            unfinished=scores.unfinished[at],
            failed=scores.failed[at],
        ),
        margin=margin,
        level=1 - 0.05 / n_sources,
    )


def best_baseline(frames: StudyFrames) -> Arm | None:
    """Return the best baseline at the largest number of labels with a run of one; None without runs."""
    for n_target in reversed(frames.sizes):
        name = decide(scores_of(frames, n_target), **asked_of(frames)).best_baseline
        if name is not None:
            return next(arm for arm in arms_of(frames, n_target) if str(arm) == name)
    return None


def _seconds(frames: StudyFrames, own: pd.DataFrame, places: np.ndarray, n_arms: int) -> Float[np.ndarray, " arms"]:
    """Return the mean time of a run of each arm including its pretraining; NaN if unknown."""
    at = frames.pretrained_at[frames.keys.get_indexer(pd.Index(own["key"]))]
    before = np.where(at >= 0, frames.cells["seconds"].to_numpy(dtype=np.float64)[at], 0.0)
    spent = pd.Series(own["seconds"].to_numpy(dtype=np.float64) + np.nan_to_num(before))
    return spent.groupby(places).mean().reindex(range(n_arms)).to_numpy(dtype=np.float64)


def _example_variance(
    frames: StudyFrames, own: pd.DataFrame, places: np.ndarray, columns: np.ndarray, values: np.ndarray
) -> tuple[Float[np.ndarray, "arms arms"] | None, float]:
    """Return the variance due to the draw of test examples, from stored predictions, and the number of units drawn.

    Stored predictions are ignored for runs whose score is not their mean, since the study's metric has changed.
    """
    metric = frames.metric
    by_run = {
        (place, column): metric.example_points(frames.predictions[key], frames.test_labels)
        for key, place, column in zip(own["key"], places, columns, strict=True)
        if key in frames.predictions
    }
    known = {
        run: points
        for run, points in by_run.items()
        if points is not None
        and (metric.computed or math.isclose(points.mean(), values[run], rel_tol=1e-6, abs_tol=1e-4))
    }
    lengths = {len(points) for points in known.values()}
    if len(lengths) != 1:  # nothing is known, or not of the same examples
        return None, np.inf
    by_example = np.full((*values.shape, lengths.pop()), np.nan, dtype=np.float32)
    for (place, column), points in known.items():
        by_example[place, column] = points
    n, groups = by_example.shape[2], frames.test_groups
    if groups is None or len(groups) != n:
        return example_variance(by_example), n
    return example_variance(by_example, groups), len(np.unique(groups))
