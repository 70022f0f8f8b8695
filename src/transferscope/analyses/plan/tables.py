"""The arms of a plan as tables."""

import numpy as np
import pandas as pd

from transferscope.analyses.plan.facts import MORE, LabelPlan
from transferscope.analyses.plan.words import (
    cost_in_words,
    end_in_words,
    heading,
    interval_in_words,
    labels_in_words,
    more_in_words,
)
from transferscope.report.blocks import Cell, Column, Table
from transferscope.scaling.advice.label_plan import LabelCount


def plan_rows(plan: LabelPlan) -> pd.DataFrame:
    """One row per arm, training from scratch first, then by where it catches up, the latest first.

    Returns:
        Columns: arm, role ("scratch", "lead" or "transfer"), sizes (how many), largest (labels), score (median at the
        largest number), score_low, score_high, catch_up, catch_up_low, catch_up_high, p_already, p_beyond, labels,
        labels_low, labels_high (for the wanted score), gain (of MORE labels), gain_low, gain_high, worth, worth_low,
        worth_high (labels from scratch that equal this arm at its largest number), cost (of `labels` with a run),
        cost_of_more, limit (labels up to which curves are followed). Numbers of labels are 0 where they are at or
        below the smallest measured number, infinite above `limit`, NaN where they were not asked for. Accuracies and
        their gains are in percent.
    """
    costs, measure = plan.question.costs, plan.measure
    rows = []
    for place, arm in enumerate(plan.arms):
        error = arm.curve.error_at(arm.curve.largest)
        ends = sorted([measure.value(error.low), measure.value(error.high)])
        row: dict[str, object] = {
            "arm": arm.name,
            "role": ("scratch", "lead")[place] if place < 2 else "transfer",
            "sizes": arm.curve.observations.n_distinct,
            "largest": arm.curve.largest,
            "score": measure.value(error.value),
            "score_low": ends[0],
            "score_high": ends[1],
        }
        for name, count in (("catch_up", arm.catch_up), ("labels", arm.labels), ("worth", arm.worth)):
            row[name] = np.nan if count is None else count.value
            row[f"{name}_low"] = np.nan if count is None else count.low
            row[f"{name}_high"] = np.nan if count is None else count.high
        row["p_already"] = np.nan if arm.catch_up is None else arm.catch_up.already
        row["p_beyond"] = np.nan if arm.catch_up is None else arm.catch_up.beyond
        row["gain"] = measure.difference(arm.more.value)
        row["gain_low"], row["gain_high"] = measure.difference(arm.more.low), measure.difference(arm.more.high)
        known = costs is not None and arm.labels is not None and 0 < arm.labels.value < np.inf
        row["cost"] = costs.of(0, arm.labels.value) if known and costs and arm.labels else np.nan
        row["cost_of_more"] = np.nan if costs is None else costs.of(0, MORE)
        row["limit"] = float(arm.curve.sizes[-1])
        rows.append(row)
    return pd.DataFrame(rows)


def arms_table(plan: LabelPlan) -> Table:
    """The same for a reader."""
    wanted = plan.target_error is not None
    priced = plan.question.costs is not None
    columns = [
        Column("Arm", numeric=False),
        Column("Measured", "Numbers of labels with a score"),
        Column("Fitted score", "On the curve at the largest measured number of labels, not the mean that was measured"),
        Column("Scratch catches up", "Number of labels from which on training from scratch is as good"),
    ]
    if wanted and plan.target_error is not None:
        columns.append(Column(f"Labels for {plan.measure.shown(plan.target_error)}"))
        columns += [Column("Cost", "Of these labels and a run")] if priced else []
    columns.append(Column(f"Next {MORE} labels", "What they add to the score beyond the largest measured number"))
    rows = []
    for arm in plan.arms:
        scratch = arm is plan.scratch
        error = arm.curve.error_at(arm.curve.largest)
        own = [
            Cell(heading(arm.name), tone="baseline" if scratch else "best" if arm is plan.lead else ""),
            Cell(str(arm.curve.observations.n_distinct), f"up to {labels_in_words(arm.curve.largest)}"),
            Cell(plan.measure.shown(error.value)),
            Cell("–") if arm.catch_up is None else _count_cell(arm.catch_up),
        ]
        if wanted and arm.labels is not None:
            own.append(_count_cell(arm.labels))
            own += [Cell(*cost_in_words(plan, arm.labels))] if priced else []
        own.append(Cell(*more_in_words(arm, plan)))
        rows.append(tuple(own))
    return Table(tuple(columns), tuple(rows), "Every arm with 90 % intervals")


def _count_cell(count: LabelCount) -> Cell:
    return Cell(end_in_words(count.value, count), interval_in_words(count))
