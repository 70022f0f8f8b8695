"""The arms of a race as a table."""

import math

import pandas as pd

from transferscope.analyses.decide.result import ArmResult, Decision
from transferscope.analyses.decide.words import arm_words, gain_words
from transferscope.estimate import Estimate
from transferscope.report.blocks import Cell, Column, Table, Tone
from transferscope.wording import capitalised, duration

_TONES: dict[str, Tone] = {"better": "positive", "worse": "negative"}
_STATES = {"best": "best", "as good": "as good", "out": "out", "open": "in the race", "baseline": "in the race"}


def arm_rows(decision: Decision) -> pd.DataFrame:
    """One row per arm, training from scratch first, then by gain.

    Returns:
        Columns: source ("" for none), method, runs, score (points), gain, low, high (points over training from
        scratch; NaN where nothing is known), call, state, over_control, over_control_low, over_control_high (points
        over the best control, likewise), beats_controls, other_test_examples (whether the call holds for them),
        seconds.
    """
    unknown = Estimate.missing("too_few", 0)
    rows = [
        {
            "source": arm.arm.source or "",
            "method": arm.arm.method,
            "runs": arm.n,
            "score": arm.score,
            "gain": arm.gain.value,
            "low": arm.gain.low,
            "high": arm.gain.high,
            "call": "baseline" if arm is decision.baseline else arm.call,
            "state": arm.state,
            "over_control": (arm.over_control or unknown).value,
            "over_control_low": (arm.over_control or unknown).low,
            "over_control_high": (arm.over_control or unknown).high,
            "beats_controls": arm.beats_controls,
            "other_test_examples": arm.lasting,
            "seconds": arm.seconds,
        }
        for arm in decision.arms
    ]
    return pd.DataFrame(rows)


def arms_table(decision: Decision) -> Table:
    """The same for a reader."""
    columns = (
        Column("Way", numeric=False),
        Column("Runs", "Seeds that were run"),
        Column("Score", f"Mean over seeds, in {decision.unit}"),
        Column("Against scratch", "Mean difference on the same seeds, with an interval that holds at every look"),
        Column("Call", "Beside training from scratch", numeric=False),
        Column("Race", "Beside the leader", numeric=False),
        Column("Time", "Of a run with its pre-training"),
    )
    return Table(columns, tuple(_row(arm, decision) for arm in decision.arms), "Every way that was raced")


def _row(arm: ArmResult, decision: Decision) -> tuple[Cell, ...]:
    is_baseline = arm is decision.baseline
    tone: Tone = "baseline" if is_baseline else _TONES.get(arm.call, "undecided")
    here_only = arm.call in ("better", "worse") and not arm.lasting
    call = Cell("baseline" if is_baseline else arm.call, "on this test set" if here_only else "", tone)
    return (
        Cell(capitalised(arm_words(arm)), tone="best" if arm.state == "best" else ""),
        Cell(f"{arm.n}"),
        Cell(f"{arm.score:.1f}" if math.isfinite(arm.score) else "–"),
        Cell("–" if is_baseline else gain_words(arm).replace(" points", "")),
        call,
        Cell(_STATES[arm.state]),
        Cell(duration(arm.seconds)),
    )
