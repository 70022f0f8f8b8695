import math
from dataclasses import replace

import pytest

from comparisons import candidate, difference
from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.words import Progress, completeness, seeds_to_decide


def test_a_complete_study_needs_no_word() -> None:
    assert completeness(Progress(total=30, done=30, failed=0)) == ""


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (Progress(30, 25, 0), "5 of 30 cells are not done yet"),
        (Progress(30, 29, 0), "1 of 30 cells is not done yet"),
        (Progress(30, 29, 1), "1 of 30 cells failed"),
        (Progress(30, 20, 3), "7 of 30 cells are not done yet and 3 failed"),
    ],
)
def test_what_is_missing_is_said(progress: Progress, said: str) -> None:
    assert completeness(progress) == f"The study is not complete: {said}. This verdict rests on the others."


def test_the_seeds_to_decide_are_those_of_the_power() -> None:
    undecided = [_undecided(seeds=17), _undecided(seeds=9)]
    runs = [_taking(one, 10.0, 30.0) for one in (*undecided, candidate("merlin", 0.05, "positive"))]
    assert seeds_to_decide(runs) == (
        "About 9 to 17 seeds instead of 5 would probably decide the 2 undecided comparisons "
        "(with 80 % power, if differences and spread stay as they are): seeds = 9 in the study file and "
        "`transferscope run` again, about 4 min of computing more for the first of them and 12 min for the last."
    )  # 4 or 12 seeds more, each with three runs of 10 s and one pre-training of 30 s: all have the same source


def test_no_time_is_said_that_was_not_measured() -> None:
    runs = [_taking(_undecided(seeds=9), math.nan, math.nan)]
    assert seeds_to_decide(runs).endswith("seeds = 9 in the study file and `transferscope run` again.")


def _taking(one: Comparison, seconds: float, pretraining: float) -> Comparison:
    return replace(one, cost=replace(one.cost, seconds=seconds, pretraining_seconds=pretraining))


def test_more_seeds_are_asked_for_than_there_are() -> None:
    assert seeds_to_decide([_undecided(seeds=5)]).startswith(
        "About 6 seeds instead of 5 would probably decide the undecided comparison ("
    )


def test_a_difference_that_is_small_beside_its_spread_is_called_that() -> None:
    assert seeds_to_decide([_undecided(seeds=0)]) == (
        "The undecided comparison would take more than 200 seeds to decide: "
        "beside its spread, what was measured is close to no difference."
    )


def test_what_can_be_decided_is_told_from_what_cannot() -> None:
    said = seeds_to_decide([_undecided(seeds=0), _undecided(seeds=9)])
    assert "would probably decide 1 of the 2 undecided comparisons; the rest would take more than 200 " in said


def test_nothing_is_advised_where_all_is_decided_or_untestable() -> None:
    alike = replace(candidate("joint", 0.1, "undecided"), difference=difference(0.1, 3, math.nan))
    assert seeds_to_decide([candidate("merlin", 0.05, "positive"), alike]) == ""


def test_what_seeds_cannot_decide_asks_for_a_larger_test_set() -> None:
    assert "larger test set" in seeds_to_decide([_undecided(seeds=0, wants="a larger test set")])
    assert "larger test set" not in seeds_to_decide([_undecided(seeds=9, wants="a larger test set")])
    assert "larger test set" not in seeds_to_decide([_undecided(seeds=0)])


def test_what_leans_is_still_open() -> None:
    leaning = replace(_undecided(seeds=9), call="leans positive")
    assert seeds_to_decide([leaning]) == seeds_to_decide([_undecided(seeds=9)]) != ""


def _undecided(*, seeds: int, wants: str = "more seeds") -> Comparison:
    found = candidate("fine-tune", 0.01, "undecided")
    assert found.difference is not None
    return replace(found, difference=replace(found.difference, seeds_to_decide=seeds, wants=wants))
