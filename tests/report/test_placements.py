import math
from dataclasses import replace

import pandas as pd
import pytest

from report.placed import NOT_MEASURED, point, ranged
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.words import change_in_words
from transferscope.estimate import Estimate
from transferscope.records import FinishedRuns
from transferscope.report.placements import description_in_words, placement_rows, signs_in_words, signs_of
from transferscope.theory.placement_document import KeptPlacements

UP, DOWN, ACROSS = ranged(0.2, 0.1, 0.3), ranged(-0.2, -0.3, -0.1), ranged(0.1, -0.1, 0.3)
ONE_SEED = Estimate(0.2, None, 1, "too_few")
NO_FINITE = ranged(-math.inf, -math.inf, -0.1)


@pytest.mark.parametrize(
    ("modelled", "measured", "signs"),
    [
        (UP, UP, "same"),
        (DOWN, DOWN, "same"),
        (UP, DOWN, "opposite"),
        (NO_FINITE, UP, "opposite"),
        (ACROSS, UP, "open"),
        (UP, ACROSS, "open"),
        (UP, ONE_SEED, "open"),
        (UP, NOT_MEASURED, "open"),
    ],
)
def test_signs_are_compared_where_both_are_known(modelled: Estimate, measured: Estimate, signs: str) -> None:
    assert signs_of(point(modelled=modelled, measured=measured).placement) == signs


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (
            [(UP, UP), (UP, DOWN), (UP, ACROSS), (UP, ONE_SEED), (ACROSS, NOT_MEASURED)],
            "The linear-transfer model and the measurement have the same sign in 1 of 5 cases and opposite signs in 1; "
            "in 3 it cannot be told, because an interval holds 0, there is one seed or nothing was measured.",
        ),
        (
            [(DOWN, DOWN)],
            "The linear-transfer model and the measurement have the same sign in 1 of 1 case and opposite signs in 0.",
        ),
        (
            [(UP, NOT_MEASURED), (DOWN, NOT_MEASURED)],
            "Nothing was measured to hold the linear-transfer model against; that takes a linear probe and training "
            "from scratch on the same seeds.",
        ),
    ],
)
def test_cases_are_counted_in_a_sentence(pairs: list[tuple[Estimate, Estimate]], words: str) -> None:
    assert signs_in_words([point(modelled=modelled, measured=measured) for modelled, measured in pairs]) == words


APART, WITHIN = ranged(0.2, 0.1, 0.3), ranged(0.05, -0.1, 0.2)


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        (
            [APART, APART],
            "This model does not describe these pairs: held against the error of training from scratch on held-out "
            "examples, what it says agrees within what is known of both in 0 of 2 cases.",
        ),
        (
            [WITHIN],
            "This model describes these pairs: held against the error of training from scratch on held-out examples, "
            "what it says agrees within what is known of both in 1 of 1 case.",
        ),
        (
            [WITHIN, APART, ONE_SEED],
            "This model describes 1 of 2 pairs and numbers of labels, and not the others: held against the error of "
            "training from scratch on held-out examples, what it says agrees within what is known of both in 1 of 2 "
            "cases.",
        ),
        (
            [NOT_MEASURED],
            "Whether the linear-transfer model describes these pairs cannot be told: that takes two seeds of training "
            "from scratch to compare with.",
        ),
    ],
)
def test_whether_the_model_describes_the_pairs_is_said_first(gaps: list[Estimate], words: str) -> None:
    points = [point(n_target=i, modelled=UP, measured=UP, scratch_gap=gap) for i, gap in enumerate(gaps)]
    assert description_in_words(points) == words


def test_a_study_that_has_changed_since_is_said(summary: Summary) -> None:
    frames = summary.frames
    kept = KeptPlacements((), "", None, frames.finished_runs)
    assert frames.finished_runs.count == 3 * 5 * 9 - 1  # sizes, seeds, methods; one has failed
    assert change_in_words(frames, kept.runs, since="it was placed", again="theory place") == ""
    fewer = replace(frames, cells=frames.cells[frames.cells["seed"] < 4])
    assert change_in_words(fewer, kept.runs, since="it was placed", again="theory place") == (
        "The study has changed since it was placed: it had 134 finished runs then and has 107 now. What follows is of "
        "then; run `transferscope theory place STUDY.toml` again."
    )
    others = KeptPlacements((), "", None, FinishedRuns.of(str(i) for i in range(134)))
    assert change_in_words(frames, others.runs, since="it was placed", again="theory place") == (
        "The study has changed since it was placed: other runs are finished now than then. What follows is of then; "
        "run `transferscope theory place STUDY.toml` again."
    )


def test_diagnostics_do_not_change_what_was_placed_and_checkpoints_do(summary: Summary) -> None:
    frames = summary.frames
    row = frames.cells[frames.cells["state"] == "done"].iloc[[-1]].assign(key="new")
    for role, same in {"diagnose": True, "pretrain": True, "checkpoint": False, "method": False}.items():
        cells = pd.concat([frames.cells, row.assign(role=role)])
        assert (replace(frames, cells=cells).finished_runs == frames.finished_runs) == same


def test_rows_hold_every_number_with_its_interval() -> None:
    rows = placement_rows([point("fashion", 50, modelled=NO_FINITE, measured=UP)])
    assert list(rows.columns) == [
        *("source", "method", "n_target", "name", "value", "low", "high", "stderr", "n", "status")
    ]
    by_name = {str(row["name"]): row for row in rows.to_dict("records")}
    measured, modelled = by_name["measured"], by_name["modelled"]
    assert [measured[name] for name in ("source", "method", "n_target", "value", "low", "high")] == [
        *("fashion", "linear-probe", 50, 0.2, 0.1, 0.3)
    ]
    assert [modelled[name] for name in ("value", "low", "high", "status")] == [-math.inf, -math.inf, -0.1, "unbounded"]
    assert math.isnan(by_name["gap"]["value"])
    assert len(rows) == 12
