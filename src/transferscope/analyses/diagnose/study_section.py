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
    sure = [diagnosis for diagnosis in found if _is_sure(diagnosis.correlation)]
    open_ = [diagnosis for diagnosis in found if diagnosis not in sure]
    blocks: list[Block] = [
        *([_answers(sure)] if sure else []),
        *([Folded(f"Nothing follows from {counted(len(open_), 'diagnostic')}", (_answers(open_),))] if open_ else []),
        Text(_how_to_read(found), "note"),
        draw_diagnoses(summary, found, n_target),
        _table(summary, found),
        *([along] if along else []),
        *(_meaning(diagnosis) for diagnosis in found),
    ]
    section = Section("Diagnostics of the trained networks", "diagnostics", tuple(blocks))
    return Part("why", _in_a_sentence(found, sure, n_target), (section,))


def _is_sure(correlation: Estimate | None) -> bool:
    """Whether a diagnostic goes with the risk on the target: its rank correlation is known to be on one side of 0."""
    if correlation is None or correlation.value == 0:
        return False
    if correlation.sd == 0:
        return correlation.n > 2
    return correlation.interval is not None and correlation.interval.excludes(0.0)


def _in_a_sentence(found: Sequence[Diagnosis], sure: Sequence[Diagnosis], n_target: int) -> str:
    labels, n = f"With {counted(n_target, 'label')}", counted(len(found), "diagnostic")
    if sure:
        names = listed([diagnosis.title for diagnosis in sure[:4]])
        more = f" and {len(sure) - 4} more" if len(sure) > 4 else ""
        return f"{labels} {len(sure)} of {n} {'goes' if len(sure) == 1 else 'go'} with the transfer: {names}{more}."
    if len(found) == 1:
        return f"{labels} the one diagnostic does not surely go with the transfer, so that it does not say why."
    return f"{labels} none of {n} goes surely with the transfer, so they do not say why."


_EXPECTED: dict[str, tuple[int, str]] = {
    "weight_deviation": (1, "lower: the weights stay near a good start"),
    "hessian_eigenvalue/1": (1, "lower: the loss is flatter"),
    "hessian_trace": (1, "lower: the loss is flatter"),
    "hessian_flat_share": (-1, "higher: more directions are flat"),
    "landscape_rise": (1, "lower: the loss is flatter around"),
    "loss_barrier": (1, "lower: training stays in the basin of a good start"),
    "loss_variation_gradient_step": (1, "lower: the loss is smoother along training"),
    "gradient_ratio_spread": (1, "lower: layers learn at one pace"),
    "variance_ratio": (1, "lower: classes lie apart"),
    "feature_label_alignment": (1, "lower: labels are easy to read off the features"),
    "unexplained_share": (1, "lower: the features hold what the target needs"),
    "kernel_task_distance": (1, "lower: the tasks are near"),
    "ntk_label_alignment": (-1, "higher: these labels are learnt faster"),
}
"""The side on which good transfer is expected, as the sign of the rank correlation with the risk, and why."""


def _answers(found: Sequence[Diagnosis]) -> Table:
    """What was expected of good transfer, what was seen, and what follows, in a row for each diagnostic."""
    columns = tuple(
        Column(title, numeric=False) for title in ("Diagnostic", "Expected of good transfer", "Seen", "What follows")
    )
    rows = tuple(
        (
            Cell(capitalised(diagnosis.title)),
            Cell(capitalised(_EXPECTED.get(diagnosis.headline, (0, "neither side"))[1])),
            Cell(capitalised(_goes_with_risk(diagnosis.correlation) or "Too few networks for a correlation")),
            Cell(_follows(diagnosis)),
        )
        for diagnosis in found
    )
    return Table(columns, rows, "What the diagnostics say of the transfer")


def _follows(diagnosis: Diagnosis) -> str:
    if not _is_sure(diagnosis.correlation) or diagnosis.correlation is None:
        return "Nothing"
    side = _EXPECTED.get(diagnosis.headline, (0, ""))[0]
    if side == 0:
        return "It goes with the transfer; no side was expected, so that it explains nothing by itself"
    if side * diagnosis.correlation.value > 0:
        return "As expected: it may be a reason, and is no proof of one"
    return "Against what was expected: it is not why transfer is good here"


def _how_to_read(found: Sequence[Diagnosis]) -> str:
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


def _table(summary: Summary, found: Sequence[Diagnosis]) -> Table:
    columns = (Column("Method", numeric=False), *(Column(capitalised(d.title), d.known.limits) for d in found))
    readings = {(r.comparison.method, r.comparison.source): r.comparison for d in found for r in d.readings}
    rows = tuple(
        (
            Cell(tick_name(method), f"from {source}" if source else "", "baseline" if c.is_baseline else ""),
            *(_cell(d, method, source or None) for d in found),
        )
        for source, method in summary.arms
        if (c := readings.get((method, source or None))) is not None
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
    sentences = (*meaning_of(diagnosis), left_out_words(diagnosis.left_out))
    limits = [Text(f"What it cannot tell: {diagnosis.known.limits}", "note")] if diagnosis.known.limits else []
    said = (_in_words(diagnosis), *sentences)
    return Folded(title, (*(Text(sentence) for sentence in said if sentence), *limits))


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
