import math
from dataclasses import replace

import pytest

from report.comparisons import baseline, candidate
from transferscope.report.comparison import Comparison
from transferscope.report.outcome import Outcome, champion, outcome_of

BETTER = candidate("merlin", 0.03, "positive")
WORSE = candidate("joint", -0.03, "negative")
OPEN = candidate("fine-tune", 0.005, "undecided")


@pytest.mark.parametrize(
    ("candidates", "outcome"),
    [
        ([BETTER, WORSE, OPEN], "helps"),
        ([WORSE], "hurts"),
        ([WORSE, OPEN], "does not help"),
        ([OPEN], "undecided"),
        ([candidate("merlin", 0.03, "undecided", n_seeds=1)], "one seed"),
        ([candidate("merlin", 0.03, "no baseline")], "no baseline"),
        ([], "nothing to compare"),
    ],
)
def test_the_outcome_follows_from_the_calls(candidates: list[Comparison], outcome: Outcome) -> None:
    assert outcome_of([baseline(), *candidates]) == outcome


def test_the_champion_of_what_helps_is_the_best_that_was_shown_to_help() -> None:
    open_but_higher = candidate("fine-tune", 0.05, "undecided")
    assert champion([baseline(), BETTER, open_but_higher], "helps") is BETTER


def test_the_champion_of_what_hurts_hurts_least() -> None:
    assert champion([baseline(), WORSE, candidate("l2-sp", -0.1, "negative")], "hurts") is WORSE


def test_without_a_baseline_the_champion_is_the_most_probable_best() -> None:
    unknown = replace(candidate("joint", 0.0, "no baseline"), p_best=math.nan, difference=None)
    likely = replace(candidate("merlin", 0.0, "no baseline", p_best=0.7), difference=None)
    assert champion([unknown, likely], "no baseline") is likely


def test_a_variant_without_a_source_is_no_transfer() -> None:
    without = candidate("merlin-target", 0.05, "positive", source=None)
    assert outcome_of([baseline(), without, WORSE]) == "hurts"
    assert champion([baseline(), without, WORSE], "hurts") is WORSE


def test_a_baseline_alone_speaks_for_itself() -> None:
    alone = baseline()
    assert champion([alone], "nothing to compare") is alone
