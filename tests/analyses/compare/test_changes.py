from dataclasses import replace

import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.records import FinishedRuns


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
