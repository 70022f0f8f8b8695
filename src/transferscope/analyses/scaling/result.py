"""The answer on more data or other data: its verdict, tables, figures and page."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.result import AnalysisResult
from transferscope.analyses.scaling.analysis import Analysis
from transferscope.analyses.scaling.figures import (
    draw_backtests,
    draw_curves,
    draw_fit_landscapes,
    draw_linearised,
    draw_parameters,
    draw_surface,
)
from transferscope.analyses.scaling.tables import curves_table, fit_cards, parameters, surface_table
from transferscope.analyses.scaling.words import gain_in_words, headline, identifiability, surface_in_words, verdict
from transferscope.report.blocks import Block, Section, Table, Text
from transferscope.report.page import Verdict


@dataclass(frozen=True)
class ScalingResult(AnalysisResult):
    """What a table of errors says about more data and other data.

    Attributes:
        analysis: Fits, forecasts, advice, comparisons.
        name: The table or the study.
        kept: Whether the report of the study shows this, in a sentence; empty for a table.
    """

    kind: ClassVar[str] = "scaling"

    analysis: Analysis
    name: str
    kept: str = ""

    @property
    def title(self) -> str:
        """The table or the study."""
        return self.name

    @property
    def verdict(self) -> Verdict:
        """Whether more of this data reaches the target error, and what to measure next."""
        lead, text = headline(self.analysis), verdict(self.analysis)
        said = lead.removeprefix(f"{self.analysis.lead}: ")
        body = text.replace(said, "", 1).replace("  ", " ").strip() if said in text else text
        return Verdict({}, lead, (body,) if body else ())

    def table(self) -> pd.DataFrame:
        """The parameters of every fit.

        Returns:
            One row per curve or group over (n, s), law and parameter: curve, law, parameter, value (NaN where the data
            do not determine it), stderr, low and high (the 95 % set; NaN where it is open), status.
        """
        return parameters(self.analysis)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every curve with its forecast, and the law of each group over (n, s)."""
        analysis = self.analysis
        of_curves = (curves_table(analysis),) if analysis.curves else ()
        return (*of_curves, *(surface_table(one) for one in analysis.surfaces))

    def sections(self) -> list[Section]:
        """Curves, back-test, gaps, surfaces, what the data determine, fit cards."""
        analysis = self.analysis
        sections = [
            Section("Curves", "curves", _curves(analysis)),
            Section("Back-test", "back-test", _present(draw_backtests(analysis))),
            Section("Rates and transfer gaps", "variants", _variants(analysis)),
            Section("Both sizes", "surface", _surfaces(analysis)),
            Section("What the data determine", "identifiability", _identifiability(analysis)),
            Section("How it was done", "method", _present(fit_cards(analysis))),
        ]
        return [section for section in sections if section.blocks]


def _present(*blocks: Block | None) -> tuple[Block, ...]:
    return tuple(block for block in blocks if block is not None)


def _curves(analysis: Analysis) -> tuple[Block, ...]:
    if not analysis.curves:
        return ()
    return _present(curves_table(analysis), draw_curves(analysis), draw_linearised(analysis))


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


def _identifiability(analysis: Analysis) -> tuple[Block, ...]:
    texts = [Text(f"{curve.name}: {sentence}") for curve in analysis.curves for sentence in identifiability(curve.fit)]
    texts += [Text(f"{curve.name}: {curve.message}.") for curve in analysis.curves if curve.message]
    notes = [Text(note, tone="note") for note in analysis.notes]
    return _present(*texts, draw_fit_landscapes(analysis), *notes)
