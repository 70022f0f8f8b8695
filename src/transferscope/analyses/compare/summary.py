"""Summary of a study: one table and one verdict."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from transferscope.analyses.compare.cautions import (
    cautions,
    fewer_labels_than_classes,
    nothing_held_out,
    reduced_inputs,
    weak_inner_heads,
)
from transferscope.analyses.compare.comparison import MEASURES, Comparison, compare_arms
from transferscope.analyses.compare.lines import lines_of
from transferscope.analyses.compare.next_step import NextStep, next_step
from transferscope.analyses.compare.settings import searches
from transferscope.analyses.compare.statements import (
    MANY_SIZES,
    all_failed,
    answers,
    called,
    chances,
    completeness,
    end_of,
    likeliest,
    losses,
    lost_runs,
    notes,
    overall,
    settling,
    which,
)
from transferscope.analyses.compare.words import words_of
from transferscope.decision import Decision
from transferscope.errors import StoreError
from transferscope.estimate import Estimate, Interval
from transferscope.numerics.class_measures import is_class_measure
from transferscope.report.page import Verdict
from transferscope.statements import Statement, state
from transferscope.store import Store
from transferscope.study.decisions import decisions
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.measure import Measure
from transferscope.study.places import usual_class
from transferscope.wording import counted, listed


@dataclass(frozen=True)
class Summary:
    """The summary of a study.

    Attributes:
        decided: The decision on each number of labels, ascending.
        table: One row per comparison, see `comparison_table`.
    """

    frames: StudyFrames
    decided: Mapping[int, Decision]
    comparisons: tuple[Comparison, ...]
    table: pd.DataFrame
    verdict: Verdict
    next_step: NextStep
    cautions: tuple[Statement, ...] = ()

    @property
    def in_short(self) -> str:
        """The study in one line."""
        frames, target = self.frames, self.frames.study.facts.get("target", {})
        return words_of(frames).say(
            state(
                "study",
                target=target.get("name", "the target") if isinstance(target, Mapping) else "the target",
                sources=frames.sources,
                sizes=frames.sizes,
                n_methods=len(frames.methods),
                n_seeds=frames.n_seeds,
            )
        )


def summarise(store: Store, study: str) -> Summary:
    """Read and summarise a study, complete or not.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study has no result yet, or the store cannot be read.
    """
    return summarise_frames(read_study(store, study))


def summarise_frames(frames: StudyFrames) -> Summary:
    """Summarise a study that was read already.

    Raises:
        StoreError: The study has no result yet, or its runs lack the metric that the study file names now.
    """
    decided = decisions(frames)
    comparisons = compare_arms(frames, decided)
    if not frames.metric.computed:
        _check_scores(frames, frames.metric)
    if not comparisons:
        raise StoreError(_why_empty(frames))
    beware = _cautions(frames)
    words = words_of(frames)
    each, lost = answers(frames, decided), words.all_of([*lost_runs(frames, decided), *all_failed(frames)])
    next_steps = settling(frames, decided)
    together = overall(frames, decided) if len(decided) > 1 else each
    many, said = len(decided) >= MANY_SIZES, list(notes(frames, decided))
    sentences = words.all_of(
        [
            *(each if many else ()),
            *which(frames, decided),
            *called(frames, decided),
            *chances(frames, decided),
            *losses(frames, decided),
            *next_steps,
            *said,
            *completeness(frames),
            *beware,
            *searches(frames),
        ]
    )
    shown = words.all_of(one for one in together if one.kind != "clearest")  # its row says it
    step, likely = next_step(frames, decided, next_steps), likeliest(next_steps)
    follow = f"Next: {' '.join(words.all_of(step.said))}" if step.said else "" if likely is None else words.say(likely)
    adjusted = [one for one in said if one.kind == "adjusted"] if len(decided) > 1 else []
    aware = words.all_of([*adjusted, *(one for one in beware if one.kind in _IN_TERMINAL)])
    lines = lines_of(frames, decided, answers=(*shown[:1], *lost, *shown[1:]), notes=aware, next_step=follow)
    outcomes = {n: one.outcome for n, one in decided.items()}
    verdict = Verdict(
        outcomes, "\n".join([*words.all_of(together if many else each), *lost]), sentences, lines, step.options
    )
    return Summary(frames, decided, comparisons, comparison_table(comparisons, frames.metric), verdict, step, beware)


_IN_TERMINAL = ("fewer labels than classes", "uneven classes", "few of a class", "shared examples")
"""Cautions that are also shown in the terminal, since a score is misleading without them."""


def _cautions(frames: StudyFrames) -> tuple[Statement, ...]:
    cells = frames.method_cells
    noted = cells.dropna(subset="inner_risk")
    done = cells[(cells["state"] == "done") & (cells["last_step"] > 0)]
    asked = frames.study.spec.get("training", {}).get("early_stopping") is not None
    read = cells.dropna(subset=["read_side", "read_tokens"], how="all")
    return (
        *cautions(
            frames.study.facts,
            by_class=is_class_measure(frames.metric.record),
            usual=usual_class(frames.study.spec, frames.study.facts),
        ),
        *fewer_labels_than_classes(frames.study.facts, cells["n_target"]),
        *weak_inner_heads(zip(noted["method"], noted["n_target"], noted["inner_risk"], strict=True)),
        *(nothing_held_out(zip(done["n_target"], done["best_step"], strict=True)) if asked else ()),
        *reduced_inputs(zip(read["n_target"], read["read_side"], read["read_tokens"], strict=True)),
    )


def comparison_table(comparisons: tuple[Comparison, ...], metric: Measure) -> pd.DataFrame:
    """Return the comparisons as a table.

    Returns:
        One row per arm and number of labels with the columns source ("" for none), method, n_target, n_seeds, n_failed
        (runs without a score), mean, adjusted (whether it is adjusted for seeds that others have), sd, low, high,
        interval_over ("seeds"; "test examples" with one seed or equal scores; "" for none, as with two seeds);
        with_source, gain, gain_low, gain_high (over the best baseline in points, of regressions in R²,
        with simultaneous CIs), p, call and why (see `decision.ArmFacts`), chance (of being
        within the margin of the best), unstable, unfinished; transferability (over training from scratch, a fraction,
        and no statement) with its low and high (95 %, this difference alone), n_pairs; mse (of regressions only), mae
        (in the units of the target, of one number only), micro_f1 and exact_match (of several labels only), mean_iou
        (of masks only), angular_error (in degrees, of directions on a grid only), source_kept, forgetting, seconds,
        pretraining_seconds (shared by other runs; NaN for weights that were given), peak_memory (bytes),
        trained_parameters, examples_seen. Accuracies are fractions, not percent; the mean of a regression is its R².
    """
    table = pd.DataFrame([_row(c, metric) for c in comparisons])
    return table.drop(columns=[name for name in MEASURES if table.empty or table[name].isna().all()])


def decision_facts(decided: Mapping[int, Decision]) -> dict[str, Any]:
    """Return the decisions as plain values by number of labels, for JSON."""
    return {str(n): asdict(decision) for n, decision in decided.items()}


def _row(c: Comparison, metric: Measure) -> dict[str, object]:
    over, facts = c.over_scratch, c.facts
    gain, low, high = facts.gain, *_ends(c.interval)
    over_low, over_high = _ends(over.interval if over else None)
    return {
        "source": c.source or "",
        "method": c.method,
        "n_target": c.n_target,
        "n_seeds": len(c.seeds),
        "n_failed": facts.n_failed,
        "mean": c.score.value,
        "adjusted": facts.adjusted,
        "sd": c.score.sd,
        "low": low,
        "high": high,
        "interval_over": c.interval_over,
        "with_source": facts.with_source,
        "gain": _shown(gain.value if gain else None, metric),
        "gain_low": _shown(gain.low if gain else None, metric),
        "gain_high": _shown(gain.high if gain else None, metric),
        "p": _number(gain.p if gain else None),
        "call": facts.call,
        "why": facts.why,
        "chance": facts.chance,
        "unstable": facts.unstable,
        "unfinished": facts.unfinished,
        "transferability": _value(over),
        "transferability_low": over_low,
        "transferability_high": over_high,
        "n_pairs": over.n if over else 0,
        **{name: _value(c.measures[name]) for name in MEASURES},
        "source_kept": _value(c.source_kept),
        "forgetting": _value(c.forgetting),
        **asdict(c.cost),
    }


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _shown(points: float | None, metric: Measure) -> float:
    return np.nan if points is None else metric.shown_points(points)


def _value(estimate: Estimate | None) -> float:
    return estimate.value if estimate else np.nan


def _ends(interval: Interval | None) -> tuple[float, float]:
    return (interval.low, interval.high) if interval else (np.nan, np.nan)


def _check_scores(frames: StudyFrames, measure: Measure) -> None:
    """Refuse finished runs of a study with another metric or unit."""
    done = frames.cells["key"].where((frames.cells["role"] == "method") & (frames.cells["state"] == "done"))
    values = frames.final_values(measure.judged.record)[done.notna()]
    runs = f"{counted(len(values), 'run')} of the study {frames.study.name!r}"
    if lacking := int(np.isnan(values).sum()):
        kept = frames.records[frames.records["key"].isin(done)].groupby("name", sort=False)["key"].nunique()
        in_all = list(kept.index[kept == len(values)][:20])
        raise StoreError(
            f"{lacking} of {runs} have no {measure.record!r}, its metric; all have "
            f"{listed(in_all) or 'no number'}: name one of these in its file"
        )
    low, high = measure.bounds
    if (outside := values[(values < low) | (values > high)]).size:
        raise StoreError(
            f"{outside.size} of {runs} have {measure.record!r} outside {low:g} to {high:g}, such as {outside[0]:g}; "
            "expected shares: give another unit in its file"
        )


def _why_empty(frames: StudyFrames) -> str:
    name = frames.study.name
    failures = frames.cells[frames.cells["state"] == "failed"]
    if failures.empty and end_of(frames) == "time":
        return (
            f"no run of the study {name!r} finished in the minutes given; run `transferscope run` on its study file "
            "with more, `--set race.minutes=N`"
        )
    if failures.empty:
        return (
            f"the study {name!r} has no finished run of any method yet: run `transferscope run` on its study file first"
        )
    first = failures.iloc[0]
    return (
        f"the study {name!r} has no finished run of any method, and {len(failures)} of its {len(frames.cells)} runs "
        f"failed; the first said: {first['failure_message']}"
    )
