"""Facts of sentences: what they name, and what they must not claim."""

import math
import re
from dataclasses import replace

import pytest

from comparisons import baseline, candidate, difference
from transferscope.analyses.compare.comparison import Outcome
from transferscope.analyses.compare.words import (
    best_mean,
    chance_of_best,
    evidence,
    labels_saved,
    of_sources,
    other_methods,
    reach,
    recommendation,
)
from transferscope.estimate import Estimate, Interval
from transferscope.study.metric import ACCURACY, SQUARED_ERROR

MERLIN = candidate("merlin", 0.029, "positive", p_best=0.7)
SCRATCH = baseline()


def test_what_a_method_reaches_stands_beside_what_training_from_scratch_reaches() -> None:
    said = reach(MERLIN, [SCRATCH, MERLIN], ACCURACY)
    assert said.startswith("with 600 labels, MeRLin from mnist reaches 94.1 % (93.2–95.0), 2.9 points above")
    assert said.endswith("training from scratch (91.2 %)")


def test_a_squared_error_stands_beside_that_of_training_from_scratch() -> None:
    scratch = replace(SCRATCH, score=replace(SCRATCH.score, value=1.42))
    better = replace(
        candidate("merlin", 1.021, "positive"),
        score=replace(SCRATCH.score, value=0.399, interval=Interval(0.2, 0.6)),
    )
    said = reach(better, [scratch, better], SQUARED_ERROR)
    assert "a squared error of 0.399 (0.2–0.6), 1.02 below training from scratch (1.42)" in said


@pytest.mark.parametrize(("gain", "how"), [(-0.001, "0.1 points below it"), (-0.0001, "within 0.1 points of it")])
def test_a_method_below_scratch_is_no_champion(gain: float, how: str) -> None:
    below = candidate("merlin", gain, "undecided")
    said = reach(below, [SCRATCH, below], ACCURACY)
    assert "no method of transfer is better than training from scratch (91.2 %)" in said
    assert said.endswith(how)


def test_the_smallest_loss_is_still_a_loss() -> None:
    joint = candidate("joint", -0.02, "negative")
    assert "which is still 2.0 points below training from scratch (91.2 %)" in reach(
        joint, [SCRATCH, joint], ACCURACY, even_so=True
    )


def test_seeds_that_one_of_two_lacks_are_said() -> None:
    scratch = baseline(n_seeds=7)
    assert "the difference is that of the 5 seeds of both" in reach(MERLIN, [scratch, MERLIN], ACCURACY)


def test_two_seeds_are_shown_and_not_made_an_interval() -> None:
    """0.822 and 0.864 have a t-interval of 0.576 to 1.110."""
    two = replace(
        candidate("merlin", 0.1, "undecided", n_seeds=2),
        score=Estimate(0.843, 0.021, 2, "ok", Interval(0.576, 1.0)),
    )
    assert two.interval is None
    assert "84.3 % (82.2 % and 86.4 % in two seeds)" in reach(two, [SCRATCH, two], ACCURACY)


def test_with_one_seed_the_interval_is_said_to_be_over_test_examples() -> None:
    lonely = candidate("merlin", 0.029, "undecided", n_seeds=1)
    assert "94.1 % (92.9–95.3 over test examples)" in reach(lonely, [baseline(n_seeds=1), lonely], ACCURACY)
    assert evidence(lonely, ACCURACY) == "+1.9 to +3.9 points over test examples"


def test_the_evidence_names_interval_seeds_and_p_value() -> None:
    assert evidence(MERLIN, ACCURACY) == "+1.9 to +3.9 points over 5 seeds; adjusted p = 0.004"
    surely = replace(MERLIN, difference=difference(0.029, 5, 1e-5))
    assert evidence(surely, ACCURACY).endswith("adjusted p < 0.001")


def test_equal_differences_are_called_what_they_are() -> None:
    alike = replace(MERLIN, difference=difference(0.029, 3, math.nan))
    said = "exactly the same in all 3 seeds, so there is no spread to test it against"
    assert evidence(alike, ACCURACY) == f"+1.9 to +3.9 points over test examples; {said}"
    assert alike.difference is not None
    bare = replace(alike, difference=replace(alike.difference, interval=None))  # the predictions were not kept
    assert evidence(bare, ACCURACY) == said


@pytest.mark.parametrize("n_seeds", [2, 3])
def test_a_score_that_all_seeds_share_is_not_said_to_be_known_exactly(n_seeds: int) -> None:
    score = Estimate(0.389, 0.0, n_seeds, "ok", Interval(0.389, 0.389))
    alike = replace(MERLIN, score=score, test_interval=Interval(0.347, 0.433), seeds=tuple(range(n_seeds)))
    said = reach(alike, [SCRATCH, alike], ACCURACY)
    assert "reaches 38.9 % (34.7–43.3 over test examples, the same in all seeds)" in said
    assert "reaches 38.9 % (the same in all seeds)" in reach(replace(alike, test_interval=None), [SCRATCH], ACCURACY)


def test_no_baseline_is_no_evidence() -> None:
    assert evidence(replace(MERLIN, difference=None), ACCURACY) == ""


def test_the_chance_of_being_best_names_those_that_may_be_too() -> None:
    rival = candidate("l2-sp", 0.02, "positive", p_best=0.26)
    said = chance_of_best(MERLIN, [SCRATCH, MERLIN, rival], "helps")
    assert "best of the 3 with probability 70 %" in said
    assert "L2-SP from mnist (26 %)" in said


def test_a_sure_best_needs_no_rivals() -> None:
    sure = replace(MERLIN, p_best=0.999)
    assert chance_of_best(sure, [SCRATCH, sure], "helps") == "It is the best of the 2 with probability > 99 %."
    scratch, worse = baseline(p_best=0.998), candidate("joint", -0.1, "negative")
    assert "Training from scratch is the best of the 2" in chance_of_best(worse, [scratch, worse], "hurts")


@pytest.mark.parametrize("outcome", ["undecided", "seems to help", "seems to hurt", "does not help", "one seed"])
def test_where_the_tests_leave_it_open_no_chance_says_more(outcome: Outcome) -> None:
    assert chance_of_best(replace(MERLIN, p_best=0.97), [SCRATCH, MERLIN], outcome) == ""


def test_a_likelier_best_that_is_not_known_to_help_is_named_as_that() -> None:
    higher = candidate("fine-tune", 0.04, "undecided", p_best=0.6)
    lead = replace(MERLIN, p_best=0.2)
    assert chance_of_best(lead, [SCRATCH, lead, higher], "helps").endswith(
        "with probability 20 %; fine-tuning from mnist has 60 %, but is not known to beat training from scratch."
    )


def test_no_chance_is_told_without_predictions() -> None:
    unknown = replace(MERLIN, p_best=math.nan)
    assert chance_of_best(unknown, [SCRATCH, unknown], "helps") == ""


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
    parts = re.split(r"; (?=[a-z])", other_methods(group, "helps", ACCURACY).rstrip("."))
    assert parts == [
        "MeRLin from fashion and fine-tuning from either source are better than training from scratch (+1.0 to +2.0)",
        "joint training from either source are worse (−3.4 to −1.6)",
        "linear probe from mnist is undecided (+0.1; −0.9 to +1.1)",
    ]


def test_clear_harm_is_called_worse() -> None:
    """−3.1 points with an interval of −4.1 to −2.1."""
    said = other_methods([SCRATCH, MERLIN, candidate("joint", -0.031, "negative")], "helps", ACCURACY)
    assert said == "Joint training is worse (−3.1; −4.1 to −2.1)."


def test_what_leans_is_said_to_do_only_that() -> None:
    said = other_methods([SCRATCH, MERLIN, candidate("joint", -0.031, "leans negative")], "helps", ACCURACY)
    assert said == "Joint training leans towards worse, no more (−3.1; −4.1 to −2.1)."


def test_every_source_has_a_verdict() -> None:
    noise = [candidate(m, -0.05, "negative", source="noise") for m in ("merlin", "joint")]
    assert of_sources([SCRATCH, MERLIN, candidate("joint", -0.02, "negative"), *noise]) == (
        "By source: mnist: better than from scratch; noise: worse than from scratch."
    )
    assert of_sources([SCRATCH, MERLIN]) == ""


def test_the_recommendation_names_gain_time_and_what_is_cheaper() -> None:
    slow = replace(MERLIN, cost=replace(MERLIN.cost, seconds=1.5, pretraining_seconds=0.3))
    quick = candidate("linear-probe", 0.02, "positive")
    quick = replace(quick, cost=replace(quick.cost, seconds=0.018))
    said = recommendation(slow, [SCRATCH, slow, quick], "helps", ACCURACY)
    assert said == (
        "use MeRLin from mnist with 600 labels: +2.9 points over training from scratch (1.9 to 3.9), 1.8 s a run; "
        "linear probe from mnist gives +2.0 for 1/100 of the time"
    )
    unknown = replace(slow, cost=replace(slow.cost, pretraining_seconds=math.nan))
    assert recommendation(unknown, [SCRATCH, unknown, quick], "helps", ACCURACY).endswith("1.5 s a run")


def test_with_one_source_it_is_not_named_again() -> None:
    group = [SCRATCH, MERLIN, candidate("joint", -0.02, "negative")]
    assert other_methods(group, "helps", ACCURACY) == "Joint training is worse (−2.0; −3.0 to −1.0)."


def test_a_leader_without_others_has_none() -> None:
    assert other_methods([SCRATCH, MERLIN], "helps", ACCURACY) == ""


def test_the_best_mean_is_named_whoever_has_it() -> None:
    worse, better = candidate("joint", -0.1, "negative"), candidate("merlin", 0.02, "undecided")
    assert best_mean([baseline(), worse], ACCURACY).startswith(
        "With 600 labels the best mean of 2 ways is that of training"
    )
    assert "MeRLin from mnist: 93.2 %" in best_mean([baseline(), worse, better], ACCURACY)
    assert "MeRLin" not in best_mean([baseline(), worse, better], SQUARED_ERROR)  # less is better


@pytest.mark.parametrize(
    ("scratch", "said"),
    [
        ({50: 0.7, 200: 0.8, 600: 0.9}, "with none of up to 600 labels"),
        ({50: 0.7, 200: 0.96, 600: 0.97}, "training from scratch is as good with 200,"),
        ({50: 0.96, 200: 0.97}, "training from scratch is no worse with as few"),
    ],
)
def test_labels_that_transfer_saves_are_counted(scratch: dict[int, float], said: str) -> None:
    lead = candidate("merlin", 0.038, "positive", n_target=50)  # 95.0 %
    by_size = {size: [baseline(mean, n_target=size)] for size, mean in scratch.items()}
    by_size[50].append(lead)
    assert said in labels_saved(by_size, ACCURACY)


def test_without_a_baseline_the_best_of_the_fewest_and_the_most_labels_are_said() -> None:
    by_size = {n: [candidate("merlin", gain, "no baseline", n_target=n)] for n, gain in ((50, 0.0), (600, 0.05))}
    assert labels_saved(by_size, ACCURACY) == (
        "With 50 labels MeRLin from mnist reaches 91.2 %; with 600 MeRLin from mnist reaches 96.2 %."
    )
