"""The tables of a comparison: all arms, what is missing or failed, and where the numbers come from."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import pandas as pd

from transferscope.analyses.compare.comparison import MEASURES, Comparison
from transferscope.analyses.compare.settings import chosen_settings, searches
from transferscope.analyses.compare.statements import notes
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.words import seeds_in_words, words_of
from transferscope.report.blocks import Block, Cell, Column, Folded, Listing, Points, Section, Table, Text, Tone
from transferscope.statements import state
from transferscope.study.frames import LABELS, StudyFrames
from transferscope.study.measure import Measure
from transferscope.wording import (
    capitalised,
    counted,
    duration,
    precision_in_words,
    probability_words,
    sizes_in_words,
)

_MOST_ROWS = 100
_MOST_RUNS = 100_000
"""Most runs in a file of the page: a million would be 36 MB of text for the browser."""
_STATE_WORDS = {"blocked": "waits for a run that failed"}


def methods_section(summary: Summary) -> Section:
    """Return one table per number of labels, the smallest first, with notes."""
    tables, places = [], {arm: place for place, arm in enumerate(summary.frames.arms)}
    for size in sorted({c.n_target for c in summary.comparisons}):
        group = [c for c in summary.comparisons if c.n_target == size]
        group.sort(key=lambda c: (-math.inf if c.facts.mean is None else -c.facts.mean, places[c.arm]))
        recommended = summary.decided[size].recommended
        confidence = probability_words(summary.decided[size].confidence)
        columns, cells_of = zip(*_columns(summary.frames, group, recommended, confidence), strict=True)
        rows = tuple(tuple(cell(c) for cell in cells_of) for c in group)
        labels = sizes_in_words([size])
        tables.append(Table(columns, rows, f"{labels}, best first", labels, of_arms=True))
    words = words_of(summary.frames)
    more_said = () if chosen_settings(summary.frames) else searches(summary.frames)
    sentences = words.all_of([*notes(summary.frames, summary.decided), *more_said])
    files, runs = {"methods-table": summary.table}, summary.frames.runs
    files |= {"runs": runs} if len(runs) <= _MOST_RUNS else {}
    return Section("All arms", "methods", (*tables, Points(sentences)), files)


def paper_table(summary: Summary) -> Table:
    """Return means with CIs, one row per arm and one column per number of labels.

    The tone "best" marks the best mean of a column; signs mark arms that are significantly better or worse than the
    best baseline, and unfinished ones.
    """
    metric, sizes = summary.frames.metric.judged, summary.frames.sizes
    by_arm = {(*c.arm, c.n_target): c for c in summary.comparisons}
    n = sorted({len(c.seeds) for c in summary.comparisons})
    signs = {sign for c in summary.comparisons for sign in _signs(c)}
    symmetric = all(_is_symmetric(c, metric) for c in summary.comparisons)  # one form for all cells
    rows = []
    for source, method in summary.frames.arms:
        cells = [_paper_cell(by_arm.get((source, method, size)), summary, symmetric=symmetric) for size in sizes]
        rows.append((Cell(summary.frames.name_of(source, method)), *cells))
    caption = state(
        "paper table",
        metric=metric.name,
        unit=metric.in_caption,
        least=n[0],
        most=n[-1],
        over=sorted({c.interval_over for c in summary.comparisons if c.interval}),
        adjusted=any(c.facts.adjusted for c in summary.comparisons),
        signs=[(sign, meaning) for sign, meaning in _SIGNS.items() if sign in signs],
    )
    columns = (Column("Method", numeric=False), *(Column(sizes_in_words([size])) for size in sizes))
    return Table(columns, tuple(rows), words_of(summary.frames).say(caption))


_SIGNS = {"*": "better", "†": "worse", "‡": "unfinished"}


def _signs(c: Comparison) -> str:
    return "".join(sign for sign, meaning in _SIGNS.items() if c.facts.call == meaning) + "‡" * c.facts.unfinished


def _paper_cell(comparison: Comparison | None, summary: Summary, *, symmetric: bool) -> Cell:
    if comparison is None:
        return Cell("–")
    metric, value, interval = summary.frames.metric.judged, comparison.score.value, comparison.interval
    text = metric.number(value, like=value)
    if interval is not None and symmetric:
        text += f" ± {metric.number(interval.high - value, like=value)}"
    elif interval is not None:
        text += f" [{metric.number(interval.low, like=value)}, {metric.number(interval.high, like=value)}]"
    others = [c.score.value for c in summary.comparisons if c.n_target == comparison.n_target]
    best = max(others) if metric.higher_is_better else min(others)
    return Cell(f"{text}{_signs(comparison)}", tone="best" if value == best else "")


def _is_symmetric(comparison: Comparison, metric: Measure) -> bool:
    value, interval = comparison.score.value, comparison.interval
    if interval is None:
        return True
    return metric.number(value - interval.low, like=value) == metric.number(interval.high - value, like=value)


def _columns(
    frames: StudyFrames, group: Sequence[Comparison], recommended: str | None, confidence: str
) -> Iterator[tuple[Column, Callable[[Comparison], Cell]]]:
    metric, judged, most = frames.metric, frames.metric.judged, max(c.facts.n_seeds for c in group)

    def arm(c: Comparison) -> Cell:
        return Cell(frames.tick_name(c.method), f"from {c.source}" if c.source else "")

    def best(c: Comparison) -> Tone:
        return "best" if c.facts.name == recommended else ""

    def of_measure(name: str, shown: Callable[[float], str]) -> Callable[[Comparison], Cell]:
        return lambda c: Cell("–" if (one := c.measures[name]) is None else shown(one.value))

    yield Column("Method", numeric=False), arm
    yield (
        Column(judged.name, "Mean on the target test set, its 95 % CI, and the standard deviation over seeds"),
        lambda c: Cell(judged.shown(c.score.value), _interval_detail(c, judged, most), best(c)),
    )
    for name, (heading, meaning, shown) in MEASURES.items():
        if any(c.measures[name] for c in group):
            yield Column(heading, meaning), of_measure(name, shown)
    yield (
        Column(
            f"Over the best baseline ({metric.gain_unit})",
            f"Gain over the best baseline with its {confidence} CI, which holds for all arms and any number of seeds; "
            "better or worse: the CI excludes 0. Not tested: too few seeds, unstable, or a baseline could still rise",
        ),
        lambda c: _gain(c, metric),
    )
    yield (
        Column("Chance", "Probability of being within the margin of the best arm"),
        lambda c: Cell(
            probability_words(c.facts.chance) if c.facts.n_seeds > 1 else "–", tone=best(c), value=c.facts.chance
        ),
    )
    if any(c.facts.shortfall is not None and c.facts.n_seeds > 1 for c in group):
        yield (
            Column(
                f"Expected loss ({metric.gain_unit})",
                "What choosing this arm is expected to lose against the best one, and at most with 90 %",
            ),
            lambda c: _loss(c, metric),
        )
    if any(c.over_scratch for c in group):
        yield (
            Column("Over scratch", "Transferability: difference on the same seeds and labels, with its 95 % CI"),
            lambda c: _over_scratch(c, metric),
        )
    if any(c.source_kept for c in group):
        yield (
            Column("Source kept", f"{metric.name} on the source test set after transfer, and its change by it"),
            lambda c: _kept(c, metric),
        )
    if all(math.isnan(c.cost.total) for c in group):
        return
    yield (
        Column("Time", "Mean of a run with its search for settings and the pretraining that it shares with others"),
        _time,
    )


def _interval_detail(c: Comparison, metric: Measure, most: int) -> str:
    """Return CI and standard deviation, with the number of seeds if others have more."""
    n = c.facts.n_seeds
    told = [counted(n, "seed")] if n < most or (n == 2 and c.interval is None and not c.all_alike) else []
    if c.facts.adjusted:
        told = [f"adjusted for missing seeds ({seeds_in_words(n, most)})"]
    told += [metric.shown_interval(c.interval)] if c.interval else []
    has_sd = c.interval_over == "seeds" if c.interval else n == 2
    return ", ".join(
        [*told, *(["the same in all seeds"] if c.all_alike else [f"sd {metric.number(c.score.sd)}"] if has_sd else [])]
    )


def _loss(c: Comparison, metric: Measure) -> Cell:
    """Return the expected loss of choosing an arm, with its 90 % bound; a dash if seeds do not determine it."""
    lost, most = c.facts.shortfall, c.facts.at_most
    if lost is None or most is None or c.facts.n_seeds < 2:
        return Cell("–")
    shown, least = (metric.points(one).lstrip("+") for one in (lost, most))
    return Cell(shown, f"at most {least}", value=lost)


def _gain(c: Comparison, metric: Measure) -> Cell:
    facts, gain = c.facts, c.facts.gain
    why = facts.why or ("unstable" if facts.unstable else "unfinished" if facts.unfinished else "")
    if gain is None:
        return Cell("baseline", why, "baseline", value=math.nan)
    called = f"{facts.call}: {why}" if why else facts.call
    ends = "" if gain.low is None or gain.high is None else f"{metric.points(gain.low)} to {metric.points(gain.high)}, "
    tones: dict[str, Tone] = {"better": "positive", "worse": "negative"}
    return Cell(metric.points(gain.value), f"{ends}{called}", tones.get(facts.call, "undecided"), value=gain.value)


def _over_scratch(c: Comparison, metric: Measure) -> Cell:
    if c.over_scratch is None:
        return Cell("–")
    ends = c.over_scratch.interval
    detail = metric.shown_difference_interval(ends) if ends else ""
    return Cell(metric.shown_difference(c.over_scratch.value), detail)


def _time(c: Comparison) -> Cell:
    """Return the time including pretraining, which may be absent or unknown."""
    own, before = c.cost.seconds, c.cost.pretraining_seconds
    if math.isnan(before):
        return Cell(duration(own), "pretraining unknown", value=own)
    return Cell(duration(own + before), f"pretraining {duration(before)}" if before else "", value=own + before)


def _kept(c: Comparison, metric: Measure) -> Cell:
    if c.source_kept is None:
        return Cell("–")
    if c.forgetting is None:
        return Cell(metric.shown(c.source_kept.value))
    return Cell(metric.shown(c.source_kept.value), metric.shown_difference(0.0 - c.forgetting.value))


def gaps_section(summary: Summary) -> Section | None:
    """Return a section on missing runs and failures; None for a complete study."""
    cells = summary.frames.cells
    failed = cells[cells["state"] == "failed"]
    missing = cells[~cells["state"].isin(["done", "failed"])]
    if failed.empty and missing.empty:
        return None
    blocks = [*_missing(missing, summary.frames), *_failures(failed, summary.frames)]
    columns = ["role", *LABELS, "failure_kind", "failure_message", "failure_details"]
    files = {} if failed.empty else {"failures": failed[columns]}
    return Section("Missing and failed", "gaps", tuple(blocks), files)


def _missing(missing: pd.DataFrame, frames: StudyFrames) -> list[Block]:
    if missing.empty:
        return []
    kinds = ["role", "source", "method", "diagnostic", "n_target", "state"]
    counts = missing.groupby(kinds, sort=False).size().reset_index(name="n")
    rows = tuple(
        (
            Cell(_what(row, frames)),
            Cell(f"{row['n_target']:,}" if row["n_target"] else "–"),
            Cell(_STATE_WORDS.get(str(row["state"]), str(row["state"]))),
            Cell(str(row["n"])),
        )
        for _, row in counts.head(_MOST_ROWS).iterrows()
    )
    columns = (Column("Run", numeric=False), Column("Labels"), Column("State", numeric=False), Column("Runs"))
    return [Table(columns, rows)]


def _failures(failed: pd.DataFrame, frames: StudyFrames) -> list[Block]:
    if failed.empty:
        return []
    groups = [rows for _, rows in failed.groupby("failure_message", sort=False)]
    blocks: list[Block] = []
    for rows in groups[:_MOST_ROWS]:
        blocks.extend(_failure(rows.iloc[0], frames, others=len(rows) - 1))
    if others := sum(map(len, groups[_MOST_ROWS:])):
        blocks.append(Text(f"The other {counted(others, 'failure')} are in the file failures.csv."))
    return blocks


def _failure(row: pd.Series, frames: StudyFrames, *, others: int) -> list[Block]:
    """Return one error message, with the first run that it occurred in."""
    where = f"{row['n_target']:,} labels, seed {row['seed']}" if row["n_target"] else f"seed {row['seed']}"
    kind = str(row["failure_kind"]).replace("_", " ")
    more = f", and {counted(others, 'other')}" if others else ""
    message = Text(f"{_what(row, frames)}, {where}{more} ({kind}): {row['failure_message']}", "warning")
    details = str(row["failure_details"])
    return [message, Folded("Details", (Listing(details),))] if details else [message]


def _what(row: pd.Series, frames: StudyFrames) -> str:
    method = "pretraining" if row["role"] == "pretrain" else row["method"] or row["role"]
    if row["diagnostic"]:
        return capitalised(f"{row['diagnostic']} of {frames.in_prose(method, row['source'])}")
    return (
        capitalised(frames.in_prose(method, row["source"]))
        if row["role"] == "pretrain"
        else frames.at_start(method, row["source"])
    )


def origins_section(summary: Summary) -> Section:
    """Return versions and machine, training settings, and column encodings; all facts and settings as a file."""
    study = summary.frames.study
    network, facts = study.spec.get("network"), study.facts
    origin = state(
        "planned",
        created=study.created,
        seeds=summary.frames.seeds,
        network=network.get("name") if isinstance(network, Mapping) else None,
        trained=list(_trained(study.spec)),
        versions=[f"{name} {version}" for name, version in facts.get("versions", {}).items()],
    )
    blocks: list[Block] = [Text(words_of(summary.frames).say(origin))]
    if "precision" in facts:
        blocks.append(Text(f"Precision: {precision_in_words(facts['precision'])}."))
    blocks.extend(_recipes(summary.frames))
    blocks.extend(_columns_of_tables(facts))
    rows = [*_flattened(study.spec, "settings."), *_flattened(facts)]
    return Section(
        "Where this comes from", "origins", tuple(blocks), {"study": pd.DataFrame(rows, columns=["name", "value"])}
    )


def _trained(spec: Mapping[str, object]) -> Iterator[tuple[object, ...]]:
    """Yield name, length with its unit, batch size, optimiser and learning rate of each training."""
    for name in ("pretraining", "training"):
        table = spec.get(name)
        unit = next((u for u in ("steps", "epochs") if table.get(u)), None) if isinstance(table, Mapping) else None
        if isinstance(table, Mapping) and unit is not None:
            yield name, table[unit], unit, *(table.get(key) for key in ("batch_size", "optimiser", "lr"))


def _recipes(frames: StudyFrames) -> Iterator[Folded]:
    """Yield the recipe of each arm, from the facts of the plan, which may be unreadable in an edited store."""
    rows = []
    for row in frames.study.facts.get("recipes") or ():
        with suppress(KeyError, TypeError, ValueError):
            arm = frames.at_start(str(row["method"]), str(row["source"] or ""))
            labels = ", ".join(f"{int(n):,}" for n in row["labels"])
            rows.append((Cell(arm), Cell(labels), Cell(str(row["training"])), Cell(str(row["from"]))))
    if rows:
        columns = (
            Column("Arm", numeric=False),
            Column("Labels", numeric=False),
            Column("Trained with", numeric=False),
            Column("Recipe", "Whose defaults these are; what the study file says wins over them", numeric=False),
        )
        yield Folded("How each arm was trained", (Table(columns, tuple(rows)),))


def _columns_of_tables(facts: Mapping[str, object]) -> Iterator[Folded]:
    """Yield the encoding of each column of a user's tables, collapsed; that of the target, which the sources share."""
    target = facts.get("target")
    provenance = target.get("provenance") if isinstance(target, Mapping) else None
    try:
        if not isinstance(provenance, Mapping):
            return
        by_table = json.loads(str(provenance["columns"]))
        rows = tuple((Cell(str(name)), Cell(str(words)), Cell(f"{int(n):,}")) for name, words, n in by_table)
    except (KeyError, ValueError, TypeError):  # another kind of data, or a store that somebody edited
        return
    columns = (Column("Column", numeric=False), Column("Read as", numeric=False), Column("Features"))
    note = "Decided on the training rows of the target, all of them, and on no label; sources share it."
    yield Folded("What the columns of the table became", (Table(columns, rows), Text(note, "note")))


def _flattened(facts: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{path}.")
        elif isinstance(value, list | tuple):
            yield path, ", ".join(str(item) for item in value)
        else:
            yield path, str(value)
