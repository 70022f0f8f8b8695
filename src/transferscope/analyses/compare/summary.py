"""A study in one table and one verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from transferscope.analyses.compare.cautions import cautions, early_stopping, shrunk_controls, weak_inner_heads
from transferscope.analyses.compare.comparison import Comparison, compare_methods
from transferscope.analyses.compare.settings import settings_in_words
from transferscope.analyses.compare.training import untold_in_words, verdict_on_trained, with_what_was_learnt
from transferscope.analyses.compare.verdict import controls_in_words, reach_verdict
from transferscope.analyses.compare.words import (
    MOST_IN_A_SENTENCE,
    Progress,
    objective_in_words,
)
from transferscope.errors import StoreError
from transferscope.estimate import Interval
from transferscope.numerics.class_measures import is_class_measure
from transferscope.report.figures.choice import tick_name
from transferscope.report.page import Verdict
from transferscope.store import Store
from transferscope.study.frames import StudyFrames, read_study
from transferscope.wording import counted, listed


@dataclass(frozen=True)
class Summary:
    """What a study says.

    Attributes:
        frames: The study as it was read.
        comparisons: Every method from every source at every size that has a result.
        table: One row per comparison, see `comparison_table`.
        verdict: The answer in plain words.
        caveat: What the headline ends in: where MeRLin's gain need not be owed to its source; "" for nothing.
    """

    frames: StudyFrames
    comparisons: tuple[Comparison, ...]
    table: pd.DataFrame
    verdict: Verdict
    caveat: str = ""

    @property
    def in_short(self) -> str:
        """What was studied, in one line."""
        frames = self.frames
        many = len(frames.sources) > MOST_IN_A_SENTENCE
        named = f"{len(frames.sources):,} sources" if many else listed(frames.sources)
        sources = f"from {named} " if frames.sources else ""
        target = frames.study.facts.get("target", {})
        name = target.get("name", "the target") if isinstance(target, Mapping) else "the target"
        sizes = f"{listed([f'{size:,}' for size in frames.sizes])} labels"
        if len(frames.sizes) > MOST_IN_A_SENTENCE:
            sizes = f"{len(frames.sizes):,} numbers of labels, {frames.sizes[0]:,} to {frames.sizes[-1]:,}"
        effort = f"{counted(len(frames.methods), 'method')}, {counted(len(frames.seeds), 'seed')}"
        return f"Transfer {sources}to {name} with {sizes}: {effort}."

    @cached_property
    def arms(self) -> tuple[tuple[str, str], ...]:
        """Source ("" for none) and method of every way to learn, best first: the one order of tables and figures.

        Ways are ordered by how far their mean score is above that of all ways with as many labels, on average over the
        numbers of labels.
        """
        scores = self.table.assign(score=self.table["mean"] * (1.0 if self.frames.metric.higher_is_better else -1.0))
        ahead = scores["score"] - scores.groupby("n_target")["score"].transform("mean")
        means = ahead.groupby([scores["source"], scores["method"]], sort=False).mean()
        ordered = means.sort_values(ascending=False, kind="stable").index
        return tuple((str(source), str(method)) for source, method in ordered)

    def name_of(self, source: str, method: str) -> str:
        """A way to learn in tables and figures: its method, and the source where the method has several."""
        several = sum(other == method for _, other in self.arms) > 1
        return f"{tick_name(method)} from {source}" if source and several else tick_name(method)

    @cached_property
    def in_order(self) -> tuple[Comparison, ...]:
        """The comparisons in the order of `arms`, those of fewer labels first."""
        places = {arm: place for place, arm in enumerate(self.arms)}
        return tuple(sorted(self.comparisons, key=lambda c: (places[c.source or "", c.method], c.n_target)))

    @property
    def runs(self) -> pd.DataFrame:
        """Every finished run: columns source, method, n_target, seed, value."""
        final = self.frames.final(self.frames.metric.record)
        return final.loc[final["role"] == "method", ["source", "method", "n_target", "seed", "value"]]


def summarise(store: Store, study: str) -> Summary:
    """Read a study and say what it shows.

    Args:
        store: Where it is.
        study: Its name.

    Returns:
        The summary; of what is there when the study is not complete.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study has no result yet, or the store cannot be read.
    """
    return summarise_frames(read_study(store, study))


def summarise_frames(frames: StudyFrames) -> Summary:
    """`summarise` for a study that was read already.

    Raises:
        StoreError: The study has no result yet.
    """
    comparisons = compare_methods(frames)
    if not comparisons:
        raise StoreError(_why_empty(frames))
    progress = progress_of(frames)
    controls = [c for c in comparisons if c.is_control]
    verdict = verdict_on_trained(
        [c for c in comparisons if not c.is_control] or comparisons,
        frames,
        progress,
        lambda trained: reach_verdict(trained, frames.metric, progress, controls=controls),
    )
    noted = frames.method_cells.dropna(subset="inner_risk")
    weak = weak_inner_heads(zip(noted["method"], noted["n_target"], noted["inner_risk"], strict=True))
    done = frames.method_cells[(frames.method_cells["state"] == "done") & (frames.method_cells["last_step"] > 0)]
    asked = frames.study.spec.get("training", {}).get("early_stopping") is not None
    stopped = early_stopping(zip(done["n_target"], done["best_step"], strict=True)) if asked else ()
    read = frames.method_cells.dropna(subset=["read_side", "read_tokens"], how="all")
    shrunk = shrunk_controls(zip(read["n_target"], read["read_side"], read["read_tokens"], strict=True))
    said_of = [size for size, outcome in verdict.outcomes.items() if outcome == "no more than a control"]
    owed = objective_in_words(comparisons, frames, said_of=said_of)
    unbeaten = controls_in_words(comparisons, frames.metric)
    unowed = {size for size, outcome in verdict.outcomes.items() if outcome == "helps" and size in owed.alone}
    outcomes = {**verdict.outcomes, **dict.fromkeys(unowed, "no more than an objective")}
    verdict = replace(verdict, outcomes=outcomes, headline=f"{verdict.headline}\n{owed.headline}".strip())
    warned = (
        *verdict.sentences,
        *unbeaten.values(),
        *owed.sentences,
        *untold_in_words(frames),
        *cautions(
            frames.study.facts, [c.n_target for c in comparisons], by_class=is_class_measure(frames.metric.record)
        ),
        *weak,
        *stopped,
        *shrunk,
    )
    warned = (*warned, *settings_in_words(frames))
    verdict = with_what_was_learnt(replace(verdict, sentences=warned), frames)
    return Summary(frames, comparisons, comparison_table(comparisons), verdict, owed.headline)


def progress_of(frames: StudyFrames) -> Progress:
    """How much of a study is done."""
    states = frames.cells["state"].value_counts()
    return Progress(total=len(frames.cells), done=int(states.get("done", 0)), failed=int(states.get("failed", 0)))


def comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """The comparisons as a table.

    Returns:
        One row per comparison with the columns source ("" for none), method, n_target, n_seeds, mean, sd, low, high,
        interval_over ("seeds", or "test examples" with one seed and where all came out the same, or "" for none, as
        with two seeds), transferability
        and its low, high, covers ("seeds and test examples", "seeds", "test examples" or "": what interval and p-values
        speak of), n_pairs, p_value (of this comparison alone), p_adjusted (over all comparisons of the study), call,
        p_best, r2, micro_f1 and exact_match (of several labels only), mean_iou (of masks only), angular_error (in
        degrees, of directions on a grid only), source_kept, forgetting, seconds, pretraining_seconds (shared
        by other runs; NaN for weights that were given), peak_memory (bytes), trained_parameters, examples_seen.
        Accuracies and differences are fractions, not percent.
    """
    table = pd.DataFrame([_row(c) for c in comparisons])
    of_some = ["micro_f1", "exact_match", "mean_iou", "angular_error"]
    return table.drop(columns=[name for name in of_some if table.empty or table[name].isna().all()])


def _row(c: Comparison) -> dict[str, object]:
    d = c.difference
    return {
        "source": c.source or "",
        "method": c.method,
        "n_target": c.n_target,
        "n_seeds": len(c.seeds),
        "mean": c.score.value,
        "sd": c.score.sd,
        "low": _low(c.interval),
        "high": _high(c.interval),
        "interval_over": c.interval_over,
        "transferability": d.mean if d else np.nan,
        "transferability_low": _low(d.interval if d else None),
        "transferability_high": _high(d.interval if d else None),
        "covers": d.covers if d and d.interval else "",
        "n_pairs": d.n if d else 0,
        "p_value": d.p_alone if d else np.nan,
        "p_adjusted": d.p if d else np.nan,
        "call": c.call,
        "p_best": c.p_best,
        "r2": c.r2.value if c.r2 else np.nan,
        "micro_f1": c.micro_f1.value if c.micro_f1 else np.nan,
        "exact_match": c.exact_match.value if c.exact_match else np.nan,
        "mean_iou": c.mean_iou.value if c.mean_iou else np.nan,
        "angular_error": c.angular_error.value if c.angular_error else np.nan,
        "source_kept": c.source_kept.value if c.source_kept else np.nan,
        "forgetting": c.forgetting.value if c.forgetting else np.nan,
        "seconds": c.cost.seconds,
        "pretraining_seconds": c.cost.pretraining_seconds,
        "peak_memory": c.cost.peak_memory,
        "trained_parameters": c.cost.trained_parameters,
        "examples_seen": c.cost.examples_seen,
    }


def _low(interval: Interval | None) -> float:
    return interval.low if interval else np.nan


def _high(interval: Interval | None) -> float:
    return interval.high if interval else np.nan


def _why_empty(frames: StudyFrames) -> str:
    name = frames.study.name
    failures = frames.cells[frames.cells["state"] == "failed"]
    if failures.empty:
        return (
            f"the study {name!r} has no finished run of any method yet: run `transferscope run` on its study file first"
        )
    first = failures.iloc[0]
    return (
        f"the study {name!r} has no finished run of any method, and {len(failures)} of its {len(frames.cells)} cells "
        f"failed; the first said: {first['failure_message']}"
    )
