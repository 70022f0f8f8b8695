"""Every method against training from scratch: what can be said about the difference, and what transfer does."""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from transferscope.estimate import Estimate, Interval
from transferscope.numerics.best_arm import best_arm
from transferscope.numerics.intervals import t_interval
from transferscope.numerics.many_to_one import Covers, ManyToOne, many_to_one
from transferscope.study.frames import COSTS, StudyFrames
from transferscope.study.metric import Metric

Call = Literal[
    "positive",
    "negative",
    "equivalent",
    "leans positive",
    "leans negative",
    "undecided",
    "baseline",
    "control",
    "no baseline",
]
"""The sign of a transferability, when the study can tell it.

"positive" and "negative": the p-value adjusted over all comparisons of the study is below ALPHA, and at most FEW_ALPHA
with FEW_SEEDS seeds or fewer. "equivalent": neither, and the difference is shown to be within the margin. "leans ...":
the adjusted p-value is below LEANING, which is only that. "control": held against the others, and not tested. "no
baseline": nothing was trained from scratch.
"""

Outcome = Literal[
    "helps",
    "no more than a control",
    "no more than an objective",
    "hurts",
    "does not help",
    "seems to help",
    "seems to hurt",
    "undecided",
    "one seed",
    "no baseline",
    "nothing to compare",
]
"""What transfer does at one number of labels, or from one source.

helps: at least one method is better than training from scratch. no more than a control: so it is, and a control has as
good a mean as the best of them (`verdict.unbeaten_control`; `outcome_of` sees no controls). no more than an objective:
so it is for MeRLin alone, which is not surely better than its objective without a source. hurts: every one is worse.
does not help: every one is worse or equivalent. seems to help: none is better, but at least one leans that way. seems
to hurt: every one is worse or leans that way. undecided: none of these. one seed: there is no spread to judge by. no
baseline: nothing was trained from scratch. nothing to compare: only the baseline has a result.
"""

ALPHA = 0.05
"""Chance of any false "positive" or "negative" in a study."""

FEW_SEEDS, FEW_ALPHA = 3, 0.01
"""With so few seeds a call takes a smaller p-value: see `docs/results/inference.md`, real cells."""

LEANING = 4 * ALPHA
"""Adjusted p-value below which a comparison leans."""

_ROUNDING = 1e-12
_MARGIN = 0.01
_DRAWS_SEED = 0


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
class Difference:
    """Transferability: risk from scratch minus risk of a method, in pairs on the same seeds and labels.

    Attributes:
        mean: Over the seeds of both.
        n: Number of those seeds.
        interval: 95 % interval of this difference alone, not corrected for the others; None when nothing varies.
        covers: What interval and p-values speak of.
        p_alone: Two-sided p-value of "no difference" for this comparison alone; NaN when it cannot be tested.
        p: The same, adjusted over all comparisons of the study.
        within_margin: Whether the difference is shown to be smaller than the margin.
        wants: What would decide an open comparison sooner: "more seeds", "a larger test set", or "".
        seeds_to_decide: Seeds that would decide an open comparison with probability .8; 0 when it is decided, or when
            200 would not do.
    """

    mean: float
    n: int
    interval: Interval | None
    covers: Covers
    p_alone: float
    p: float
    within_margin: bool = False
    wants: str = ""
    seeds_to_decide: int = 0

    @property
    def tested(self) -> bool:
        """Whether there is a spread over seeds to test it against."""
        return not math.isnan(self.p)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method from one source at one number of labels.

    Attributes:
        source: What it transfers from; None for none.
        method: The method's table in the study file.
        n_target: Number of target labels.
        seeds: Seeds with a result.
        score: The study's metric on the target test set over seeds.
        test_interval: Interval of the score over other test sets of the same size; None without predictions.
        difference: To training from scratch; None for the baseline, and when they share no seed.
        call: The sign of the transferability.
        p_best: Probability of having the best mean of all methods with this many labels for other seeds (and other test
            examples, where predictions were kept), see `chances_of_best`; NaN with fewer than two seeds.
        r2: Coefficient of determination over seeds; None for a classification.
        micro_f1: F1 of all labels together over seeds; None unless inputs have several labels each.
        exact_match: Share of the test examples whose labels are all right; None likewise.
        mean_iou: Intersection over union, mean over classes, over seeds; None unless labels are masks of classes.
        angular_error: Mean angle to the labels in degrees, over seeds; None unless these are directions on a grid.
        control: Where nothing was trained from scratch: the control without a source whose mean is best; "" elsewhere.
        over_control: Gain over that control, as `difference` is over scratch; None elsewhere, and of controls.
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
    difference: Difference | None
    call: Call
    p_best: float
    r2: Estimate | None
    source_kept: Estimate | None
    forgetting: Estimate | None
    cost: MeanCost
    is_control: bool = False
    micro_f1: Estimate | None = None
    exact_match: Estimate | None = None
    mean_iou: Estimate | None = None
    angular_error: Estimate | None = None
    control: str = ""
    over_control: Difference | None = None

    @property
    def interval(self) -> Interval | None:
        """The interval to show: over seeds, or over test examples when there is one seed or all came out the same.

        None for two seeds that differ: the interval of their mean is 12.7 standard errors wide on either side, and to
        be cut to the range of the measure makes it look like something. Seeds that came out the same, as those of a
        method without chance on all labels there are, give no interval over seeds: its width of 0 would claim a score
        that is known exactly.
        """
        if self.interval_over == "seeds":
            return self.score.interval
        return self.test_interval if self.interval_over else None

    @property
    def interval_over(self) -> str:
        """What the interval to show is over: "seeds", "test examples", or "" where there is none."""
        if self.score.n > 1 and not self.all_alike:
            return "seeds" if self.score.n > 2 else ""
        return "test examples" if self.test_interval else ""

    @property
    def all_alike(self) -> bool:
        """Whether there are several seeds and all have the same score, but for rounding."""
        return self.score.n > 1 and self.score.sd <= _ROUNDING * abs(self.score.value)

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
    by_size = _runs_by_size(frames)
    scratch = {n: run for n, runs in by_size.items() for run in runs if run.method == frames.baseline}
    differences = _differences(frames, by_size, scratch, level=level, of_controls=False)
    controls = _differences(frames, by_size, scratch, level=level, of_controls=True)
    differences |= {at: replace(d, p=math.nan, wants="", seeds_to_decide=0) for at, d in controls.items()}
    instead = {n: run for n, runs in by_size.items() if n not in scratch and (run := _best_control(frames, runs))}
    over_controls = _differences(frames, by_size, instead, level=level, of_controls=False)
    found = []
    for n_target, runs in by_size.items():
        own = [differences.get((run.source, run.method, n_target)) for run in runs]
        has_baseline = any(run.method == frames.baseline for run in runs)
        for run, difference, p_best in zip(runs, own, chances_of_best(frames, runs, own), strict=True):
            call = _call(difference) if has_baseline else "no baseline"
            call = "control" if has_baseline and run.method in frames.controls else call
            call = "baseline" if run.method == frames.baseline else call
            made = _comparison(frames, run, difference, call, p_best, level=level)
            if gain := over_controls.get((run.source, run.method, n_target)):
                made = replace(made, control=instead[n_target].method, over_control=gain)
            found.append(made)
    return tuple(found)


def gains_over(frames: StudyFrames, method: str, *, level: float = 0.95) -> dict[tuple[str, str, int], Difference]:
    """What the others gain over a method that reads no source, as `compare_methods` has it over training from scratch.

    Args:
        frames: The study.
        method: The method's table in the study file.
        level: Nominal coverage of the intervals.

    Returns:
        By source ("" for none), method and number of labels; none where the method has no run.
    """
    by_size = _runs_by_size(frames)
    over = {n: run for n, runs in by_size.items() for run in runs if run.method == method and not run.source}
    found = _differences(frames, by_size, over, level=level, of_controls=False)
    return {at: difference for at, difference in found.items() if at[1] != method}


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


def _runs_by_size(frames: StudyFrames) -> dict[int, list[_Runs]]:
    """The finished runs by number of labels."""
    final = frames.final(frames.metric.record)
    final = final[final["role"] == "method"]
    grouped = final.sort_values("seed").set_index("seed").groupby(["n_target", "source", "method"], sort=False)
    groups = {(n, str(source), str(method)): rows for (n, source, method), rows in grouped}
    return {n_target: _runs(frames, groups, n_target) for n_target in frames.sizes}


def _runs(frames: StudyFrames, groups: Mapping[tuple[Hashable, str, str], pd.DataFrame], n_target: int) -> list[_Runs]:
    found = []
    for source, method in itertools.product(["", *frames.sources], frames.methods):
        rows = groups.get((n_target, source, method))
        if rows is not None:
            found.append(_Runs(source, method, n_target, rows["value"], rows["key"]))
    return found


def _comparison(
    frames: StudyFrames, run: _Runs, difference: Difference | None, call: Call, p_best: float, *, level: float
) -> Comparison:
    metric = frames.metric
    places = np.sort(frames.keys.get_indexer(pd.Index(run.keys)))
    of_cells = {name: frames.cells[name].to_numpy()[places] for name in COSTS}
    starts = frames.pretrained_at[places]

    def summary(name: str, part: str = "target_test") -> Estimate | None:
        return _summary(frames.final_values(name, part)[places], level)

    return Comparison(
        source=run.source or None,
        method=run.method,
        n_target=run.n_target,
        seeds=tuple(int(seed) for seed in run.values.index),
        score=_bounded(metric, t_interval(run.values.to_numpy(dtype=np.float64), level=level)),
        test_interval=_test_interval(frames, run, level=level),
        difference=difference,
        call=call,
        p_best=p_best,
        r2=summary("r2"),
        micro_f1=summary("micro_f1"),
        exact_match=summary("exact_match"),
        mean_iou=summary("mean_iou"),
        angular_error=summary("angular_error"),
        source_kept=summary(metric.along.record, "source_test"),
        forgetting=_forgetting(frames, places, starts, level=level),
        cost=MeanCost(
            pretraining_seconds=_pretraining_seconds(frames, starts, run.source),
            **{name: float(pd.Series(values).mean()) for name, values in of_cells.items()},
        ),
        is_control=run.method in frames.controls,
    )


def _best_control(frames: StudyFrames, runs: Sequence[_Runs]) -> _Runs | None:
    """The control that reads no source and has the best mean, if there is one."""
    without = [run for run in runs if run.method in frames.controls and not run.source]
    return max(without, key=lambda run: float(np.mean(frames.metric.improvement(run.values.to_numpy()))), default=None)


def _differences(
    frames: StudyFrames,
    by_size: Mapping[int, Sequence[_Runs]],
    scratch: Mapping[int, _Runs],
    *,
    level: float,
    of_controls: bool,
) -> dict[tuple[str, str, int], Difference]:
    """Differences to training from scratch, or to what stands in for it, tested together.

    Args:
        frames: The study.
        by_size: Its runs by number of labels.
        scratch: What the others are held against, by number of labels; the rest is left out.
        level: Nominal coverage of the intervals.
        of_controls: Whether those of the controls, or of the others.

    Returns:
        By source, method and number of labels.
    """
    arms = list(dict.fromkeys((run.source, run.method) for n in scratch for run in by_size[n]))
    arms = [arm for arm in arms if arm[1] != frames.baseline and (arm[1] in frames.controls) == of_controls]
    if not arms:
        return {}
    sizes, seeds = list(scratch), frames.seeds
    runs_of = {(run.source, run.method, n): run for n in sizes for run in by_size[n]}
    scores = np.full((len(sizes), len(arms), len(seeds)), np.nan)
    for (j, n), (k, arm) in itertools.product(enumerate(sizes), enumerate(arms)):
        if (*arm, n) in runs_of:
            scores[j, k] = _by_seed(frames, runs_of[*arm, n])
    control = np.stack([_by_seed(frames, scratch[n]) for n in sizes])
    of_arms = [[runs_of.get((*arm, n)) for arm in arms] for n in sizes]
    gains = [_gains(frames, of_size, scratch[n]) for of_size, n in zip(of_arms, sizes, strict=True)]
    found = many_to_one(
        scores,
        control,
        gains=gains if any(of_size is not None for of_size in gains) else None,
        margin=_margin(frames.metric, control),
        one_example=0.0 if frames.test_labels is None else frames.metric.share_of_one_example(frames.test_labels),
        level=level,
        seed=_DRAWS_SEED,
        stricter_up_to=(FEW_SEEDS, FEW_ALPHA),
    )
    return {
        (*arm, n): _difference(found, (j, k), level)
        for (j, n), (k, arm) in itertools.product(enumerate(sizes), enumerate(arms))
        if found.n_seeds[j, k]
    }


def _difference(found: ManyToOne, at: tuple[int, int], level: float) -> Difference:
    known = found.covers[at] != "nothing"
    return Difference(
        mean=float(found.difference[at]),
        n=int(found.n_seeds[at]),
        interval=Interval(float(found.low[at]), float(found.high[at]), level) if known else None,
        covers=found.covers[at],
        p_alone=float(found.p_alone[at]),
        p=float(found.p[at]),
        within_margin=bool(found.within_margin[at]),
        wants=str(found.wants[at]),
        seeds_to_decide=int(found.seeds_to_decide[at]),
    )


def _margin(metric: Metric, control: np.ndarray) -> float:
    """Differences that do not matter: one point of accuracy, or 1 % of the smallest mean risk from scratch."""
    if metric.higher_is_better:
        return _MARGIN
    return _MARGIN * float(min(-np.nanmean(of_size) for of_size in control))


def _by_seed(frames: StudyFrames, run: _Runs) -> np.ndarray:
    """Scores, higher is better, at every seed of the study; NaN where a run is missing."""
    return frames.metric.improvement(run.values.reindex(frames.seeds).to_numpy(dtype=np.float64))


def _gains(frames: StudyFrames, runs: Sequence[_Runs | None], control: _Runs) -> np.ndarray | None:
    """Scores of the test examples less those from scratch, shape (seeds, arms, examples); None without any."""
    base = _example_scores(frames, control)
    n_examples = len(next(iter(base.values()), ()))
    if n_examples < 2:
        return None
    gains = np.full((len(frames.seeds), len(runs), n_examples), np.nan)
    for k, run in enumerate(runs):
        own = {} if run is None else _example_scores(frames, run)
        for s, seed in enumerate(frames.seeds):
            if seed in own and seed in base:
                gains[s, k] = own[seed] - base[seed]
    return None if np.isnan(gains).all() else gains


def _pretraining_seconds(frames: StudyFrames, starts: np.ndarray, source: str) -> float:
    if (starts >= 0).any():
        return float(frames.cells["seconds"].iloc[starts[starts >= 0]].mean())
    sources = frames.study.spec.get("sources")
    settings = sources.get(source) if isinstance(sources, Mapping) else None
    given = isinstance(settings, Mapping) and any(settings.get(name) is not None for name in ("network", "weights"))
    return math.nan if given else 0.0


def _call(difference: Difference | None) -> Call:
    if difference is None or not difference.tested:
        return "undecided"
    better = difference.mean > 0
    level = FEW_ALPHA if difference.n <= FEW_SEEDS else ALPHA
    if difference.p <= level and max(difference.p, difference.p_alone) < ALPHA:
        return "positive" if better else "negative"
    if difference.within_margin:
        return "equivalent"
    if difference.p < LEANING:
        return "leans positive" if better else "leans negative"
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
    kept = [frames.predictions[key] for key in run.keys if key in frames.predictions]
    if frames.test_labels is None or not kept:
        return None
    return frames.metric.interval_over_examples(kept, frames.test_labels, level=level)


def chances_of_best(
    frames: StudyFrames, runs: Sequence[_Runs], differences: Sequence[Difference | None]
) -> list[float]:
    """Probability of every method at one size to have the best mean, no surer than the tests are.

    That of `best_arm`, bounded: with q = 1 - p / 2 for a method ahead of training from scratch and q = p / 2 for one
    behind it, p the adjusted p-value, a method has at most q, and training from scratch at most 1 - q for every method:
    just that where some method is ahead. What is cut off goes to the others in proportion to what their bounds leave.
    """
    if not runs:
        return []
    at = next((i for i, run in enumerate(runs) if run.method == frames.baseline), 0)  # without one, any method will do
    others = [i for i in range(len(runs)) if i != at]
    chance = np.full(len(runs), np.nan)
    if others:
        beside = np.stack([_by_seed(frames, runs[i]) - _by_seed(frames, runs[at]) for i in others])
        gains = _gains(frames, [runs[i] for i in others], runs[at])
        known = gains is not None and not (np.isnan(gains).all(axis=(0, 2)) & ~np.isnan(beside).all(axis=1)).any()
        best = best_arm(beside, gains=gains if known else None, seed=_DRAWS_SEED, with_p=False)
        chance[[at, *others]] = best.chance
    most = np.ones(len(runs))
    for i, difference in enumerate(differences):
        if difference is not None and difference.tested:
            most[i] = 1 - difference.p / 2 if difference.mean > 0 else difference.p / 2
            most[at] = min(most[at], 1 - most[i])
    if most[at] <= 0.5 and not np.isnan(chance[at]) and any(d is not None and d.mean > 0 for d in differences):
        chance *= (1 - most[at]) / max(1 - chance[at], 1e-12)
        chance[at] = most[at]
    within = np.where(np.isnan(chance), 0.0, np.minimum(chance, most))
    left = np.where(np.isnan(chance), 0.0, most - within)
    cut = 1 - within.sum()
    share = cut / left.sum() if min(cut, left.sum()) > 1e-9 else 0.0
    return [math.nan if np.isnan(c) else float(p) for c, p in zip(chance, within + min(share, 1.0) * left, strict=True)]


def _forgetting(frames: StudyFrames, places: np.ndarray, starts: np.ndarray, *, level: float) -> Estimate | None:
    metric, started = frames.metric.along, starts >= 0
    measured = frames.final_values(metric.record, "source_test")
    before, after = measured[starts[started]], measured[places[started]]
    return _summary(metric.improvement(before) - metric.improvement(after), level)


def _summary(values: np.ndarray, level: float) -> Estimate | None:
    measured = values[~np.isnan(values)]
    return t_interval(measured, level=level) if len(measured) else None


def _bounded(metric: Metric, summary: Estimate) -> Estimate:
    return summary if summary.interval is None else replace(summary, interval=metric.bounded(summary.interval))


def outcome_of(group: Sequence[Comparison]) -> Outcome:
    """The outcome at one number of labels, or of one source there.

    A source helps where one of its methods does, and with the p-value of that method: the step-down maximum takes no
    further correction for it (`ManyToOne.p_any`).

    Args:
        group: The comparisons, at least one.

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
    if calls <= {"negative", "equivalent"}:
        return "does not help"
    if calls <= {"negative", "leans negative"}:
        return "seems to hurt"
    return "seems to help" if "leans positive" in calls else "undecided"


def champion(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> Comparison:
    """The method to speak of.

    Of those that are better, or lean that way, the likeliest to be the best; otherwise the best mean of those that
    transfer.

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
        return max(candidates, key=lambda c: (-1.0 if math.isnan(c.p_best) else c.p_best, gain(c)))
    if outcome == "no baseline":
        return max(candidates, key=lambda c: c.score.value if metric.higher_is_better else -c.score.value)
    return max(candidates, key=gain)


def gain(c: Comparison) -> float:
    """Mean transferability, for sorting; minus infinity when it was not measured."""
    return c.difference.mean if c.difference else -math.inf
