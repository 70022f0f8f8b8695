"""Why: the diagnostics of the trained networks, method beside method, and what goes with the transfer."""

import math
from collections.abc import Sequence

from transferscope.numerics.intervals import MeanSummary
from transferscope.report.blocks import Block, Cell, Column, Folded, Section, Table, Text
from transferscope.report.diagnosis import Diagnosis, Reading, diagnoses_of
from transferscope.report.figures.choice import tick_name
from transferscope.report.figures.diagnostics import draw_along_training, draw_diagnoses
from transferscope.report.results import Summary
from transferscope.report.wording import candidate_words, capitalised, counted, listed


def diagnostics_section(summary: Summary) -> Section | None:
    """The diagnostics at the largest number of labels; None for a study without any."""
    n_target = summary.frames.sizes[-1]
    found = diagnoses_of(summary, n_target)
    if not found:
        return None
    along = draw_along_training(summary, found, n_target)
    blocks: list[Block] = [
        Text(f"What the trained networks look like, with {counted(n_target, 'label')}: what goes with good transfer."),
        *(Text(_in_words(diagnosis)) for diagnosis in found),
        Text(_HOW_TO_READ, "note"),
        draw_diagnoses(summary, found, n_target),
        _table(found),
        *([along] if along else []),
        *(_meaning(diagnosis) for diagnosis in found),
    ]
    return Section("Why", "diagnostics", tuple(blocks))


_HOW_TO_READ = (
    "Lower and higher: the ratio to training from scratch on the same seeds has a 95 % interval that excludes 1; these "
    "are not corrected for how many were looked at. Rank correlation: Spearman's, over the networks of one seed, then "
    "averaged over seeds. What goes together need not be a cause."
)


def _in_words(diagnosis: Diagnosis) -> str:
    """How the networks differ in one diagnostic, and whether it goes with the risk."""
    parts = [part for part in (_against_scratch(diagnosis.readings), _goes_with_risk(diagnosis.correlation)) if part]
    said = "; ".join(parts) if parts else _range(diagnosis.readings)
    return f"{capitalised(diagnosis.title)}: {said}."


def _against_scratch(readings: Sequence[Reading]) -> str:
    compared = [reading for reading in readings if reading.against_scratch is not None]
    if not compared:
        return ""
    groups: dict[str, list[str]] = {"lower": [], "higher": [], "the same within the noise": []}
    for reading in compared:
        groups[_side(reading.against_scratch)].append(_ratio_words(reading))
    return "; ".join(
        f"{side} than from scratch for {listed(names)}"
        if side != "the same within the noise"
        else f"not told apart from scratch for {listed(names)}"
        for side, names in groups.items()
        if names
    )


def _side(ratio: MeanSummary | None) -> str:
    if ratio is None or ratio.interval is None or not ratio.interval.excludes(0.0):
        return "the same within the noise"
    return "lower" if ratio.mean < 0 else "higher"


def _ratio_words(reading: Reading) -> str:
    ratio = reading.against_scratch
    assert ratio is not None
    c = reading.comparison
    return f"{candidate_words(c.method, c.source)} (×{number(math.exp(ratio.mean))})"


def _goes_with_risk(correlation: MeanSummary | None) -> str:
    if correlation is None:
        return ""
    interval, value = correlation.interval, f"rank correlation {correlation.mean:.2f}"
    if interval is None or correlation.sd == 0:
        return f"{value} with the target risk".replace("-", "−")
    width = f"({max(-1.0, interval.low):.2f} to {min(1.0, interval.high):.2f})"
    trend = "it rises with the target risk" if correlation.mean > 0 else "it falls as the target risk rises"
    said = trend if interval.excludes(0.0) else "no sure relation to the target risk"
    return f"{said}, {value} {width}".replace("-", "−")


def _range(readings: Sequence[Reading]) -> str:
    ordered = sorted(readings, key=lambda reading: reading.over_seeds.mean)
    low, high = ordered[0], ordered[-1]
    if low.over_seeds.mean == high.over_seeds.mean:
        return f"{number(low.over_seeds.mean)} throughout"
    named = [
        f"{number(r.over_seeds.mean)} for {candidate_words(r.comparison.method, r.comparison.source)}"
        for r in (low, high)
    ]
    return f"from {named[0]} to {named[1]}"


def _table(found: Sequence[Diagnosis]) -> Table:
    """A row for each method and source, a column for each diagnostic."""
    columns = (Column("Method", numeric=False), *(Column(capitalised(d.title), d.limits) for d in found))
    readings = {(r.comparison.method, r.comparison.source): r.comparison for d in found for r in d.readings}
    rows = tuple(
        (
            Cell(tick_name(method), f"from {source}" if source else "", "baseline" if c.call == "baseline" else ""),
            *(_cell(d, method, source) for d in found),
        )
        for (method, source), c in readings.items()
    )
    return Table(columns, rows, "Mean over seeds of each diagnostic's headline, with its 95 % interval")


def _cell(diagnosis: Diagnosis, method: str, source: str | None) -> Cell:
    for reading in diagnosis.readings:
        if (reading.comparison.method, reading.comparison.source) == (method, source):
            interval = reading.over_seeds.interval
            detail = "" if interval is None else f"{number(interval.low)} to {number(interval.high)}"
            return Cell(number(reading.over_seeds.mean), detail)
    return Cell("–")


def number(value: float) -> str:
    """Three digits, thousands in full, with a real minus: "0.0546", "−1.2", "2,358"."""
    words = f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return words.replace("-", "−")


def _meaning(diagnosis: Diagnosis) -> Folded:
    said = [
        Text(f"{capitalised(candidate_words(r.comparison.method, r.comparison.source))}: {r.sentence}")
        for r in diagnosis.readings
        if r.sentence
    ]
    title = f"{capitalised(diagnosis.title)}: what it means"
    return Folded(title, (*said, Text(f"What it cannot tell: {diagnosis.limits}", "note")))
