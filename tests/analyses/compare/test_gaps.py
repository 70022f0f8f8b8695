from dataclasses import replace

import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import gaps_section
from transferscope.report.blocks import Folded, Section, Table, Text


def test_a_complete_study_has_no_gaps(summary: Summary) -> None:
    assert gaps_section(_with_states(summary, "done")) is None


def test_failures_are_told_in_full(summary: Summary) -> None:
    section = _section(summary)
    texts = [block.text for block in section.blocks if isinstance(block, Text)]
    assert texts == ["MeRLin from mnist, 50 labels, seed 3 (non finite): the loss became NaN at step 311"]
    assert [block.title for block in section.blocks if isinstance(block, Folded)] == ["Details"]
    assert section.files["failures"]["failure_message"].tolist() == ["the loss became NaN at step 311"]


def test_cells_that_wait_are_counted_by_what_they_wait_for(summary: Summary) -> None:
    section = _section(_with_states(summary, "blocked"))
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [cell.text for cell in table.rows[0]] == [
        "Pretraining from fashion",
        "–",
        "waits for a run that failed",
        "5",
    ]
    assert len(table.rows) == 2 + 3 * 9


def test_many_failures_are_cut_and_kept_in_a_file(summary: Summary) -> None:
    failed = summary.frames.cells[summary.frames.cells["state"] == "failed"]
    cells = pd.concat([failed.assign(failure_message=f"no. {i}") for i in range(150)])
    section = _section(replace(summary, frames=replace(summary.frames, cells=cells)))
    last = section.blocks[-1]
    assert isinstance(last, Text)
    assert last.text == "The other 50 failures are in the file failures.csv."
    assert len(section.files["failures"]) == 150


def test_failures_of_one_message_are_said_once(summary: Summary) -> None:
    failed = summary.frames.cells[summary.frames.cells["state"] == "failed"]
    section = _section(replace(summary, frames=replace(summary.frames, cells=pd.concat([failed] * 150))))
    (said,) = [block.text for block in section.blocks if isinstance(block, Text)]
    assert "and 149 others" in said


def _section(summary: Summary) -> Section:
    section = gaps_section(summary)
    assert section is not None
    return section


def _with_states(summary: Summary, state: str) -> Summary:
    return replace(summary, frames=replace(summary.frames, cells=summary.frames.cells.assign(state=state)))
