from dataclasses import replace

import pytest

from comparisons import baseline, candidate
from transferscope.analyses.compare.comparison import Comparison, Outcome, champion, outcome_of
from transferscope.study.metric import ACCURACY, SQUARED_ERROR

BETTER = candidate("merlin", 0.03, "positive")
WORSE = candidate("joint", -0.03, "negative")
OPEN = candidate("fine-tune", 0.005, "undecided")
UP = candidate("fine-tune", 0.02, "leans positive")
DOWN = candidate("l2-sp", -0.02, "leans negative")
SAME = candidate("linear-probe", 0.001, "equivalent")


@pytest.mark.parametrize(
    ("candidates", "outcome"),
    [
        ([BETTER, WORSE, OPEN], "helps"),
        ([WORSE], "hurts"),
        ([WORSE, OPEN], "undecided"),
        ([WORSE, SAME], "does not help"),
        ([SAME], "does not help"),
        ([SAME, OPEN], "undecided"),
        ([OPEN], "undecided"),
        ([UP, OPEN, DOWN], "seems to help"),
        ([UP, WORSE], "seems to help"),
        ([BETTER, UP, DOWN], "helps"),
        ([DOWN], "seems to hurt"),
        ([DOWN, WORSE], "seems to hurt"),
        ([DOWN, OPEN], "undecided"),
        ([DOWN, OPEN, WORSE], "undecided"),
        ([candidate("merlin", 0.03, "undecided", n_seeds=1)], "one seed"),
        ([candidate("merlin", 0.03, "no baseline")], "no baseline"),
        ([], "nothing to compare"),
    ],
)
def test_the_outcome_follows_from_the_calls(candidates: list[Comparison], outcome: Outcome) -> None:
    assert outcome_of([baseline(), *candidates]) == outcome


def test_the_champion_of_what_helps_is_the_likeliest_to_be_best_of_those_that_do() -> None:
    open_but_higher = candidate("fine-tune", 0.05, "undecided", p_best=0.6)
    assert champion([baseline(), BETTER, open_but_higher], "helps", ACCURACY) is BETTER
    likelier = candidate("l2-sp", 0.029, "positive", p_best=0.4)
    assert champion([baseline(), BETTER, likelier], "helps", ACCURACY) is likelier


def test_the_champion_of_what_hurts_hurts_least() -> None:
    assert champion([baseline(), WORSE, candidate("l2-sp", -0.1, "negative")], "hurts", ACCURACY) is WORSE


def test_the_champion_of_what_seems_to_help_is_one_that_does() -> None:
    open_but_higher = candidate("merlin", 0.05, "undecided")
    assert champion([baseline(), UP, open_but_higher], "seems to help", ACCURACY) is UP


def test_without_a_baseline_the_champion_has_the_best_mean_whatever_the_measure() -> None:
    low, high = (replace(candidate("merlin", gain, "no baseline"), difference=None) for gain in (0.0, 0.1))
    assert champion([low, high], "no baseline", ACCURACY) is high
    assert champion([low, high], "no baseline", SQUARED_ERROR) is low


def test_a_variant_without_a_source_is_no_transfer() -> None:
    without = candidate("merlin-target", 0.05, "positive", source=None)
    assert outcome_of([baseline(), without, WORSE]) == "hurts"
    assert champion([baseline(), without, WORSE], "hurts", ACCURACY) is WORSE


def test_a_baseline_alone_speaks_for_itself() -> None:
    alone = baseline()
    assert champion([alone], "nothing to compare", ACCURACY) is alone
