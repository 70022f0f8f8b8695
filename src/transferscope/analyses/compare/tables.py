"""The tables of a comparison: methods, what is missing or failed, and where the numbers come from."""

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.figures import candidate_tick
from transferscope.analyses.compare.summary import Summary
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Cell, Column, Folded, Listing, Section, Table, Text, Tone
from transferscope.report.figures.choice import evenly_chosen, shown_of, tick_name
from transferscope.study.frames import LABELS
from transferscope.study.metric import AVERAGE_PRECISION, Metric
from transferscope.wording import (
    candidate_words,
    capitalised,
    counted,
    data_in_words,
    duration,
    labels_in_words,
    large_count,
    listed,
    memory,
    precision_in_words,
    probability_words,
    weights_in_words,
)

_MOST_ROWS = 100
_MOST_SEEDS = 20
_MOST_WAYS, _WAYS_OF_MORE = 30, 20
_MOST_TABLES = 12
_MOST_NAMED = 12
_STATE_WORDS = {"blocked": "waits for a cell that failed"}


def methods_section(summary: Summary) -> Section:
    """One table for each number of labels, the smallest first, as in the verdict; of very many ways the best."""
    by_size: dict[int, list[Comparison]] = {}
    for comparison in summary.in_order:
        by_size.setdefault(comparison.n_target, []).append(comparison)
    blocks: list[Block] = []
    sizes = evenly_chosen(sorted(by_size), _MOST_TABLES)
    if said := shown_of("numbers of labels", [f"{size:,}" for size in sizes], list(by_size)):
        blocks.append(Text(f"{said.strip()} All are in methods-table.csv.", "note"))
    for size in sizes:
        blocks.append(_methods_table(summary, size, by_size[size]))
        blocks.extend(_seed_notes(summary, by_size[size]))
    blocks.append(Folded("How to read the table: what the intervals and p-values say", (Text(_how_to_read(summary)),)))
    return Section("Methods", "methods", tuple(blocks), {"methods-table": summary.table})


def _named(words: Sequence[str]) -> list[str]:
    """The first of very many, and how many more there are."""
    if len(words) <= _MOST_NAMED:
        return list(words)
    return [*words[:_MOST_NAMED], f"{len(words) - _MOST_NAMED:,} more"]


def paper_table(summary: Summary) -> Table:
    """Means with their intervals, a row for each way to learn and a column for each number of labels.

    The tone "best" marks the best mean of a column, and signs what is better or worse than the best without a source.
    """
    metric, sizes = summary.frames.metric, summary.frames.sizes
    found = {(c.source or "", c.method, c.n_target): c for c in summary.comparisons}
    unit = metric.in_caption
    n = sorted({len(c.seeds) for c in summary.comparisons})
    seeds = counted(n[0], "seed") if len(n) == 1 else f"{n[0]} to {n[-1]} seeds"
    over = sorted({c.interval_over for c in summary.comparisons if c.interval})
    intervals = f" with its 95 % interval over {listed(over)}" if over else ""
    called = {c.facts.call for c in summary.comparisons}
    symmetric = all(_is_symmetric(c, metric) for c in summary.comparisons)  # one form for all cells
    rows = []
    for source, method in summary.arms:
        own = [found.get((source, method, size)) for size in sizes]
        cells = [_paper_cell(c, summary, called, symmetric=symmetric) for c in own]
        rows.append((Cell(capitalised(summary.name_of(source, method))), *cells))
    signs = [f"{sign} {word} than the best without a source" for sign, word, call in _SIGNS if call in called]
    caption = (
        f"{metric.name}{unit} by number of labels: mean of {seeds}{intervals}; bold: the best mean, which need not be "
        f"surely the best{''.join(f'; {sign}' for sign in signs)}."
    )
    columns = (Column("Method", numeric=False), *(Column(labels_in_words([size])) for size in sizes))
    return Table(columns, tuple(rows), caption)


_SIGNS = (("*", "better", "better"), ("†", "worse", "worse"))


def _paper_cell(comparison: Comparison | None, summary: Summary, called: Container[str], *, symmetric: bool) -> Cell:
    if comparison is None:
        return Cell("–")
    metric, value, interval = summary.frames.metric, comparison.score.value, comparison.interval
    text = _paper_number(value, comparison, metric)
    if interval is not None and symmetric:
        text += f" ± {_paper_number(interval.high - value, comparison, metric)}"
    elif interval is not None:
        low, high = (_paper_number(end, comparison, metric) for end in (interval.low, interval.high))
        text += f" [{low}, {high}]"
    sign = next((sign for sign, _, call in _SIGNS if call == comparison.facts.call and call in called), "")
    others = [c.score.value for c in summary.comparisons if c.n_target == comparison.n_target]
    best = max(others) if metric.higher_is_better else min(others)
    return Cell(f"{text}{sign}", tone="best" if value == best else "")


def _paper_number(one: float, comparison: Comparison, metric: Metric) -> str:
    return metric.number(one, like=comparison.score.value)


def _is_symmetric(comparison: Comparison, metric: Metric) -> bool:
    """Whether both ends are equally far from the mean, as shown."""
    value, interval = comparison.score.value, comparison.interval
    if interval is None:
        return True
    below, above = value - interval.low, interval.high - value
    return _paper_number(below, comparison, metric) == _paper_number(above, comparison, metric)


def _methods_table(summary: Summary, size: int, group: Sequence[Comparison]) -> Table:
    metric = summary.frames.metric
    optional = _Optional(
        r2=any(c.r2 for c in group),
        labels=any(c.micro_f1 for c in group),
        masks=any(c.mean_iou for c in group),
        directions=any(c.angular_error for c in group),
        source=any(c.source_kept for c in group),
    )
    shown, left_out = list(group), ""
    if len(group) > _MOST_WAYS:
        best = group[:_WAYS_OF_MORE]
        decision = summary.decided[size]
        kept = {decision.recommended, decision.best_with, decision.best_without}
        shown = [c for i, c in enumerate(group) if i < _WAYS_OF_MORE or c.facts.name in kept]
        left_out = f"; the first {len(best)} of {len(group):,} and those that are named: all are in methods-table.csv"
    top = summary.decided[size].recommended
    rows = tuple(_method_row(c, metric, optional, is_top=c.facts.name == top) for c in shown)
    order = "best first" if len(summary.frames.sizes) == 1 else "best first over all numbers of labels"
    return Table(_columns(metric, optional), rows, f"{labels_in_words([size])}, {order}{left_out}")


@dataclass(frozen=True, slots=True)
class _Optional:
    """Columns that only some studies have."""

    r2: bool
    labels: bool
    masks: bool
    directions: bool
    source: bool


def _columns(metric: Metric, optional: _Optional) -> tuple[Column, ...]:
    name = metric.name
    r2 = (Column("R²", "Share of the variance of the target labels that is explained"),)
    labels = (
        Column("Micro F1", "F1 of all labels together, at a probability of one half"),
        Column("Exact match", "Test examples whose labels are all right, at a probability of one half"),
    )
    masks = (Column("Mean IoU", "Intersection over union of each class, mean over the classes that occur"),)
    directions = (Column("Angle", "Mean angle between outputs and labels, in degrees"),)
    kept = (
        Column(
            "Source kept",
            f"{name} on the source test set after transfer; below it what was lost since pre-training (forgetting)",
        ),
    )
    return (
        Column("Method", numeric=False),
        Column(name, "Mean on the target test set, its 95 % interval, and the standard deviation over seeds"),
        *(r2 if optional.r2 else ()),
        *(labels if optional.labels else ()),
        *(masks if optional.masks else ()),
        *(directions if optional.directions else ()),
        Column(
            f"Over the best without ({metric.gain_unit})",
            "Gain over the best arm without a source, with an interval that holds for all arms and any number of seeds",
        ),
        Column(
            "Call",
            "Better or worse: the interval is clear of 0. Not called: too few seeds, unstable, or something without a "
            "source could still rise",
            numeric=False,
        ),
        Column("Chance", "Probability of being within the margin of the best arm"),
        Column("Over scratch", "Transferability: difference on the same seeds and labels, with its 95 % interval"),
        *(kept if optional.source else ()),
        Column(
            "Time",
            "Mean wall-clock time of a run with its search for settings, and with the pre-training it starts from, "
            "which other runs share",
        ),
        Column("Memory", "Mean of the largest memory of a run"),
        Column("Trained", "Parameters that the optimiser could change; training examples seen, with repetition"),
    )


def _method_row(c: Comparison, metric: Metric, optional: _Optional, *, is_top: bool) -> tuple[Cell, ...]:
    return (
        Cell(tick_name(c.method), f"from {c.source}" if c.source else ""),
        Cell(metric.shown(c.score.value), _interval_detail(c, metric), "best" if is_top else ""),
        *((Cell(f"{c.r2.value:.3f}" if c.r2 else "–"),) if optional.r2 else ()),
        *((_percent(c.micro_f1), _percent(c.exact_match)) if optional.labels else ()),
        *((_percent(c.mean_iou),) if optional.masks else ()),
        *((Cell(f"{c.angular_error.value:.1f}°" if c.angular_error else "–"),) if optional.directions else ()),
        _gain(c, metric),
        _call(c),
        Cell(probability_words(c.facts.chance), tone="best" if is_top else "", value=c.facts.chance),
        _over_scratch(c, metric),
        *((_kept(c, metric),) if optional.source else ()),
        _time(c),
        Cell(memory(c.cost.peak_memory), value=c.cost.peak_memory),
        Cell(
            f"{large_count(c.cost.trained_parameters)} parameters",
            f"{large_count(c.cost.examples_seen)} examples",
            value=c.cost.trained_parameters,
        ),
    )


def _percent(share: Estimate | None) -> Cell:
    return Cell("–" if share is None else f"{100 * share.value:.1f} %")


def _interval_detail(c: Comparison, metric: Metric) -> str:
    alike = ["the same in all seeds"] if c.all_alike else []
    if c.interval is None:
        return alike[0] if alike else f"2 seeds, sd {_sd(c, metric)}" if c.score.n == 2 else ""
    sd = [f"sd {_sd(c, metric)}"] if c.interval_over == "seeds" else alike
    return ", ".join([metric.shown_interval(c.interval), *sd])


def _sd(c: Comparison, metric: Metric) -> str:
    return metric.number(c.score.sd)


def _gain(c: Comparison, metric: Metric) -> Cell:
    gain = c.facts.gain
    if gain is None:
        return Cell("–")
    detail = ""
    if gain.low is not None and gain.high is not None:
        detail = f"{metric.points(gain.low)} to {metric.points(gain.high)}"
    return Cell(metric.points(gain.value), detail, value=gain.value)


def _call(c: Comparison) -> Cell:
    facts = c.facts
    tones: dict[str, Tone] = {"better": "positive", "worse": "negative", "": "baseline"}
    said = "unstable" if facts.unstable else "unfinished" if facts.unfinished else ""
    return Cell(facts.call or "no source", facts.why or said, tones.get(facts.call, "undecided"))


def _over_scratch(c: Comparison, metric: Metric) -> Cell:
    if c.over_scratch is None:
        return Cell("–")
    ends = c.over_scratch.interval
    detail = metric.shown_difference_interval(ends) if ends else ""
    return Cell(metric.shown_difference(c.over_scratch.value), detail)


def _time(c: Comparison) -> Cell:
    """Time with the pre-training, of which there may be none, or one that nobody measured."""
    own, before = c.cost.seconds, c.cost.pretraining_seconds
    if math.isnan(before):
        return Cell(duration(own), "pre-training unknown", value=own)
    return Cell(duration(own + before), f"pre-training {duration(before)}" if before else "", value=own + before)


def _kept(c: Comparison, metric: Metric) -> Cell:
    if c.source_kept is None:
        return Cell("–")
    if c.forgetting is None:
        return Cell(metric.shown(c.source_kept.value))
    change = metric.shown_difference(-c.forgetting.value)
    unchanged = metric.shown_difference(0.0)
    words = "unchanged" if change.lstrip("+−-") == unchanged.lstrip("+−-") else "forgotten"
    if words == "forgotten" and c.forgetting.value < 0:
        words = "gained"
    return Cell(metric.shown(c.source_kept.value), words if words == "unchanged" else f"{change} {words}")


def _seed_notes(summary: Summary, group: Sequence[Comparison]) -> list[Text]:
    """Which methods lack seeds, and what was done about it."""
    seeds = set(summary.frames.seeds)
    lacking = [f"{candidate_tick(c)} ({len(c.seeds)})" for c in group if set(c.seeds) < seeds]
    if not lacking:
        return []
    return [
        Text(
            f"Fewer seeds than the study's {len(seeds)}: {listed(_named(lacking))}.",
            "note",
        )
    ]


def _how_to_read(summary: Summary) -> str:
    n_test = 0 if summary.frames.test_labels is None else len(summary.frames.test_labels)
    examples = f" of {n_test:,} examples" if n_test else ""
    lonely = [c for c in summary.comparisons if len(c.seeds) == 1]
    if len(lonely) == len(summary.comparisons):
        return (
            f"There is one seed: intervals are 95 % intervals over test examples, for another test set{examples}. "
            "Nothing can be said about the spread between runs."
        )
    alike = any(c.all_alike and c.interval for c in summary.comparisons)
    over_examples = [*["there is one seed"] * bool(lonely), *["all seeds came out the same"] * alike]
    except_for = f" (over test examples where {' or '.join(over_examples)})" if over_examples else ""
    of_labels = (
        "Average precision is the mean over the labels of the area below the precision-recall curve, which takes no "
        "threshold and counts a rare label as much as a frequent one; a label that no test example has is left out. "
        if summary.frames.metric == AVERAGE_PRECISION
        else ""
    )
    return (
        f"{of_labels}"
        f"Intervals of scores are 95 % t-intervals over seeds{except_for}; with two seeds there is none. They say what "
        f"other seeds, with other target labels, would give on this test set{examples}.{_other_test_set(summary)} "
        "Gains are over the best arm without a source; their intervals hold for all arms with a source at once, and "
        "however many seeds are added after a look. The chance is that of being within the margin of the best arm, a "
        f"share of draws of all means with their errors.{_unsearched(summary)}"
    )


def _unsearched(summary: Summary) -> str:
    if any(summary.frames.method_cells["tuning"]):
        return ""
    return " No settings were searched: every method ran with those of the study file, which need not suit all alike."


def _other_test_set(summary: Summary) -> str:
    widths = [c.test_interval.high - c.test_interval.low for c in summary.comparisons if c.test_interval]
    if not widths:
        return ""
    half = f"{50 * max(widths):.1f} points" if summary.frames.metric.higher_is_better else f"{max(widths) / 2:.2g}"
    return f" On another test set of this size all scores may move by up to {half} (95 %)."


def gaps_section(summary: Summary) -> Section | None:
    """Missing cells and failures; None for a complete study."""
    cells = summary.frames.cells
    failed = cells[cells["state"] == "failed"]
    missing = cells[~cells["state"].isin(["done", "failed"])]
    if failed.empty and missing.empty:
        return None
    blocks = [*_missing(missing), *_failures(failed)]
    return Section("Missing and failed", "gaps", tuple(blocks), _failure_files(failed))


def _failure_files(failed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    columns = ["role", *LABELS, "failure_kind", "failure_message", "failure_details"]
    return {} if failed.empty else {"failures": failed[columns]}


def _missing(missing: pd.DataFrame) -> list[Block]:
    if missing.empty:
        return []
    kinds = ["role", "source", "method", "diagnostic", "n_target", "state"]
    counts = missing.groupby(kinds, sort=False).size().reset_index(name="n")
    rows = tuple(
        (
            Cell(_what(row)),
            Cell(f"{row['n_target']:,}" if row["n_target"] else "–"),
            Cell(_STATE_WORDS.get(str(row["state"]), str(row["state"]))),
            Cell(str(row["n"])),
        )
        for _, row in counts.head(_MOST_ROWS).iterrows()
    )
    columns = (Column("Cell", numeric=False), Column("Labels"), Column("State", numeric=False), Column("Cells"))
    return [
        Text(f"{counted(len(missing), 'cell')} not done yet; run the study again and only these are done."),
        Table(columns, rows),
    ]


def _failures(failed: pd.DataFrame) -> list[Block]:
    if failed.empty:
        return []
    blocks: list[Block] = [
        Text(f"{counted(len(failed), 'cell')} failed; `transferscope run STUDY.toml --retry-failed` does them again.")
    ]
    for _, row in failed.head(_MOST_ROWS).iterrows():
        blocks.extend(_failure(row))
    if len(failed) > _MOST_ROWS:
        blocks.append(Text(f"The other {len(failed) - _MOST_ROWS:,} failures are in the file failures.csv."))
    return blocks


def _failure(row: pd.Series) -> list[Block]:
    where = f"{row['n_target']:,} labels, seed {row['seed']}" if row["n_target"] else f"seed {row['seed']}"
    kind = str(row["failure_kind"]).replace("_", " ")
    said = Text(f"{_what(row)}, {where} ({kind}): {row['failure_message']}", "warning")
    details = str(row["failure_details"])
    return [said, Folded("Details", (Listing(details),))] if details else [said]


def _what(row: pd.Series) -> str:
    network = candidate_words(row["method"] or row["role"], row["source"] or None)
    return capitalised(f"{row['diagnostic']} of {network}" if row["diagnostic"] else network)


def origins_section(summary: Summary) -> Section:
    """The study file, data, versions and machine as the store has them."""
    study = summary.frames.study
    facts = dict(study.facts)
    all_seeds = summary.frames.seeds
    seeds = (
        f"seeds {listed([str(seed) for seed in all_seeds])}"
        if len(all_seeds) <= _MOST_SEEDS
        else f"{len(all_seeds):,} seeds from {all_seeds[0]} to {all_seeds[-1]}"
    )
    blocks: list[Block] = [Text(f"Study {study.name}, first planned {study.created}; {seeds}.")]
    if "precision" in facts:
        blocks.append(Text(f"Precision: {precision_in_words(facts['precision'])}."))
    data = _data_table(facts)
    if data.rows:
        blocks.append(data)
    blocks.extend(_columns_of_tables(facts))
    blocks.append(Folded("Settings (the validated study file)", (Listing(_pretty(study.spec)),)))
    blocks.append(Folded("All facts: data, versions, machine", (_facts_table(facts),)))
    return Section("Where this comes from", "origins", tuple(blocks))


def _data_table(facts: Mapping[str, object]) -> Table:
    """The target and every source, one row each."""
    rows = []
    target, sources = facts.get("target"), facts.get("sources")
    if isinstance(target, Mapping):
        rows.append(_data_row("target", target))
    if isinstance(sources, Mapping):
        rows.extend(_data_row(f"source {name}", entry) for name, entry in sources.items() if isinstance(entry, Mapping))
    titles = ("Data", "Training examples", "Test examples", "Licence", "Address or file", "Checksum of the content")
    columns = tuple(Column(title, numeric="examples" in title) for title in titles)
    return Table(columns, tuple(rows), "Data")


def _columns_of_tables(facts: Mapping[str, object]) -> Iterator[Folded]:
    """What each column of a user's tables became, folded; that of the target, whose features the sources share."""
    target = facts.get("target")
    provenance = target.get("provenance") if isinstance(target, Mapping) else None
    try:
        found = json.loads(str(provenance["columns"])) if isinstance(provenance, Mapping) else []
        rows = tuple((Cell(str(name)), Cell(str(words)), Cell(f"{int(n):,}")) for name, words, n in found)
    except (KeyError, ValueError, TypeError):  # another kind of data, or a store that somebody edited
        return
    columns = (Column("Column", numeric=False), Column("Read as", numeric=False), Column("Features"))
    note = "Decided on the training rows of the target, all of them, and on no label; sources share it."
    yield Folded("What the columns of the table became", (Table(columns, rows), Text(note, "note")))


def _data_row(role: str, entry: Mapping[str, object]) -> tuple[Cell, ...]:
    if "network" in entry:  # a file of weights
        weights = Cell(weights_in_words(entry))
        return Cell(role), Cell("–"), Cell("–"), Cell("–"), weights, Cell(str(entry["network"]))
    provenance = entry.get("provenance")
    origin = provenance if isinstance(provenance, Mapping) else {}
    understood = data_in_words(entry)
    address = origin.get("address") or origin.get("spec") or "–"
    return (
        Cell(str(entry.get("name", role)), f"{role}: {understood}" if understood else role),
        Cell(_count(entry.get("n_train"))),
        Cell(_count(entry.get("n_test"))),
        Cell(str(origin.get("licence", "–"))),
        Cell(str(address), str(origin.get("transforms", ""))),
        Cell(str(entry.get("fingerprint", "–"))),
    )


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "–"


def _facts_table(facts: Mapping[str, object]) -> Table:
    rows = tuple((Cell(key), Cell(value)) for key, value in _flattened(facts))
    return Table((Column("Fact", numeric=False), Column("Value", numeric=False)), rows)


def _flattened(facts: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{path}.")
        elif isinstance(value, list | tuple):
            yield path, ", ".join(str(item) for item in value)
        else:
            yield path, str(value)


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
