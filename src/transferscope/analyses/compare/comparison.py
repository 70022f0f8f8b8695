"""Every method against training from scratch: what can be said about the difference, and what transfer does."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from transferscope.analyses.compare.frames import StudyFrames
from transferscope.analyses.compare.metric import Metric
from transferscope.estimate import Estimate, Interval
from transferscope.numerics.chance_of_best import chance_of_best
from transferscope.numerics.intervals import t_interval
from transferscope.numerics.multiplicity import holm
from transferscope.numerics.paired import PairedDifference, paired_difference, sd_of_test_set

Call = Literal["positive", "negative", "leans positive", "leans negative", "undecided", "baseline", "no baseline"]
"""The sign of a transferability, when the study can tell it.

"positive" and "negative": sure among all comparisons of the study. "leans ...": sure for this comparison taken alone,
but one like it among so many may be chance. "no baseline": nothing was trained from scratch.
"""

Outcome = Literal[
    "helps",
    "hurts",
    "does not help",
    "seems to help",
    "seems to hurt",
    "undecided",
    "one seed",
    "no baseline",
    "nothing to compare",
]
"""What the paired tests say at one number of labels.

helps: at least one method is better than training from scratch. hurts: every one is worse. does not help: some are
worse and no other is better, even taken alone. seems to help: none is better for sure among all comparisons of the
study, but at least one is when taken alone. seems to hurt: every one is worse when taken alone. undecided: none of
these. one seed: there is no spread to judge by. no baseline: nothing was trained from scratch. nothing to compare: only
the baseline has a result.
"""

ALPHA = 0.05
"""Level of the tests: chance of any false "positive" or "negative" in a study, and of one false call taken alone."""

_BEST_SEED = 0


@dataclass(frozen=True, slots=True)
class MeanCost:
    """What one run took, on average over seeds; NaN when unknown.

    Attributes:
        seconds: Wall-clock seconds of the run itself.
        pretraining_seconds: Of the pre-training it starts from, which other runs share; 0 without one, NaN for weights
            that were given.
        peak_memory: Bytes.
        trained_parameters: Scalars that the optimiser could change.
        examples_seen: Training examples passed forward and backward, with repetition.
    """

    seconds: float
    pretraining_seconds: float
    peak_memory: float
    trained_parameters: float
    examples_seen: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method from one source at one number of labels.

    Attributes:
        source: What it transfers from; None for none.
        method: The method's table in the study file.
        n_target: Number of target labels.
        seeds: Seeds with a result.
        score: Accuracy or squared error on the target test set over seeds.
        test_interval: Interval of the score over other test sets of the same size; None without predictions.
        difference: Transferability: risk from scratch minus risk of this method, over the seeds of both; None for the
            baseline, and when they share no seed. Its interval and p-value cover other seeds, and other test examples
            where predictions were kept (`test_sd` is not None).
        difference_test_interval: Interval of the transferability over test examples; None without predictions.
        p_holm: p-value of the difference, Holm-corrected over all comparisons of the study; NaN when there is none.
        call: The sign of the transferability at the level ALPHA.
        p_best: Probability of having the best mean of all methods with this many labels for other seeds and test
            examples, see `numerics.chance_of_best`; NaN without predictions, or with fewer than two common seeds.
        r2: Coefficient of determination over seeds; None for a classification.
        source_kept: Accuracy on the source test set after transfer; None when not measured.
        forgetting: Source accuracy before minus after transfer, over the runs that start from pre-training; None for
            other methods.
        cost: Mean cost of a run.
        is_control: Whether the method is a control beside the baseline; see `frames.CONTROLS`.
    """

    source: str | None
    method: str
    n_target: int
    seeds: tuple[int, ...]
    score: Estimate
    test_interval: Interval | None
    difference: PairedDifference | None
    difference_test_interval: Interval | None
    p_holm: float
    call: Call
    p_best: float
    r2: Estimate | None
    source_kept: Estimate | None
    forgetting: Estimate | None
    cost: MeanCost
    is_control: bool = False

    @property
    def interval(self) -> Interval | None:
        """The interval to show: over seeds, or over test examples when there is one seed.

        None for two seeds: the interval of their mean is 12.7 standard errors wide on either side, and to be cut to
        the range of the measure makes it look like something.
        """
        if self.score.n == 2:
            return None
        return self.score.interval or self.test_interval

    @property
    def difference_interval(self) -> Interval | None:
        """The interval of the transferability to show: over seeds, or over test examples when there is one pair."""
        if self.difference is None:
            return None
        return self.difference_test_interval if self.difference.n == 1 else self.difference.interval

    @property
    def transfers(self) -> bool:
        """Whether this is a way to transfer, rather than the baseline or another way to do without a source."""
        return self.call != "baseline" and self.source is not None and not self.is_control


def compare_methods(frames: StudyFrames, *, level: float = 0.95) -> tuple[Comparison, ...]:
    """All comparisons of a study that have at least one result.

    Args:
        frames: The study.
        level: Nominal coverage of all intervals.

    Returns:
        Sorted by number of labels, then baseline first, then source and method as in the study file.
    """
    final = frames.final(frames.metric.record)
    final = final[final["role"] == "method"]
    found = []
    for n_target in frames.sizes:
        runs = _runs(frames, final[final["n_target"] == n_target])
        found.extend(_compare_at(frames, runs, level=level))
    return _with_calls(found)


@dataclass(frozen=True)
class _Runs:
    """The finished runs of one method from one source at one size.

    `values` and `keys` are indexed by seed.
    """

    source: str
    method: str
    n_target: int
    values: pd.Series
    keys: pd.Series


def _runs(frames: StudyFrames, final: pd.DataFrame) -> list[_Runs]:
    found = []
    for source in ["", *frames.sources]:
        for method in frames.methods:
            rows = final[(final["source"] == source) & (final["method"] == method)].sort_values("seed")
            if len(rows):
                by_seed = rows.set_index("seed")
                found.append(_Runs(source, method, int(rows["n_target"].iloc[0]), by_seed["value"], by_seed["key"]))
    return found


def _compare_at(frames: StudyFrames, runs: Sequence[_Runs], *, level: float) -> list[Comparison]:
    baseline = next((run for run in runs if run.method == frames.baseline), None)
    p_best = _chances_of_best(frames, runs)
    return [_comparison(frames, run, baseline, p, level=level) for run, p in zip(runs, p_best, strict=True)]


def _comparison(frames: StudyFrames, run: _Runs, baseline: _Runs | None, p_best: float, *, level: float) -> Comparison:
    metric = frames.metric
    cells = frames.cells[frames.cells["key"].isin(run.keys)]
    if baseline is None:
        call: Call = "no baseline"
    else:
        call = "baseline" if run is baseline else "undecided"
    against = None if baseline is run else baseline
    return Comparison(
        source=run.source or None,
        method=run.method,
        n_target=run.n_target,
        seeds=tuple(int(seed) for seed in run.values.index),
        score=_bounded(metric, t_interval(run.values.to_numpy(dtype=np.float64), level=level)),
        test_interval=_test_interval(frames, run, level=level),
        difference=_difference(frames, run, against, level=level),
        difference_test_interval=_difference_test_interval(frames, run, against, level=level),
        p_holm=math.nan,
        call=call,
        p_best=p_best,
        r2=_summary(_values(frames, "r2", "target_test", cells["key"].tolist()), level),
        source_kept=_summary(_values(frames, metric.record, "source_test", cells["key"].tolist()), level),
        forgetting=_forgetting(frames, cells, level=level),
        cost=MeanCost(
            seconds=float(cells["seconds"].mean()),
            pretraining_seconds=_pretraining_seconds(frames, cells, run.source),
            peak_memory=float(cells["peak_memory"].mean()),
            trained_parameters=float(cells["trained_parameters"].mean()),
            examples_seen=float(cells["examples_seen"].mean()),
        ),
        is_control=run.method in frames.controls,
    )


def _difference(frames: StudyFrames, run: _Runs, baseline: _Runs | None, *, level: float) -> PairedDifference | None:
    if baseline is None:
        return None
    pairs = pd.concat({"run": run.values, "baseline": baseline.values}, axis=1).dropna()
    if pairs.empty:
        return None
    values, base = (frames.metric.improvement(pairs[name].to_numpy(dtype=np.float64)) for name in ("run", "baseline"))
    gains = _example_gains(frames, run, baseline)
    test_sd = None if gains is None else sd_of_test_set(gains)
    return paired_difference(values, base, level=level, test_sd=test_sd)


def _pretraining_seconds(frames: StudyFrames, cells: pd.DataFrame, source: str) -> float:
    started = cells["pretrained"][cells["pretrained"] != ""]
    if len(started):
        return float(frames.cells.set_index("key")["seconds"].reindex(started).mean())
    sources = frames.study.spec.get("sources")
    settings = sources.get(source) if isinstance(sources, Mapping) else None
    given = isinstance(settings, Mapping) and settings.get("network") is not None
    return math.nan if given else 0.0


def _with_calls(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    p_values = [c.difference.p_value if c.difference and not c.is_control else math.nan for c in comparisons]
    adjusted = holm(np.array(p_values, dtype=np.float64))
    return tuple(
        replace(c, p_holm=float(p), call=_call(c, float(p))) for c, p in zip(comparisons, adjusted, strict=True)
    )


def _call(comparison: Comparison, p_holm: float) -> Call:
    difference = comparison.difference
    if difference is None or difference.interval is None:
        return comparison.call
    if p_holm < ALPHA and difference.interval.excludes(0.0):
        return "positive" if difference.mean > 0 else "negative"
    if difference.p_value < ALPHA and difference.interval.excludes(0.0):
        return "leans positive" if difference.mean > 0 else "leans negative"
    return "undecided"


def _example_scores(frames: StudyFrames, run: _Runs) -> dict[int, np.ndarray]:
    """Score of each test example, by seed; only the seeds whose predictions were kept."""
    if frames.test_labels is None:
        return {}
    return {
        seed: frames.metric.example_scores(frames.predictions[key], frames.test_labels)
        for seed, key in zip(run.keys.index.tolist(), run.keys, strict=True)
        if key in frames.predictions
    }


def _test_interval(frames: StudyFrames, run: _Runs, *, level: float) -> Interval | None:
    scores = _example_scores(frames, run)
    if not scores:
        return None
    return frames.metric.interval_over_examples(np.mean(list(scores.values()), axis=0), level=level)


def _example_gains(frames: StudyFrames, run: _Runs, baseline: _Runs) -> np.ndarray | None:
    """Score of the method minus that from scratch by seed and test example; None without predictions of both."""
    scores, base = _example_scores(frames, run), _example_scores(frames, baseline)
    common = sorted(scores.keys() & base.keys())
    gains = np.stack([scores[seed] - base[seed] for seed in common]) if common else np.empty((0, 0))
    return gains if gains.shape[1] > 1 else None


def _difference_test_interval(
    frames: StudyFrames, run: _Runs, baseline: _Runs | None, *, level: float
) -> Interval | None:
    gains = None if baseline is None else _example_gains(frames, run, baseline)
    return None if gains is None else t_interval(gains.mean(axis=0), level=level).interval


def _chances_of_best(frames: StudyFrames, runs: Sequence[_Runs]) -> list[float]:
    """Over the seeds that all methods at this size have; NaN for all when there are fewer than two."""
    scores = [_example_scores(frames, run) for run in runs]
    common = sorted(set.intersection(*(set(s) for s in scores))) if scores else []
    if len(common) < 2 or len(runs) < 2 or len(next(iter(scores[0].values()))) < 2:
        return [math.nan] * len(runs)
    stacked = np.stack([[by_seed[seed] for seed in common] for by_seed in scores])  # (methods, seeds, examples)
    found: list[float] = chance_of_best(stacked, seed=_BEST_SEED).tolist()
    return found


def _values(frames: StudyFrames, name: str, part: str, keys: Sequence[str]) -> np.ndarray:
    """Final values of one record of the cells `keys`, NaN where it was not measured."""
    found = frames.final(name, part).set_index("key")["value"].to_dict()
    return np.array([found.get(key, math.nan) for key in keys], dtype=np.float64)


def _forgetting(frames: StudyFrames, cells: pd.DataFrame, *, level: float) -> Estimate | None:
    started, metric = cells[cells["pretrained"] != ""], frames.metric
    before, after = (
        _values(frames, metric.record, "source_test", started[key].tolist()) for key in ("pretrained", "key")
    )
    return _summary(metric.improvement(before) - metric.improvement(after), level)


def _summary(values: np.ndarray, level: float) -> Estimate | None:
    measured = values[~np.isnan(values)]
    return t_interval(measured, level=level) if len(measured) else None


def _bounded(metric: Metric, summary: Estimate) -> Estimate:
    return summary if summary.interval is None else replace(summary, interval=metric.bounded(summary.interval))


def outcome_of(group: Sequence[Comparison]) -> Outcome:
    """The outcome at one number of labels.

    Args:
        group: The comparisons with this number of labels, at least one.

    Returns:
        The outcome.
    """
    candidates = [c for c in group if c.transfers]
    if not candidates:
        return "nothing to compare"
    if all(c.call == "no baseline" for c in candidates):
        return "no baseline"
    if all(c.difference is None or c.difference.n == 1 for c in candidates):
        return "one seed"
    calls = {c.call for c in candidates}
    if "positive" in calls:
        return "helps"
    if calls == {"negative"}:
        return "hurts"
    if calls <= {"negative", "leans negative"}:
        return "seems to hurt"
    if "leans positive" in calls:
        return "seems to help"
    return "does not help" if "negative" in calls else "undecided"


def champion(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> Comparison:
    """The method to speak of: the best of those (most surely) shown to help, otherwise of those that transfer.

    Args:
        group: The comparisons with one number of labels.
        outcome: Their outcome.
        metric: What they are judged by.

    Returns:
        One of them; the baseline when it is alone.
    """
    candidates = [c for c in group if c.transfers] or list(group)
    if outcome in ("helps", "seems to help"):
        wanted = "positive" if outcome == "helps" else "leans positive"
        candidates = [c for c in candidates if c.call == wanted]
    if outcome == "no baseline":
        return max(candidates, key=lambda c: c.score.value if metric.higher_is_better else -c.score.value)
    return max(candidates, key=gain)


def gain(c: Comparison) -> float:
    """Mean transferability, for sorting; minus infinity when it was not measured."""
    return c.difference.mean if c.difference else -math.inf
