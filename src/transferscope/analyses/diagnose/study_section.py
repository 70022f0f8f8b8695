"""Why: the diagnostics of the trained networks, method beside method, and what goes with the transfer."""

import math
from collections.abc import Sequence

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.diagnose.study import Diagnosis, Reading, diagnoses_of
from transferscope.analyses.diagnose.study_figures import draw_along_training, draw_diagnoses
from transferscope.analyses.diagnose.words import change_clause, fact_words, left_out_words
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Cell, Column, Folded, Section, Table, Text
from transferscope.report.figures.choice import tick_name
from transferscope.report.page import Part
from transferscope.wording import candidate_words, capitalised, counted, listed
from transferscope.wording import number_words as number


def study_part(summary: Summary) -> Part | None:
    """The diagnostics at the largest number of labels, for the page of a study; None for a study without any."""
    n_target = summary.frames.sizes[-1]
    found = diagnoses_of(summary, n_target)
    if not found:
        return None
    along = draw_along_training(summary, found, n_target)
    blocks: list[Block] = [
        *(Text(_in_words(diagnosis)) for diagnosis in found),
        Text(_how_to_read(found), "note"),
        draw_diagnoses(summary, found, n_target),
        _table(found),
        *([along] if along else []),
        *(_meaning(diagnosis) for diagnosis in found),
    ]
    sentence = f"What the trained networks look like, with {counted(n_target, 'label')}: what goes with good transfer."
    return Part("why", sentence, (Section("Diagnostics of the trained networks", "diagnostics", tuple(blocks)),))


def _how_to_read(found: Sequence[Diagnosis]) -> str:
    """What the words above stand for, as far as they occur."""
    notes = []
    if any(reading.against_scratch is not None for d in found for reading in d.readings):
        notes.append(
            "Lower and higher: the ratio to training from scratch on the same seeds has a 95 % interval that excludes "
            "1; these are not corrected for how many were looked at."
        )
    if any(diagnosis.correlation is not None for diagnosis in found):
        notes.append(
            "Rank correlation: Spearman's, over the networks of one seed, then averaged over seeds. What goes together "
            "need not be a cause."
        )
    return " ".join(notes) or "Means over seeds; one method alone says little about what good transfer takes."


def _in_words(diagnosis: Diagnosis) -> str:
    """How the networks differ in one diagnostic, and whether it goes with the risk."""
    parts = [part for part in (_against_scratch(diagnosis.readings), _goes_with_risk(diagnosis.correlation)) if part]
    said = "; ".join(parts) if parts else _range(diagnosis)
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
        else f"not distinguishable from scratch for {listed(names)}"
        for side, names in groups.items()
        if names
    )


def _side(ratio: Estimate | None) -> str:
    if ratio is None or ratio.interval is None or not ratio.interval.excludes(0.0):
        return "the same within the noise"
    return "lower" if ratio.value < 0 else "higher"


def _ratio_words(reading: Reading) -> str:
    ratio = reading.against_scratch
    assert ratio is not None
    c = reading.comparison
    return f"{candidate_words(c.method, c.source)} (×{number(math.exp(ratio.value))})"


def _goes_with_risk(correlation: Estimate | None) -> str:
    if correlation is None:
        return ""
    interval, value = correlation.interval, f"rank correlation {correlation.value:.2f}"
    if interval is None or correlation.sd == 0:
        return f"{value} with the target risk".replace("-", "−")
    width = f"({max(-1.0, interval.low):.2f} to {min(1.0, interval.high):.2f})"
    trend = "it rises with the target risk" if correlation.value > 0 else "it falls as the target risk rises"
    said = trend if interval.excludes(0.0) else "no sure relation to the target risk"
    return f"{said}, {value} {width}".replace("-", "−")


def _range(diagnosis: Diagnosis) -> str:
    ordered = sorted(diagnosis.readings, key=lambda reading: reading.over_seeds.value)
    low, high = ordered[0], ordered[-1]
    if low.over_seeds.value == high.over_seeds.value:
        return f"{number(low.over_seeds.value, share=diagnosis.known.share)} throughout"
    named = [
        f"{number(reading.over_seeds.value, share=diagnosis.known.share)} for "
        f"{candidate_words(reading.comparison.method, reading.comparison.source)}"
        for reading in (low, high)
    ]
    return f"from {named[0]} to {named[1]}"


def _table(found: Sequence[Diagnosis]) -> Table:
    """A row for each method and source, a column for each diagnostic."""
    columns = (Column("Method", numeric=False), *(Column(capitalised(d.title), d.known.limits) for d in found))
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
            mean, *ends = (
                number(value, share=diagnosis.known.share)
                for value in (reading.over_seeds.value, *((interval.low, interval.high) if interval else ()))
            )
            return Cell(mean, " to ".join(ends))
    return Cell("–")


def _meaning(diagnosis: Diagnosis) -> Folded:
    title = f"{capitalised(diagnosis.title)}: what it means"
    sentences = (*meaning_of(diagnosis), diagnosis.note or left_out_words(diagnosis.left_out))
    limits = [Text(f"What it cannot tell: {diagnosis.known.limits}", "note")] if diagnosis.known.limits else []
    return Folded(title, (*(Text(sentence) for sentence in sentences if sentence), *limits))


def meaning_of(diagnosis: Diagnosis) -> list[str]:
    """What the means over seeds, those of the table, imply for each network: its end, from its start where measured.

    Returns:
        The numbers in one sentence, and what they imply in another, each implication once.
    """
    known, numbers = diagnosis.known, []
    implied: dict[str, list[str]] = {}
    for reading in diagnosis.readings:
        name = candidate_words(reading.comparison.method, reading.comparison.source)
        end = reading.over_seeds.value
        start = None if reading.at_start is None or not known.lower else reading.at_start.value
        before = "" if start is None else f", {number(start, share=known.share)} at the start"
        numbers.append(f"{number(end, share=known.share)} ({name}{before})")
        implied.setdefault(change_clause(known, end, start), []).append(name)
    said = [f"{fact_words(known, listed(numbers))}."]
    clauses = [f"{clause} ({listed(names)})" for clause, names in implied.items() if clause]
    return [*said, f"{capitalised('; '.join(clauses))}."] if clauses else said
