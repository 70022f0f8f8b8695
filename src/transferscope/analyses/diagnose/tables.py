"""Tables of diagnostics: values of a study, and the expected direction. No torch."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from transferscope.analyses.diagnose.study import Diagnosis
from transferscope.estimate import Estimate
from transferscope.records import Meaning, Record
from transferscope.report.blocks import Cell, Column, Table
from transferscope.wording import capitalised, number_words


def expected_cell(meaning: Meaning) -> Cell:
    """Return the expected direction for good transfer."""
    if not meaning.expected:
        return Cell("–")
    return Cell(capitalised(meaning.expected), meaning.lower if meaning.expected == "lower" else meaning.higher)


def correlation_rows(diagnoses: Sequence[Diagnosis]) -> pd.DataFrame:
    """Return correlations with the error: diagnostic, headline, part, correlation, low, high, n_seeds, expected."""
    known = [(one, one.correlation or Estimate.missing("too_few", 0)) for one in diagnoses]
    names = ["diagnostic", "headline", "part", "correlation", "low", "high", "n_seeds", "expected"]
    rows = [
        (one.name, one.headline, one.part, seen.value, seen.low, seen.high, seen.n, one.meaning.expected)
        for one, seen in known
    ]
    return pd.DataFrame(rows, columns=names)


def record_row(diagnostic: str, record: Record, samples: str, at: str, *, headline: bool) -> dict[str, Any]:
    """Return a record as a row; `measured_rows` says which columns."""
    known = record.estimate
    return {
        "diagnostic": diagnostic,
        "name": record.name,
        "value": known.value,
        "stderr": known.stderr,
        "low": known.low if known.interval else None,
        "high": known.high if known.interval else None,
        "samples": samples if known.interval else None,
        "n": known.n,
        "status": known.status,
        "part": record.part,
        "at": at,
        "headline": headline,
    }


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
