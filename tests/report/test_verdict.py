from dataclasses import replace

import pytest

from report.comparisons import baseline, candidate
from transferscope.report.advice import Progress
from transferscope.report.comparison import Comparison
from transferscope.report.metric import ACCURACY
from transferscope.report.verdict import Verdict, reach_verdict

COMPLETE = Progress(30, 30, 0)


def test_one_size_where_transfer_helps() -> None:
    verdict = _verdict(
        baseline(),
        candidate("merlin", 0.029, "positive", p_best=0.97),
        candidate("joint", -0.016, "negative"),
    )
    assert verdict.outcomes == {600: "helps"}
    assert verdict.headline == (
        "Transfer helps: with 600 labels, MeRLin from mnist reaches 94.1 % (93.2–95.0), "
        "2.9 points above training from scratch."
    )
    assert verdict.sentences == (
        "The difference is +1.9 to +3.9 points over 5 seeds; p = 0.004 after Holm's correction. "
        "It is the best of the 3 with probability 97 %. Joint training hurts (−1.6).",
    )


def test_one_size_where_transfer_hurts() -> None:
    verdict = _verdict(baseline(p_best=0.99), candidate("joint", -0.016, "negative", p_best=0.01))
    assert verdict.headline == (
        "Transfer hurts: with 600 labels, joint training from mnist reaches 89.6 % (88.7–90.5), "
        "which is still 1.6 points below training from scratch."
    )


def test_one_seed_is_told_that_it_says_nothing_about_spread() -> None:
    verdict = _verdict(baseline(n_seeds=1), candidate("merlin", 0.029, "undecided", n_seeds=1, p_best=0.9))
    assert verdict.headline.startswith("One seed cannot tell whether transfer helps: with 600 labels, MeRLin")
    assert verdict.sentences[-1] == (
        "There is one seed, so nothing can be said about the spread between runs, and the intervals speak of other "
        "test examples only. Run at least three seeds, better five, before acting on a difference."
    )


def test_no_baseline_is_told_to_add_one() -> None:
    alone = replace(candidate("merlin", 0.0, "no baseline", p_best=1.0), difference=None)
    verdict = _verdict(alone)
    assert verdict.headline == (
        "Whether transfer helps cannot be said, because nothing was trained from scratch: "
        "with 600 labels, MeRLin from mnist reaches 91.2 % (90.3–92.1)."
    )
    assert verdict.sentences == (
        "Add [methods.scratch] to the study file and run it again; the cells that are done stay done.",
    )


def test_a_baseline_alone_is_told_that_nothing_else_is_there() -> None:
    assert _verdict(baseline()).headline == (
        "Whether transfer helps cannot be said, because no method of transfer has a result yet: "
        "with 600 labels, training from scratch reaches 91.2 % (90.3–92.1)."
    )


def test_several_sizes_with_one_outcome_are_told_from_first_to_last() -> None:
    verdict = _verdict(
        baseline(n_target=50),
        candidate("merlin", 0.123, "positive", n_target=50),
        baseline(n_target=600),
        candidate("merlin", 0.029, "positive", n_target=600),
    )
    assert verdict.headline == (
        "Transfer helps at every number of labels: MeRLin from mnist is 12.3 points above training from scratch "
        "with 50 labels and 2.9 points above it with 600."
    )
    assert [sentence[:14] for sentence in verdict.sentences] == ["With 50 labels", "With 600 label"]


def test_several_sizes_with_other_champions_speak_of_the_best() -> None:
    verdict = _verdict(
        baseline(n_target=50),
        candidate("merlin", -0.02, "negative", n_target=50),
        baseline(n_target=600),
        candidate("joint", -0.01, "negative", n_target=600),
    )
    assert verdict.headline == (
        "Transfer hurts at every number of labels: even the best method is 2.0 points below training from scratch "
        "with 50 labels and 1.0 points below it with 600."
    )


def test_several_sizes_with_different_outcomes_are_told_apart() -> None:
    verdict = _verdict(
        *(baseline(n_target=n) for n in (50, 200, 600)),
        candidate("merlin", 0.1, "positive", n_target=50),
        candidate("merlin", 0.05, "positive", n_target=200),
        candidate("merlin", 0.005, "undecided", n_target=600),
    )
    assert verdict.headline == (
        "With 50 and 200 labels transfer helps; with 600 labels it is undecided whether transfer helps."
    )
    assert verdict.sentences[-1].startswith(
        "About 23 seeds instead of 5 would probably decide the undecided comparison"
    )


@pytest.mark.parametrize(
    ("gain", "leaning"),
    [
        (0.1, ": it looks so, but 5 seeds cannot rule out chance among so many comparisons."),
        (0.0, "."),
    ],
)
def test_an_undecided_study_says_where_it_leans(gain: float, leaning: str) -> None:
    verdict = _verdict(
        *(baseline(n_target=n) for n in (50, 600)),
        *(candidate("merlin", gain, "undecided", n_target=n) for n in (50, 600)),
    )
    assert verdict.headline == f"It is undecided whether transfer helps{leaning}"


def test_an_incomplete_study_says_so_last() -> None:
    verdict = reach_verdict([baseline(), candidate("merlin", 0.03, "positive")], ACCURACY, Progress(30, 20, 1))
    assert verdict.sentences[-1] == (
        "The study is not complete: 9 of 30 cells are not done yet and 1 failed. This verdict rests on the others."
    )


def test_the_verdict_prints_as_lines() -> None:
    assert str(Verdict({600: "helps"}, "Transfer helps.", ("One.", "Two."))) == "Transfer helps.\nOne.\nTwo."


def _verdict(*comparisons: Comparison) -> Verdict:
    return reach_verdict(comparisons, ACCURACY, COMPLETE)
