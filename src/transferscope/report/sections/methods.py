"""The table of methods: score, difference to scratch, chance of being best, cost, forgetting."""

import math
from collections.abc import Sequence

from transferscope.report.blocks import Block, Cell, Column, Section, Table, Text
from transferscope.report.comparison import Comparison
from transferscope.report.figures.choice import tick_name
from transferscope.report.figures.dots import candidate_tick
from transferscope.report.metric import Metric
from transferscope.report.results import Summary
from transferscope.report.wording import (
    counted,
    duration,
    large_count,
    listed,
    memory,
    p_words,
    probability_words,
    signed,
)


def methods_section(summary: Summary) -> Section:
    """One table for each number of labels, the largest first."""
    by_size: dict[int, list[Comparison]] = {}
    for comparison in summary.comparisons:
        by_size.setdefault(comparison.n_target, []).append(comparison)
    blocks: list[Block] = []
    for size in sorted(by_size, reverse=True):
        blocks.append(_table(summary, size, by_size[size]))
        blocks.extend(_seed_notes(summary, by_size[size]))
    blocks.append(Text(_how_to_read(summary), "note"))
    return Section("Methods", "methods", tuple(blocks), {"methods-table": summary.table})


def _table(summary: Summary, size: int, group: Sequence[Comparison]) -> Table:
    metric = summary.frames.metric
    sure = [c for c in group if not math.isnan(c.p_best)]
    top = max(sure, key=lambda c: c.p_best) if sure else None
    ordered = sorted(group, key=lambda c: c.score.mean, reverse=metric.higher_is_better)
    with_source = any(c.source_kept for c in group)
    columns = _columns(metric, with_source=with_source)
    rows = tuple(_row(c, metric, is_top=c is top, with_source=with_source) for c in ordered)
    return Table(columns, rows, f"{counted(size, 'label')}, best mean first")


def _columns(metric: Metric, *, with_source: bool) -> tuple[Column, ...]:
    name = "Accuracy" if metric.higher_is_better else "Squared error"
    unit = "points" if metric.higher_is_better else "risk saved"
    kept = (
        Column(
            "Source kept",
            f"{name} on the source test set after transfer; below it what was lost since pre-training (forgetting)",
        ),
    )
    return (
        Column("Method", numeric=False),
        Column(name, "Mean on the target test set with its 95 % interval"),
        Column(f"Against scratch ({unit})", "Paired difference on the same seeds and labels, with its 95 % interval"),
        Column("p (Holm)", "Paired t-test, corrected over all comparisons of the study"),
        Column("Transfer", "Sign of the transferability at the 5 % level", numeric=False),
        Column("P(best)", "Probability of the best mean, by bootstrap over seeds and test examples"),
        *(kept if with_source else ()),
        Column("Time, memory", "Mean wall-clock time of a run without the shared pre-training; mean peak memory"),
        Column("Trained", "Parameters that the optimiser could change; training examples seen, with repetition"),
    )


def _row(c: Comparison, metric: Metric, *, is_top: bool, with_source: bool) -> tuple[Cell, ...]:
    return (
        Cell(tick_name(c.method), f"from {c.source}" if c.source else ""),
        Cell(metric.shown(c.score.mean), _interval_detail(c, metric), "best" if is_top else ""),
        _difference(c, metric),
        Cell(p_words(c.p_holm)),
        _call(c),
        Cell(probability_words(c.p_best), tone="best" if is_top else ""),
        *((_kept(c, metric),) if with_source else ()),
        Cell(duration(c.cost.seconds), memory(c.cost.peak_memory)),
        Cell(f"{large_count(c.cost.trained_parameters)} parameters", f"{large_count(c.cost.examples_seen)} examples"),
    )


def _interval_detail(c: Comparison, metric: Metric) -> str:
    if c.interval is None:
        return ""
    return f"{metric.shown_interval(c.interval)}{'' if c.score.interval else ' (test set)'}"


def _difference(c: Comparison, metric: Metric) -> Cell:
    if c.difference is None:
        return Cell("–")
    interval = c.difference_interval
    detail = metric.shown_difference_interval(interval) if interval else ""
    over = " (test set)" if interval and c.difference.n == 1 else ""
    return Cell(metric.shown_difference(c.difference.mean), f"{detail}{over}")


def _call(c: Comparison) -> Cell:
    if c.call in ("positive", "negative", "undecided"):
        return Cell(c.call, tone=c.call)
    return Cell("baseline" if c.call == "baseline" else "–", tone="baseline")


def _kept(c: Comparison, metric: Metric) -> Cell:
    if c.source_kept is None:
        return Cell("–")
    if c.forgetting is None:
        return Cell(metric.shown(c.source_kept.mean))
    scale, digits = (100, 1) if metric.higher_is_better else (1, 3)
    return Cell(metric.shown(c.source_kept.mean), f"{signed(-scale * c.forgetting.mean, digits)} since pre-training")


def _seed_notes(summary: Summary, group: Sequence[Comparison]) -> list[Text]:
    """Which methods lack seeds, and what was done about it."""
    seeds = set(summary.frames.seeds)
    lacking = [f"{candidate_tick(c)} ({len(c.seeds)})" for c in group if set(c.seeds) < seeds]
    if not lacking:
        return []
    return [
        Text(
            f"Fewer seeds than the study's {len(seeds)}: {listed(lacking)}. Differences use the seeds that a method "
            "shares with scratch, and P(best) the seeds that all methods share.",
            "note",
        )
    ]


def _how_to_read(summary: Summary) -> str:
    n_test = 0 if summary.frames.test_labels is None else len(summary.frames.test_labels)
    examples = f" of {n_test:,} examples" if n_test else ""
    widest = max(
        (c.test_interval.high - c.test_interval.low for c in summary.comparisons if c.test_interval), default=0
    )
    half = f"{50 * widest:.1f} points" if summary.frames.metric.higher_is_better else f"{widest / 2:.2g}"
    other = f" On another test set of this size all scores may move by up to {half} (95 %)." if widest else ""
    return (
        "Intervals are 95 % t-intervals over seeds: they say what other seeds, with other target labels, would give on "
        f"this test set{examples}.{other} P(best) takes both into account. The differences are tested in pairs, and "
        "the p-values corrected over all comparisons of the study (Holm), so that the chance of any false “positive” "
        "or “negative” is at most 5 %."
    )
