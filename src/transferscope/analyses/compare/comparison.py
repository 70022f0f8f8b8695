"""Every arm of a study at every number of labels: score, cost and decision."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from transferscope.decision import ArmFacts, Decision
from transferscope.estimate import Estimate, Interval
from transferscope.numerics.intervals import t_interval
from transferscope.study.decisions import Arm, arms_of
from transferscope.study.frames import COSTS, StudyFrames
from transferscope.study.measure import Measure
from transferscope.wording import number_words


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


MEASURES: Mapping[str, tuple[str, str, Callable[[float], str]]] = {
    "mse": ("Squared error", "Mean squared error; labels may be counted in units of their own", number_words),
    "mae": ("Absolute error", "Mean absolute error, in the units of the target", number_words),
    "micro_f1": ("Micro F1", "F1 of all labels together, at a probability of one half", _percent),
    "exact_match": ("Exact match", "Test examples whose labels are all right, at a probability of one half", _percent),
    "mean_iou": ("Mean IoU", "Intersection over union of each class, mean over the classes that occur", _percent),
    "angular_error": ("Angle", "Mean angle between outputs and labels", "{:.1f}°".format),
}
"""Further metrics of a study, if its labels allow them: heading, meaning and format."""

_ARM = ["n_target", "method", "source"]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class MeanCost:
    """The mean cost of a run over seeds; NaN if unknown.

    Attributes:
        seconds: Wall-clock seconds of the run itself.
        pretraining_seconds: Seconds of its pretraining, which other runs share; 0 without pretraining, NaN for given
            weights.
        peak_memory: Peak memory in bytes.
        trained_parameters: Number of trainable parameters.
        examples_seen: Number of training examples processed, with repetition.
    """

    seconds: float
    pretraining_seconds: float
    peak_memory: float
    trained_parameters: float
    examples_seen: float

    @property
    def total(self) -> float:
        """The seconds of a run including its pretraining, if measured."""
        return self.seconds + (0.0 if math.isnan(self.pretraining_seconds) else self.pretraining_seconds)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm at one number of labels.

    Attributes:
        source: Name of the source; None for a baseline.
        method: The method's table in the study file.
        n_target: Number of target labels.
        score: The study's metric (`Measure.judged`) on the target test set over seeds. Mean and centre of the interval
            are adjusted for seeds that the arm lacks, as in the decision (`ArmFacts.adjusted`).
        test_interval: Interval of the score over other test sets of the same size; None without predictions.
        over_scratch: Transferability as in the papers: risk from scratch minus risk of this arm, paired by seed and
            labels, with its 95 % t-interval (not a test). None for training from scratch, without it, or if it is
            unfinished.
        facts: Facts of the arm in the decision, in points.
        measures: Further metrics of the target test set over seeds, by name in MEASURES; None if not measured.
        source_kept: Accuracy on the source test set after transfer; None when not measured.
        forgetting: Source accuracy before minus after transfer; None for methods that do not start from pretraining.
    """

    source: str | None
    method: str
    n_target: int
    seeds: tuple[int, ...]
    score: Estimate
    test_interval: Interval | None
    over_scratch: Estimate | None
    facts: ArmFacts
    is_baseline: bool
    measures: Mapping[str, Estimate | None]
    source_kept: Estimate | None
    forgetting: Estimate | None
    cost: MeanCost

    @property
    def arm(self) -> tuple[str, str]:
        """The arm as in `StudyFrames.arms`: its source ("" for a baseline) and method."""
        return self.source or "", self.method

    @property
    def interval(self) -> Interval | None:
        """The displayed interval: over seeds, or over test examples with one seed or equal scores.

        None for two different seeds, whose interval is 12.7 standard errors wide on either side. Equal scores have no
        interval over seeds, since a width of 0 would claim an exact score.
        """
        if self.interval_over == "seeds":
            return self.score.interval
        return self.test_interval if self.interval_over else None

    @property
    def interval_over(self) -> str:
        """The population of the displayed interval: "seeds", "test examples", or "" without one."""
        if self.score.n > 1 and not self.all_alike:
            return "seeds" if self.score.n > 2 else ""
        return "test examples" if self.test_interval else ""

    @property
    def all_alike(self) -> bool:
        """Whether there are several seeds, all with the same score up to rounding."""
        return self.score.n > 1 and self.score.sd <= _ROUNDING * abs(self.score.value)


def gain_over_baseline(arm: ArmFacts, decision: Decision) -> tuple[float, float | None, float | None]:
    """Return the gain of an arm over the best baseline in points, and the ends of its CI."""
    if arm.gain is not None:
        return arm.gain.value, arm.gain.low, arm.gain.high
    assert arm.mean is not None
    return arm.mean - (decision.baseline_level or 0.0), None, None


def compare_arms(frames: StudyFrames, decided: dict[int, Decision]) -> tuple[Comparison, ...]:
    """Return all arms of a study with at least one result.

    Returns:
        Sorted by number of labels, then baselines first, then source and method as in the study file.
    """
    final = frames.final(frames.metric.record)
    final = final.loc[final["role"] == "method", ["key", "value", "seed", *_ARM]].sort_values("seed").set_index("seed")
    grouped = final.groupby(_ARM, sort=False)
    runs = {(int(str(n)), Arm(str(method), str(source))): rows for (n, method, source), rows in grouped}
    comparisons = []
    for n_target, decision in decided.items():
        baseline = Arm(str(frames.baseline), "")
        rises = any(facts.name == str(baseline) and facts.unfinished for facts in decision.arms)
        scratch = None if rises else runs.get((n_target, baseline))
        for arm, facts in zip(arms_of(frames, n_target), decision.arms, strict=True):
            rows = runs.get((n_target, arm))
            if rows is not None:
                comparisons.append(_comparison(frames, arm, n_target, rows, scratch, facts))
    return tuple(comparisons)


def _comparison(
    frames: StudyFrames, arm: Arm, n_target: int, rows: pd.DataFrame, scratch: pd.DataFrame | None, facts: ArmFacts
) -> Comparison:
    metric, along = frames.metric, frames.metric.along
    places = np.sort(frames.keys.get_indexer(pd.Index(rows["key"])))
    starts = frames.pretrained_at[places]
    started = starts >= 0
    is_baseline = arm.method == frames.baseline
    kept = [frames.predictions[key] for key in rows["key"] if key in frames.predictions]
    on_source = frames.final_values(along.record, "source_test")
    lost = along.improvement(on_source[starts[started]]) - along.improvement(on_source[places[started]])
    if started.any():
        pretraining_seconds = float(frames.cells["seconds"].iloc[starts[started]].mean())
    else:
        source = frames.study.spec.get("sources", {}).get(arm.source, {})
        given = any(source.get(name) is not None for name in ("network", "weights"))
        pretraining_seconds = math.nan if given else 0.0
    values = rows["value"].to_numpy(dtype=np.float64)
    judged, moved = frames.final_values(metric.judged.record)[places], 0.0
    if facts.adjusted and facts.mean is not None:
        moved = metric.from_points(facts.mean) - float(judged.mean())
    measures, spread = {name: _summary(frames.final_values(name)[places]) for name in MEASURES}, 1.0
    if metric.judged is not metric:
        spread = float(values.mean() / (1 - judged.mean()))  # of the labels of the test examples
        measures[metric.record] = _summary(values - moved * spread)
    over_examples = None
    if kept and frames.test_labels is not None and frames.test_groups is None:
        over_examples = metric.interval_over_examples(kept, frames.test_labels)
    if over_examples is not None:
        low, high = over_examples.low, over_examples.high
        if metric.judged is not metric:
            low, high = 1 - high / spread, 1 - low / spread
        over_examples = replace(over_examples, low=low + moved, high=high + moved).clipped(*metric.judged.bounds)
    return Comparison(
        source=arm.source or None,
        method=arm.method,
        n_target=n_target,
        seeds=tuple(int(seed) for seed in rows.index),
        score=t_interval(judged + moved).clipped(*metric.judged.bounds),
        test_interval=over_examples,
        over_scratch=None if scratch is None or is_baseline else _over(metric, rows["value"], scratch["value"]),
        facts=facts,
        is_baseline=is_baseline,
        measures=measures,
        source_kept=_summary(on_source[places]),
        forgetting=_summary(lost, along.difference_bounds),
        cost=MeanCost(
            pretraining_seconds=pretraining_seconds,
            **{name: float(frames.cells[name].iloc[places].mean()) for name in COSTS},
        ),
    )


def _over(metric: Measure, own: "pd.Series[float]", scratch: "pd.Series[float]") -> Estimate | None:
    shared = own.index.intersection(scratch.index)
    better = metric.improvement(own.loc[shared].to_numpy(dtype=np.float64))
    gained = better - metric.improvement(scratch.loc[shared].to_numpy(dtype=np.float64))
    return _summary(gained, metric.difference_bounds)


def _summary(values: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate | None:
    measured = values[~np.isnan(values)]
    return t_interval(measured).clipped(*bounds) if len(measured) else None
