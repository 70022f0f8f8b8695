"""Every arm at every number of labels, as one table: its score, and below it the gain with its interval."""

import math

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Cell, Column, Table, Tone
from transferscope.wording import capitalised, probability_words, sizes_in_words

Row = tuple[str, tuple[str, str] | None]
"""A name with one arm at all numbers of labels, or a heading."""

_MOST_GROUPS = 3
_SIGNS = {"better": " ✓", "worse": " ✗"}


def arm_rows(summary: Summary, most: float = math.inf, *, most_groups: float = _MOST_GROUPS) -> tuple[list[Row], str]:
    """Return arms under a heading for each source, or one for many sources; baselines first; of very many the best."""
    shown = list(summary.frames.arms)
    if len(shown) > most:
        decided = summary.decided.values()
        named = {name for one in decided for name in (one.recommended, one.best_transfer_arm, one.best_baseline)}
        kept = {c.arm for c in summary.comparisons if c.facts.name in named}
        shown = [arm for i, arm in enumerate(shown) if i < most - len(kept) or arm in kept]
    unnamed, sources = summary.frames.source_unnamed, list(summary.frames.sources)
    groups = {"Baselines": [arm for arm in shown if not arm[0] and arm[1] not in unnamed]}
    if len(sources) > most_groups:
        groups["Transfer arms"] = [arm for arm in shown if arm not in groups["Baselines"]]
    else:
        groups["Transfer arms"] = [arm for arm in shown if not arm[0] and arm[1] in unnamed]
        groups |= {f"From {source}": [arm for arm in shown if arm[0] == source] for source in sources}
    rows: list[Row] = []
    for heading, own in groups.items():
        if own:
            mixed, name_of = heading == "Transfer arms", summary.frames.name_of
            rows += [(heading, None), *((name_of(arm[0] if mixed else "", arm[1]), arm) for arm in own)]
    left_out = len(summary.frames.arms) - len(shown)
    return rows, f" {left_out:,} arms that score lower are in the CSV." if left_out else ""


def grid_of(summary: Summary) -> Table:
    """Return one row per arm below a heading for each source, and one column per number of labels.

    Background colours show the gain over the best baseline, relative to the largest one.
    """
    decided, metric = summary.decided, summary.frames.metric
    by_arm = {(*c.arm, c.n_target): c for c in summary.comparisons}
    gains = [abs(c.facts.gain.value) for c in summary.comparisons if c.facts.gain is not None]
    widest = max(gains, default=0.0) or 1.0
    rows: list[tuple[Cell, ...]] = []
    for name, arm in arm_rows(summary, most_groups=math.inf)[0]:
        cells = () if arm is None else tuple(_cell(summary, by_arm.get((*arm, n)), widest) for n in decided)
        rows.append((Cell(name, tone="group" if arm is None else ""), *cells))
    confidence = probability_words(min(one.confidence for one in decided.values()))
    caption = (
        f"{capitalised(metric.name)}, and below it the gain over the best baseline (simultaneous {confidence} CI). "
        "✓ ✗: significantly better or worse. Blue: above the best baseline; brown: below. Bold: recommended."
    )
    columns = (
        Column("Arm", numeric=False),
        *(Column(words, labels=words) for n in decided if (words := sizes_in_words([n]))),
    )
    return Table(columns, tuple(rows), caption, of_arms=True)


def _cell(summary: Summary, c: Comparison | None, widest: float) -> Cell:
    if c is None or c.facts.mean is None:
        return Cell("–")
    metric, gain = summary.frames.metric, c.facts.gain
    level, recommended = metric.level(c.facts.mean), summary.decided[c.n_target].recommended == c.facts.name
    tone: Tone = "best" if recommended else ""
    if gain is None:
        return Cell(level, tone=tone)
    ends = "" if gain.low is None or gain.high is None else f", {metric.points(gain.low)} to {metric.points(gain.high)}"
    sign = _SIGNS.get(c.facts.call, "")
    return Cell(level, f"{metric.points(gain.value)}{ends}{sign}", tone=tone, shade=gain.value / widest)
