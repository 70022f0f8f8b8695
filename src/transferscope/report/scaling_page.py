"""The parts of the page on a table of errors."""

from transferscope.report.blocks import Block, Cell, Column, Section, Table, Text
from transferscope.report.figures.scaling_backtest import draw_backtests
from transferscope.report.figures.scaling_curves import draw_curves
from transferscope.report.figures.scaling_landscape import draw_fit_landscapes
from transferscope.report.figures.scaling_linear import draw_linearised
from transferscope.report.figures.scaling_parameters import draw_parameters
from transferscope.report.figures.scaling_surface import draw_surface
from transferscope.report.page import Verdict
from transferscope.scaling.analysis import Analysis, SurfaceAnalysis
from transferscope.scaling.words import (
    CURVE_HEADINGS,
    SURFACE_HEADINGS,
    curve_row,
    gain_in_words,
    headline,
    identifiability,
    surface_in_words,
    surface_parameters,
    verdict,
)

HINTS = {
    "sizes": "different pre-training sizes above 0 that the law was fitted to",
    "alpha": "pre-training rate: how fast the error falls with n",
    "C": "transfer gap: the error that no amount of this pre-training data removes",
    "at 4 x n": "forecast at four times the largest measured size",
    "90 % interval": "of the forecast; nominal: beyond 2 times the largest size it was not calibrated and covers less",
    "status": "scenario of the target error: a undecided, b more of this data, c other data, d too slow",
}


def verdict_of(analysis: Analysis) -> Verdict:
    """The sentence to read first, and the rest of the verdict."""
    text, lead = verdict(analysis), headline(analysis)
    body = text.replace(lead, "", 1).replace("  ", " ").strip() if lead in text else text
    return Verdict({}, lead, (body,) if body else ())


def scaling_sections(analysis: Analysis) -> list[Section]:
    """The parts of the report in the order of reading; parts without content are left out."""
    sections = [
        Section("Curves", "curves", _curves(analysis)),
        Section("Back-test", "back-test", _present(draw_backtests(analysis))),
        Section("Rates and transfer gaps", "variants", _variants(analysis)),
        Section("Both sizes", "surface", _surfaces(analysis)),
        Section("What the data determine", "identifiability", _identifiability(analysis)),
        Section("How it was done", "method", _method(analysis)),
    ]
    return [section for section in sections if section.blocks]


def _present(*blocks: Block | None) -> tuple[Block, ...]:
    return tuple(block for block in blocks if block is not None)


def _curves(analysis: Analysis) -> tuple[Block, ...]:
    if not analysis.curves:
        return ()
    return _present(curves_table(analysis), draw_curves(analysis), draw_linearised(analysis))


def curves_table(analysis: Analysis) -> Table:
    """Every curve with its own fit and its forecast."""
    columns = tuple(Column(title, HINTS.get(title, ""), title not in ("curve", "status")) for title in CURVE_HEADINGS)
    rows = tuple(tuple(Cell(text) for text in curve_row(curve)) for curve in analysis.curves)
    return Table(
        columns,
        rows,
        caption="Every curve: its own fit of D n^-alpha + C, and the forecast at four times its largest size",
    )


def _variants(analysis: Analysis) -> tuple[Block, ...]:
    gains = tuple(Text(gain_in_words(gain)) for gain in analysis.gains)
    common = analysis.common
    if common is None:
        return _present(*gains, draw_parameters(analysis))
    settled = "settled" if common.status == "converged" else "has not settled"
    note = (
        f"The common-D procedure of the Syn2Real paper gives D = {common.D:.3g}, where it {settled}. It depends on its "
        "start and is no estimate; the intervals above do not use it."
    )
    return _present(draw_parameters(analysis), *gains, Text(note, tone="note"))


def _surfaces(analysis: Analysis) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for place, one in enumerate(analysis.surfaces):
        if analysis.curves:
            blocks += [Text(sentence) for sentence in surface_in_words(one)]
        blocks.append(surface_table(one))
        blocks.append(draw_surface(one.surface, name=f"scaling-surface-{place}"))
    return tuple(blocks)


def surface_table(one: SurfaceAnalysis) -> Table:
    """The parameters of the law of one group over (n, s)."""
    columns = tuple(Column(title, numeric=False) for title in SURFACE_HEADINGS)
    law = one.surface.fits[one.surface.interpolating].law
    rows = tuple(tuple(Cell(text) for text in row) for row in surface_parameters(one))
    return Table(columns, rows, caption=f"{one.name}: {law.name}, {law.formula}")


def _identifiability(analysis: Analysis) -> tuple[Block, ...]:
    texts = [Text(f"{curve.name}: {sentence}") for curve in analysis.curves for sentence in identifiability(curve.fit)]
    texts += [Text(f"{curve.name}: {curve.message}.") for curve in analysis.curves if curve.message]
    notes = [Text(note, tone="note") for note in analysis.notes]
    return _present(*texts, draw_fit_landscapes(analysis), *notes)


def _method(analysis: Analysis) -> tuple[Block, ...]:
    cards = [(curve.name, curve.fit.card()) for curve in analysis.curves]
    cards += [(one.name, fit.card()) for one in analysis.surfaces for fit in one.surface.fits.values()]
    if not cards:
        return ()
    names = tuple(Column(name, numeric=False) for name in ("fit of", *cards[0][1]))
    rows = tuple((Cell(name), *(Cell(text) for text in card.values())) for name, card in cards)
    return (Table(names, rows, caption="Fit cards"),)
