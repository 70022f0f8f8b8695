import math
from dataclasses import replace

from report.comparisons import baseline, candidate
from transferscope.numerics.intervals import Interval
from transferscope.numerics.paired import PairedDifference
from transferscope.report.metric import ACCURACY, SQUARED_ERROR
from transferscope.report.sentences import chance_of_best, evidence, other_methods, reach

MERLIN = candidate("merlin", 0.029, "positive", p_best=0.7)
SCRATCH = baseline()


def test_what_a_method_reaches() -> None:
    assert reach(MERLIN, ACCURACY) == (
        "with 600 labels, MeRLin from mnist reaches 94.1 % (93.2–95.0), 2.9 points above training from scratch"
    )


def test_the_smallest_loss_is_still_a_loss() -> None:
    assert reach(candidate("joint", -0.02, "negative"), ACCURACY, even_so=True) == (
        "with 600 labels, joint training from mnist reaches 89.2 % (88.3–90.1), "
        "which is still 2.0 points below training from scratch"
    )


def test_with_one_seed_the_interval_is_said_to_be_over_test_examples() -> None:
    lonely = candidate("merlin", 0.029, "undecided", n_seeds=1)
    assert reach(lonely, ACCURACY) == (
        "with 600 labels, MeRLin from mnist reaches 94.1 % (92.9–95.3 over test examples), "
        "2.9 points above training from scratch"
    )
    assert evidence(lonely, ACCURACY) == "+1.9 to +3.9 points over test examples"


def test_a_squared_error_is_below_scratch_when_it_is_better() -> None:
    better = replace(MERLIN, score=replace(MERLIN.score, mean=0.213, interval=Interval(0.2, 0.226)))
    assert reach(better, SQUARED_ERROR) == (
        "with 600 labels, MeRLin from mnist reaches a squared error of 0.213 (0.2–0.226), "
        "0.029 below training from scratch"
    )


def test_the_evidence_names_interval_seeds_and_p_value() -> None:
    assert evidence(MERLIN, ACCURACY) == "+1.9 to +3.9 points over 5 seeds; p = 0.004 after Holm's correction"
    assert evidence(replace(MERLIN, p_holm=1e-5), ACCURACY).endswith("p < 0.001 after Holm's correction")


def test_equal_differences_are_called_what_they_are() -> None:
    alike = replace(MERLIN, difference=PairedDifference(0.029, 0.0, 3, None, math.nan, "undefined"))
    assert evidence(alike, ACCURACY) == ("exactly the same in all 3 seeds, so there is no spread to test it against")


def test_no_baseline_is_no_evidence() -> None:
    assert evidence(replace(MERLIN, difference=None), ACCURACY) == ""


def test_the_chance_of_being_best_names_those_that_may_be_too() -> None:
    rival = candidate("l2-sp", 0.02, "positive", p_best=0.26)
    assert chance_of_best(MERLIN, [SCRATCH, MERLIN, rival]) == (
        "It is the best of the 3 with probability 70 %; it could also be L2-SP from mnist (26 %)."
    )


def test_a_sure_best_needs_no_rivals() -> None:
    sure = replace(MERLIN, p_best=0.999)
    assert chance_of_best(sure, [SCRATCH, sure]) == "It is the best of the 2 with probability > 99 %."


def test_a_better_one_than_the_leader_is_named() -> None:
    higher = candidate("fine-tune", 0.04, "undecided", p_best=0.8)
    lead = replace(MERLIN, p_best=0.2)
    assert chance_of_best(lead, [SCRATCH, lead, higher]) == (
        "The best of the 3 is more likely fine-tuning from mnist (80 %)."
    )
    worse = candidate("joint", -0.1, "negative")
    scratch = baseline(p_best=0.998)
    assert chance_of_best(worse, [scratch, worse]) == (
        "Training from scratch is the best of the 2 with probability > 99 %."
    )


def test_no_chance_is_told_without_predictions() -> None:
    unknown = replace(MERLIN, p_best=math.nan)
    assert chance_of_best(unknown, [SCRATCH, unknown]) == ""


def test_other_methods_are_told_by_what_they_do() -> None:
    group = [
        SCRATCH,
        MERLIN,
        candidate("merlin", 0.02, "positive", source="fashion"),
        candidate("fine-tune", 0.01, "positive"),
        candidate("fine-tune", 0.012, "positive", source="fashion"),
        candidate("joint", -0.016, "negative"),
        candidate("joint", -0.034, "negative", source="fashion"),
        candidate("linear-probe", 0.001, "undecided"),
    ]
    assert other_methods(group, "helps", ACCURACY) == (
        "MeRLin from fashion and fine-tuning from either source also help (+1.0 to +2.0); "
        "joint training from either source hurt (−3.4 to −1.6); "
        "linear probe from mnist cannot be told apart from training from scratch."
    )


def test_with_one_source_it_is_not_named_again() -> None:
    group = [SCRATCH, MERLIN, candidate("joint", -0.02, "negative")]
    assert other_methods(group, "helps", ACCURACY) == "Joint training hurts (−2.0)."


def test_a_leader_without_others_has_none() -> None:
    assert other_methods([SCRATCH, MERLIN], "helps", ACCURACY) == ""
