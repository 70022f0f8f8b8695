"""The rows of arms in a terminal: bars to scale, marks by what was decided, costs that are known."""

import re

import numpy as np
import pytest

from made_up import made_up
from transferscope.analyses.compare.lines import lines_of
from transferscope.analyses.compare.summary import Summary, summarise_frames

STEPS = np.array([-0.004, 0.0, 0.002, -0.001, 0.003])
SHUFFLED = STEPS[[3, 0, 4, 2, 1]]
NOISY = np.array([0.05, -0.06, 0.04, -0.05, 0.03])
ARMS = {
    "scratch": ("", 0.70 + STEPS),
    "fine-tune": ("mnist", 0.80 + SHUFFLED),  # significantly better
    "linear-probe": ("mnist", 0.72 + NOISY),  # not distinguishable
    "joint": ("mnist", 0.60 + SHUFFLED),  # significantly worse
}


def rows_of(summary: Summary) -> dict[str, str]:
    """The row of each arm, by the first word of its name."""
    lines = lines_of(summary.frames, summary.decided, answers=["One sentence."])
    return {line.strip(" *").split(" ")[0].lower(): line for line in lines if re.search(r"\d\d\.\d %", line)}


def summary_of(*, seconds: float = 90.0) -> Summary:
    scores = {((name, source), 50): values for name, (source, values) in ARMS.items()}
    return summarise_frames(made_up(scores, seconds={(name, source): seconds for name, (source, _) in ARMS.items()}))


def test_bars_are_to_scale_and_filled_where_a_difference_is_significant() -> None:
    rows = rows_of(summary_of())
    marks = {name: re.search("[●○]", row) for name, row in rows.items()}
    assert {name: mark[0] for name, mark in marks.items()} == {
        "training": "●",  # a baseline has nothing to decide
        "fine-tuning": "●",
        "linear": "○",
        "joint": "●",
    }
    zero, better, worse = (marks[name].start() for name in ("training", "fine-tuning", "joint"))
    assert all(row[zero] in "│─●○" for row in rows.values())  # the line of the best baseline, or the interval over it
    assert better - zero == pytest.approx(zero - worse, abs=1)  # 10 points above and below
    assert better > zero > worse


@pytest.mark.parametrize(("seconds", "columns", "said"), [(90.0, 80, True), (np.nan, 80, False), (90.0, 60, False)])
def test_the_cost_of_a_run_is_shown_beside_a_bar_where_it_is_known(
    seconds: float, columns: int, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = rows_of(summary_of(seconds=seconds))
    assert {row.endswith(("90 s", "2 min", "1.5 min")) for row in rows.values()} == {said}
