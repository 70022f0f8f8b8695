"""Transfer from earlier steps of pretraining, against means and paired differences by SciPy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from made_up import Arm, made_up
from transferscope.analyses.compare.checkpoints import checkpoint_series, checkpoints_section
from transferscope.analyses.compare.summary import Summary, summarise_frames
from transferscope.report.blocks import Figure, Points

LAST = 100
"""Steps of pretraining."""

TUNED, PROBE = ("fine-tune", "mnist"), ("linear-probe", "mnist")
PEAKS = {5: [0.74, 0.75, 0.79], 40: [0.80, 0.82, 0.84], LAST: [0.78, 0.79, 0.83]}
RISES = {5: [0.60, 0.62, 0.61], 40: [0.70, 0.71, 0.74], LAST: [0.80, 0.83, 0.82]}


def summary_of(scores: dict[Arm, dict[int, list[float]]], *, n_seeds: int = 3) -> Summary:
    """A study with these scores of transfer after each step of pretraining, by seed."""

    def after(step: int) -> dict[tuple[Arm, int], np.ndarray]:
        return {(arm, 50): np.array(of_arm[step][:n_seeds]) for arm, of_arm in scores.items()}

    frames = made_up({(("scratch", ""), 50): np.array([0.5, 0.52, 0.51]), **after(LAST)})
    tables = {"cells": [frames.cells], "records": [frames.records]}
    for step in (5, 40):
        earlier = made_up(after(step))
        for name, found in tables.items():
            own = getattr(earlier, name)
            found.append(own.assign(role="checkpoint", pretrain_step=float(step), key=f"{step} " + own["key"]))
    study = replace(frames.study, spec={**frames.study.spec, "pretraining": {"steps": LAST}})
    cells, records = (pd.concat(found, ignore_index=True) for found in tables.values())
    return summarise_frames(replace(frames, study=study, cells=cells, records=records))


def test_the_step_that_transfers_best_leads_the_last_by_the_paired_difference() -> None:
    summary = summary_of({TUNED: PEAKS, PROBE: RISES})
    peaks, rises = sorted(checkpoint_series(summary), key=lambda series: series.method)
    assert (peaks.method, peaks.source, peaks.n_target, peaks.best) == ("fine-tune", "mnist", 50, 40)
    assert peaks.table["step"].tolist() == [*PEAKS]
    assert peaks.table["n"].tolist() == [3, 3, 3]
    for row, values in zip(peaks.table.itertuples(), PEAKS.values(), strict=True):
        ends = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
        assert (row.mean, row.low, row.high) == pytest.approx((np.mean(values), *ends))
    paired = np.array(PEAKS[40]) - PEAKS[LAST]
    ends = stats.ttest_1samp(paired, 0).confidence_interval()
    assert peaks.lead.value == pytest.approx(paired.mean())
    assert (peaks.lead.low, peaks.lead.high) == pytest.approx((ends.low, ends.high))
    assert (rises.best, rises.lead) == (LAST, None)


@pytest.mark.parametrize(("n_seeds", "lead"), [(3, "+2.0 (−0.5 to +4.5) against"), (1, "+2.0 against")])
def test_the_lead_is_said_with_its_interval_where_there_is_one(n_seeds: int, lead: str) -> None:
    section = checkpoints_section(summary_of({TUNED: PEAKS, PROBE: RISES}, n_seeds=n_seeds))
    points, _ = section.blocks
    assert isinstance(points, Points)
    of_tuned, of_probe = sorted(points.sentences)
    assert f"after 40 steps, {lead}" in of_tuned
    assert "the last, after 100 steps" in of_probe


def test_the_figure_has_the_means_of_every_step_with_the_best_marked() -> None:
    _, figure = checkpoints_section(summary_of({TUNED: PEAKS})).blocks
    assert isinstance(figure, Figure)
    means, best = (np.asarray(line.get_xydata()) for line in figure.canvas.axes[0].lines[:2])
    assert means.tolist() == [[step, pytest.approx(100 * np.mean(values))] for step, values in PEAKS.items()]
    assert best.tolist() == [[40, pytest.approx(82)]]
    assert figure.data["value"].tolist() == pytest.approx([one for values in PEAKS.values() for one in values])


def test_a_study_without_earlier_steps_has_no_section(summary: Summary) -> None:
    assert checkpoints_section(summary) is None
