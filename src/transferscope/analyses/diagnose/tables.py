"""What diagnostics saw as tables: of a study, and what is expected of good transfer. No torch."""

from collections.abc import Sequence

import pandas as pd

from transferscope.analyses.diagnose.study import Diagnosis
from transferscope.estimate import Estimate
from transferscope.records import Meaning
from transferscope.report.blocks import Cell, Column, Table
from transferscope.wording import capitalised, number_words


def expected_cell(meaning: Meaning) -> Cell:
    """Return what is expected of good transfer."""
    if not meaning.expected:
        return Cell("–")
    return Cell(capitalised(meaning.expected), meaning.lower if meaning.expected == "lower" else meaning.higher)


def correlation_rows(diagnoses: Sequence[Diagnosis]) -> pd.DataFrame:
    """Return correlations with the error: diagnostic, headline, part, correlation, low, high, n_seeds, expected."""
    rows = []
    for one in diagnoses:
        known = one.correlation or Estimate.missing("too_few", 0)
        rows.append(
            {
                "diagnostic": one.name,
                "headline": one.headline,
                "part": one.part,
                "correlation": known.value,
                "low": known.low,
                "high": known.high,
                "n_seeds": known.n,
                "expected": one.meaning.expected,
            }
        )
    return pd.DataFrame(rows)


def correlations_table(diagnoses: Sequence[Diagnosis]) -> Table:
    """Return expected and observed correlations, significant ones first."""
    columns = (
        Column("Diagnostic", numeric=False),
        Column("Expected of good transfer", numeric=False),
        Column(
            "Rank correlation with the error", "Spearman's, over the networks of one seed, then averaged over seeds"
        ),
    )
    rows = tuple(
        (Cell(capitalised(one.title)), expected_cell(one.meaning), _seen(one))
        for one in sorted(diagnoses, key=lambda one: not one.better)
    )
    return Table(
        columns,
        rows,
        "What goes with a low error on the target; the 95 % intervals are not corrected for how many were looked at",
    )


def _seen(one: Diagnosis) -> Cell:
    known = one.correlation
    if known is None:
        return Cell("–")
    ends = f"{number_words(known.interval.low)} to {number_words(known.interval.high)}" if known.interval else ""
    if not (one.better and one.meaning.expected):
        return Cell(number_words(known.value), ends)
    as_expected = one.better == one.meaning.expected
    return Cell(number_words(known.value), ends, "positive" if as_expected else "negative")
