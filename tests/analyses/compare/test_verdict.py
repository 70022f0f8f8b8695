from dataclasses import replace

import pytest

from comparisons import baseline, candidate
from transferscope.analyses.compare.comparison import Call, Comparison
from transferscope.analyses.compare.metric import ACCURACY
from transferscope.analyses.compare.verdict import reach_verdict
from transferscope.analyses.compare.words import Progress
from transferscope.report.page import Verdict

COMPLETE = Progress(30, 30, 0)
MERLIN = candidate("merlin", 0.029, "positive", p_best=0.7)


def test_one_size_where_transfer_helps() -> None:
    verdict = _verdict(
        baseline(),
        candidate("merlin", 0.029, "positive", p_best=0.97),
        candidate("joint", -0.016, "negative"),
    )
    assert verdict.outcomes == {600: "helps"}
    assert verdict.headline.startswith("Transfer helps: with 600 labels, MeRLin from mnist reaches 94.1 % (93.2–95.0)")
    for fact in ("+1.9 to +3.9 points over 5 seeds", "probability 97 %", "Joint training hurts (−1.6"):
        assert fact in verdict.sentences[0]


def test_one_size_where_transfer_hurts() -> None:
    verdict = _verdict(baseline(p_best=0.99), candidate("joint", -0.016, "negative", p_best=0.01))
    assert verdict.headline.startswith("Transfer hurts: with 600 labels, joint training from mnist reaches 89.6 %")
    assert "still 1.6 points below training from scratch (91.2 %)" in verdict.headline


@pytest.mark.parametrize(
    ("gain", "call", "outcome"), [(0.03, "leans positive", "help"), (-0.03, "leans negative", "hurt")]
)
def test_what_only_holds_taken_alone_seems_so(gain: float, call: Call, outcome: str) -> None:
    verdict = _verdict(baseline(), candidate("merlin", gain, call), candidate("merlin", gain, call, source="fashion"))
    assert verdict.headline.startswith(f"Transfer seems to {outcome}: ")
    assert any("each has its own 5 %" in sentence for sentence in verdict.sentences)


def test_calls_say_whether_they_speak_of_other_test_examples() -> None:
    known = candidate("merlin", 0.03, "positive")
    assert known.difference is not None
    unknown = replace(known, difference=replace(known.difference, test_sd=None))
    for found, said in [
        ((known,), "other seeds and other test examples"),
        ((unknown,), "other seeds on this test set"),
        ((known, unknown), "for other test examples where predictions were kept"),
    ]:
        (scope,) = [sentence for sentence in _verdict(baseline(), *found).sentences if "are meant for" in sentence]
        assert said in scope
    lonely = _verdict(baseline(n_seeds=1), candidate("merlin", 0.03, "undecided", n_seeds=1))
    assert not any("are meant for" in sentence for sentence in lonely.sentences)


def test_two_seeds_are_told_that_they_are_few() -> None:
    verdict = _verdict(baseline(n_seeds=2), candidate("merlin", 0.03, "undecided", n_seeds=2))
    assert any(sentence.startswith("Two seeds") for sentence in verdict.sentences)
    assert not any(sentence.startswith("Two seeds") for sentence in _verdict(baseline(), MERLIN).sentences)


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
    assert [sentence[:14] for sentence in verdict.sentences[:2]] == ["With 50 labels", "With 600 label"]


def test_numbers_of_labels_come_in_ascending_order_whatever_was_given() -> None:
    verdict = _verdict(*(candidate("merlin", 0.1, "positive", n_target=n) for n in (600, 50, 200)))
    assert list(verdict.outcomes) == [50, 200, 600]
    assert [sentence.split()[1] for sentence in verdict.sentences[:3]] == ["50", "200", "600"]


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
    assert "seeds instead of 5 would probably decide the undecided comparison" in verdict.sentences[-1]


@pytest.mark.parametrize(
    ("gain", "call", "headline"),
    [
        (0.1, "leans positive", "Transfer seems to help at every number of labels, but chance"),
        (-0.1, "leans negative", "Transfer seems to hurt at every number of labels, but chance"),
        (0.0, "undecided", "It is undecided whether transfer helps."),
    ],
)
def test_a_study_without_a_sure_call_says_where_it_leans(gain: float, call: Call, headline: str) -> None:
    verdict = _verdict(
        *(baseline(n_target=n) for n in (50, 600)),
        *(candidate("merlin", gain, call, n_target=n) for n in (50, 600)),
    )
    assert verdict.headline.startswith(headline)


def test_an_incomplete_study_says_so_last() -> None:
    verdict = reach_verdict([baseline(), candidate("merlin", 0.03, "positive")], ACCURACY, Progress(30, 20, 1))
    assert verdict.sentences[-1] == (
        "The study is not complete: 9 of 30 cells are not done yet and 1 failed. This verdict rests on the others."
    )


def test_the_verdict_prints_as_lines() -> None:
    assert str(Verdict({600: "helps"}, "Transfer helps.", ("One.", "Two."))) == "Transfer helps.\nOne.\nTwo."


def _verdict(*comparisons: Comparison) -> Verdict:
    return reach_verdict(comparisons, ACCURACY, COMPLETE)
