"""Conclusions for transfer from the linear model on features, as statements, a table and rows."""

from collections.abc import Iterator, Mapping

import pandas as pd

from transferscope.analyses.diagnose.reach import Reach, Whose
from transferscope.analyses.diagnose.tables import record_row
from transferscope.records import Record
from transferscope.report.blocks import Cell, Column, Table, Tone
from transferscope.statements import Statement, state
from transferscope.wording import signed

MEASURES = {"accuracy": "accuracy", "labels right": "of labels right", "r2": "R²"}

_WHOSE: Mapping[Whose, str] = {"end": "The network", "start": "The start", "random": "Random weights (best draw)"}


def what_follows(reach: Reach, names: Mapping[str, str], data: str) -> Iterator[Statement]:
    """State whether the transferred features beat random ones, and whether training improved them.

    Args:
        names: The files of the network ("end") and its start.
    """
    whose = reach.transferred
    if "random" in reach.each:
        yield state(
            "features", **_compared(reach, whose, "random"), file=names[whose], data=data, n_draws=len(reach.draws)
        )
    if whose == "start":
        yield state("training", **_compared(reach, "end", "start"), file=names["end"])
    else:
        yield state("no start", file=names["end"])


def _compared(reach: Reach, whose: Whose, over: Whose) -> dict[str, object]:
    gain = reach.gain(whose, over)
    return {
        "call": reach.call(whose, over),
        "reached": reach.reached(whose).value,
        "measure": MEASURES[reach.measure],
        "n": gain.n,
        "gain": signed(gain.value, 1),
        "low": signed(gain.low, 1),
        "high": signed(gain.high, 1),
    }


def reach_table(reach: Reach) -> Table:
    """Return the score of a linear model on each network's features, and its gain over random weights or the initial
    weights."""
    over: Whose = "random" if "random" in reach.each else "start"
    columns = (
        Column("Features of", numeric=False),
        Column(f"Held-out {MEASURES[reach.measure]}"),
        Column("Gain over random weights" if over == "random" else "Gain over the start"),
    )
    rows = []
    for whose in reach.each:
        reached, gain = reach.reached(whose), Cell("–")
        if whose != over:
            known = reach.gain(whose, over)
            tones: dict[str, Tone] = {"better": "positive", "worse": "negative", "same": "", "": ""}
            ends = f"{signed(known.low, 1)} to {signed(known.high, 1)}"
            gain = Cell(signed(known.value, 1), ends, tones[reach.call(whose, over)])
        rows.append((Cell(_WHOSE[whose]), Cell(f"{reached.value:.1f} %".replace("-", "−")), gain))
    title = f"A linear model on the features: {reach.n_train:,} training, {len(reach.each['end']):,} held-out examples"
    return Table(columns, tuple(rows), title)


def reach_rows(reach: Reach) -> pd.DataFrame:
    """Return the same with the columns of `measured_rows`."""
    name, part = f"linear_model/{reach.measure}", "target_test"
    rows = []
    for whose in reach.each:
        known = Record(name, reach.reached(whose), part)
        over = f"{known.estimate.n} examples"
        rows.append(record_row("linear-model", known, over, whose, headline=whose == "end"))
    return pd.DataFrame(rows)
