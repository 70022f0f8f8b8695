"""What the linear-transfer model says of the study's pairs, beside what was measured."""

import math
from collections.abc import Callable, Sequence

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.words import change_in_words
from transferscope.errors import StoreError
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Cell, Column, Folded, Section, Table, Text
from transferscope.report.figures.choice import tick_name
from transferscope.report.figures.placements import draw_placements
from transferscope.report.placements import description_in_words, signs_in_words, signs_of
from transferscope.theory.placement import Placement
from transferscope.theory.placement_document import KeptPlacement, KeptPlacements, from_document
from transferscope.wording import listed, method_words

_TITLE, _SLUG = "What the linear model says", "placements"


def placements_section(summary: Summary) -> Section | None:
    """The section; None for a study that was not placed by `transferscope theory place`."""
    document = summary.frames.placements
    if document is None:
        return None
    try:
        kept = from_document(document)
    except StoreError as error:  # of another version of the package; the rest of the report stands
        return Section(_TITLE, _SLUG, (Text(_sentence(error), "warning"),))
    changed = change_in_words(summary.frames, kept.runs, since="it was placed", again="theory place")
    blocks: list[Block] = [
        *([Text(changed, "warning")] if changed else []),
        Text(description_in_words(kept.points)),
        Text(signs_in_words(kept.points)),
        *placements_evidence(summary, kept),
    ]
    return Section(_TITLE, _SLUG, tuple(blocks))


def placements_evidence(summary: Summary, kept: KeptPlacements) -> tuple[Block, ...]:
    """What the sentences on a placement rest on: figure, table, every case in words, limits."""
    return (
        Text(_what_is_compared(kept)),
        draw_placements(summary, kept.points),
        placements_table(kept.points),
        Folded("Every case in words", tuple(Text(point.words) for point in kept.points)),
        Text(kept.limits, "note"),
    )


def _sentence(error: StoreError) -> str:
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}."


def _what_is_compared(kept: KeptPlacements) -> str:
    """What the two numbers are, and what they rest on."""
    measured = [method_words(m) for m in dict.fromkeys(point.placement.method for point in kept.points) if m]
    n = max(point.placement.n_examples for point in kept.points)
    probes = f"; measured is what it did gain ({listed(measured)}, paired by seed)" if measured else ""
    which = " and one of the linear probes" if len(measured) > 1 else ""
    given = kept.input_dimension
    by_hand = f" The number of directions of the inputs, {_number(given)}, was given by hand." if given else ""
    return (
        f"A case is a source with a number of labels{which}. The model is of what a linear head on the pretrained "
        f"features gains over a linear learner from scratch, as estimated from {n:,} labelled target examples{probes}. "
        "Gains are risk from scratch minus risk after transfer, in units of the variance of the labels: positive is "
        f"good.{by_hand}"
    )


_COLUMNS = (
    Column("From", numeric=False),
    Column("Labels"),
    Column("Outside the features", "Share of the target function that no linear head on the pretrained features has"),
    Column("Noise", "Standard deviation of what nothing explains, over that of the target function"),
    Column("Labels per direction", "Target labels over effective directions of the inputs, n/d"),
    Column(
        "Scratch by the model",
        "Squared error of training from scratch, in units of the variance of the labels",
    ),
    Column(
        "Scratch",
        "The same, measured on held-out examples; where it differs the model does not describe the pair",
    ),
    Column("Model", "Transferability by the linear-transfer model, its own error in the interval"),
    Column("Measured", "Transferability of the linear probe, paired by seed"),
    Column("Difference", "Measured minus the model, with the uncertainty of both"),
    Column("Signs", "Whether model and measurement are on one side of 0", numeric=False),
)


def placements_table(points: Sequence[KeptPlacement]) -> Table:
    """Every case: what the model says and what was measured."""
    methods = {point.placement.method for point in points}
    rows = tuple(_row(point, named=len(methods) > 1) for point in points)
    return Table(_COLUMNS, rows, "Transferability by the model and measured, with 95 % intervals")


def _row(point: KeptPlacement, *, named: bool) -> tuple[Cell, ...]:
    one = point.placement
    return (
        Cell(point.name, tick_name(one.method) if named and one.method else ""),
        Cell(f"{one.n_target:,}"),
        _cell(one.outside_share, _percent, unit=" %"),
        _cell(one.noise_level, _number),
        _cell(one.examples_per_dimension, _number),
        _cell(one.scratch_modelled, _number),
        _cell(one.scratch_measured, _number),
        _cell(one.modelled, _signed),
        _cell(one.measured, _signed),
        _cell(one.gap, _signed),
        _signs(one),
    )


def _signs(placement: Placement) -> Cell:
    signs = signs_of(placement)
    if signs == "open":
        return Cell("cannot be told", tone="undecided")
    return Cell(signs, tone="positive" if signs == "same" else "negative")


def _cell(found: Estimate, shown: Callable[[float], str], *, unit: str = "") -> Cell:
    if math.isnan(found.value):
        return Cell("–")
    return Cell(shown(found.value) + unit, found.ends(shown))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.1f}"


def _number(value: float) -> str:
    size = abs(value)
    return _digits(f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2g}")


def _signed(value: float) -> str:
    size = abs(value)
    return _digits(f"{value:+,.0f}" if size >= 100 else f"{value:+.1f}" if size >= 10 else f"{value:+.2f}")


def _digits(finite: str) -> str:
    """A number with a real minus and a real infinity, and without a sign when it is written as zero."""
    if not float(finite.replace(",", "")):
        finite = finite.lstrip("+-")
    return finite.replace("inf", "∞").replace("-", "−")
