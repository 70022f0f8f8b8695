"""The arms of a plan as tables."""

import numpy as np
import pandas as pd

from transferscope.analyses.plan.facts import LabelPlan
from transferscope.analyses.plan.statements import filters_of, size
from transferscope.estimate import Interval
from transferscope.report.blocks import Cell, Column, Table
from transferscope.scaling.forecast import SizeNeeded
from transferscope.wording import capitalised, number_words


def heading(name: str) -> str:
    """Return an arm at the start of a row: prose capitalised, a user's name unchanged."""
    return capitalised(name) if " " in name else name


def plan_rows(plan: LabelPlan) -> pd.DataFrame:
    """Return one row per arm, training from scratch first, then by where it catches up, the latest first.

    Returns:
        Columns: arm, role ("scratch", "lead" or "transfer"), sizes (their number), largest (labels), score (median at
        the
        largest number), score_low, score_high, catch_up, catch_up_low, catch_up_high, p_already, p_beyond, labels,
        labels_low, labels_high (for the target score), more (further labels), gain (of them), gain_low, gain_high,
        worth, worth_low, worth_high (labels from scratch that equal this arm at its largest number), cost (of `labels`
        with a run), cost_of_more, limit (labels up to which curves are followed). Numbers of labels are 0 where they
        are at or below the smallest measured number, infinite above `limit`, NaN if not asked for or undetermined.
        Accuracies and their gains are in percent.
    """
    costs, measure = plan.costs, plan.measure
    rows = []
    for arm in plan.arms:
        reached, (gain, within) = arm.reached, arm.more or (np.nan, Interval(np.nan, np.nan))
        ends = sorted(map(measure.score, (reached.interval.low, reached.interval.high)))
        role = "scratch" if arm is plan.scratch else "lead" if arm is plan.lead else "transfer"
        row: dict[str, object] = {"arm": arm.name, "role": role, "sizes": arm.data.n_distinct, "largest": arm.largest}
        row |= {"score": measure.score(reached.error), "score_low": ends[0], "score_high": ends[1]}
        for name, count in (("catch_up", arm.catch_up), ("labels", arm.labels), ("worth", arm.worth)):
            row[name] = np.nan if count is None or count.open else count.value
            row |= {f"{name}_{end}": np.nan if count is None else getattr(count, end) for end in ("low", "high")}
        row["p_already"] = np.nan if arm.catch_up is None else arm.catch_up.already
        row["p_beyond"] = np.nan if arm.catch_up is None else arm.catch_up.beyond
        for name, value in (("gain", gain), ("gain_low", within.low), ("gain_high", within.high)):
            row[name] = measure.scale * value
        cost = None if arm.labels is None else plan.cost_of(arm.labels)
        row["cost"] = np.nan if cost is None else cost
        row["more"] = plan.more
        row["cost_of_more"] = np.nan if costs is None else costs.of(0, plan.more)
        row["limit"] = float(plan.sizes[-1])
        rows.append(row)
    return pd.DataFrame(rows)


def arms_table(plan: LabelPlan) -> Table:
    """Return the table of arms for display, without columns that the answer does not use."""
    words, measure, target = filters_of(plan), plan.measure, plan.target_error
    columns = [
        Column("Arm", numeric=False),
        Column("Measured", "Numbers of labels with a score"),
        Column("Fitted score", "On the curve at the largest measured number of labels, not the mean that was measured"),
    ]
    if plan.scratch is not None:
        columns.append(Column("Scratch catches up", "Number of labels from which on training from scratch is as good"))
    if target is not None:
        columns.append(Column(f"Labels for {measure.shown_score(target)}"))
        columns += [Column("Cost", "Of these labels and a run")] if plan.costs is not None else []
    columns.append(
        Column(f"Next {plan.more:,} labels", "What they add to the score beyond the largest measured number")
    )

    def count_cell(count: SizeNeeded | None) -> Cell:
        if count is None:
            return Cell("–")
        if count.open:
            return Cell("not known")
        return Cell(words["labels"](count.value), f"90 %: {words['ends']((count.low, count.high))}")

    rows = []
    for arm in plan.arms:
        score = measure.shown_score(arm.reached.error)
        row = [
            Cell(heading(arm.name), tone="baseline" if arm is plan.scratch else "best" if arm is plan.lead else ""),
            Cell(str(arm.data.n_distinct), f"up to {size(arm.largest)}"),
            Cell(score) if arm.curve is not None else Cell(score, "as measured, since no law is drawn"),
        ]
        if plan.scratch is not None:
            row.append(count_cell(arm.catch_up))
        if target is not None:
            row.append(count_cell(arm.labels))
            if plan.costs is not None:
                cost = None if arm.labels is None else plan.cost_of(arm.labels)
                row.append(Cell("–" if cost is None else number_words(cost)))
        if arm.more is None:
            row.append(Cell("–"))
        else:
            gain, within = arm.more
            row.append(Cell(words["fall"](gain), f"90 %: {words['falls']((within.low, within.high))}"))
        rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows), "Every arm with 90 % intervals")
