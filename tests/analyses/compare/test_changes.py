from dataclasses import replace

import pandas as pd
import pytest

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.kept_document import change_in_words
from transferscope.records import FinishedRuns


@pytest.mark.long
def test_a_study_that_has_changed_since_is_said(summary: Summary) -> None:
    frames = summary.frames
    then = frames.finished_runs
    assert frames.finished_runs.count == 3 * 5 * 9 - 1  # sizes, seeds, methods; one has failed
    assert change_in_words(frames, then, since="it was rated", again="rank") == ""
    fewer = replace(frames, cells=frames.cells[frames.cells["seed"] < 4])
    assert change_in_words(fewer, then, since="it was rated", again="rank") == (
        "The study has changed since it was rated: it had 134 finished runs then and has 107 now. What follows is of "
        "then; run `transferscope rank STUDY.toml` again."
    )
    others = FinishedRuns.of(str(i) for i in range(134))
    assert change_in_words(frames, others, since="it was rated", again="rank") == (
        "The study has changed since it was rated: other runs are finished now than then. What follows is of then; "
        "run `transferscope rank STUDY.toml` again."
    )


def test_diagnostics_do_not_change_what_was_placed_and_checkpoints_do(summary: Summary) -> None:
    frames = summary.frames
    row = frames.cells[frames.cells["state"] == "done"].iloc[[-1]].assign(key="new")
    for role, same in {"diagnose": True, "pretrain": True, "checkpoint": False, "method": False}.items():
        cells = pd.concat([frames.cells, row.assign(role=role)])
        assert (replace(frames, cells=cells).finished_runs == frames.finished_runs) == same


def test_finished_runs_are_equal_for_the_same_keys_in_any_order() -> None:
    assert FinishedRuns.of(["a", "b"]) == FinishedRuns.of(["b", "a"])
    assert FinishedRuns.of(["a", "b"]).count == 2
    others: list[list[str]] = [[], ["a"], ["a", "c"], ["a", "b", "c"], ["ab"]]
    assert all(FinishedRuns.of(["a", "b"]) != FinishedRuns.of(other) for other in others)
