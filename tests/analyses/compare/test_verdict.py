from dataclasses import replace

import pytest

from comparisons import baseline, candidate, difference
from transferscope.analyses.compare.comparison import Call, Comparison
from transferscope.analyses.compare.verdict import reach_verdict
from transferscope.analyses.compare.words import Progress
from transferscope.report.page import Verdict
from transferscope.study.metric import ACCURACY

COMPLETE = Progress(30, 30, 0)
MERLIN = candidate("merlin", 0.029, "positive", p_best=0.7)


def test_one_size_where_transfer_helps() -> None:
    verdict = _verdict(
        baseline(),
        candidate("merlin", 0.029, "positive", p_best=0.97),
        candidate("joint", -0.016, "negative"),
    )
    assert verdict.outcomes == {600: "helps"}
    assert verdict.headline == (
        "Use MeRLin from mnist with 600 labels: +2.9 points over training from scratch (1.9 to 3.9), 20 s a run."
    )
    for fact in ("94.1 % (93.2–95.0)", "over 5 seeds", "probability 97 %", "Joint training is worse (−1.6"):
        assert fact in verdict.sentences[0]


def test_one_size_where_transfer_hurts() -> None:
    verdict = _verdict(baseline(p_best=0.99), candidate("joint", -0.016, "negative", p_best=0.01))
    assert verdict.headline == (
        "Train from scratch with 600 labels: every way of transfer is worse, the best of them joint training from "
        "mnist: −1.6 points against training from scratch (−2.6 to −0.6)."
    )


def test_what_is_worse_or_equivalent_is_not_recommended() -> None:
    verdict = _verdict(baseline(), candidate("joint", -0.03, "negative"), candidate("merlin", 0.001, "equivalent"))
    assert verdict.outcomes == {600: "does not help"}
    assert verdict.headline.startswith("Train from scratch with 600 labels: every way of transfer is worse or equiv")
    assert any("“Equivalent” has an error of 5 %" in sentence for sentence in verdict.sentences)


@pytest.mark.parametrize(
    ("gain", "call", "outcome"), [(0.03, "leans positive", "help"), (-0.03, "leans negative", "harm")]
)
def test_what_leans_is_undecided_and_said_to_lean(gain: float, call: Call, outcome: str) -> None:
    verdict = _verdict(baseline(), candidate("merlin", gain, call), candidate("merlin", gain, call, source="fashion"))
    assert f"It is undecided whether transfer helps with 600 labels, leaning towards {outcome}; " in verdict.headline
    assert any("an adjusted p-value below 0.2, and only that" in sentence for sentence in verdict.sentences)


def test_an_open_question_says_what_would_decide_it() -> None:
    found = candidate("merlin", 0.01, "undecided")
    assert found.difference is not None
    for seeds, wants, said in [
        (9, "more seeds", "which about 9 seeds would decide."),
        (0, "a larger test set", "which takes a larger test set to decide."),
    ]:
        opened = replace(found, difference=replace(found.difference, seeds_to_decide=seeds, wants=wants))
        assert _verdict(baseline(), opened).headline.endswith(said)


def test_calls_say_whether_they_speak_of_other_test_examples() -> None:
    known = candidate("merlin", 0.03, "positive")
    assert known.difference is not None
    unknown = replace(known, difference=replace(known.difference, covers="seeds"))
    for found, said in [
        ((known,), "other seeds and other test examples"),
        ((unknown,), "other seeds on this test set"),
        ((known, unknown), "of other test examples where predictions were kept"),
    ]:
        (scope,) = [sentence for sentence in _verdict(baseline(), *found).sentences if "speak of" in sentence]
        assert said in scope
    lonely = _verdict(baseline(n_seeds=1), candidate("merlin", 0.03, "undecided", n_seeds=1))
    assert not any("speak of other seeds" in sentence for sentence in lonely.sentences)


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


def test_without_a_baseline_the_gain_over_the_best_control_is_said() -> None:
    leader = candidate("merlin", 0.0, "no baseline", p_best=1.0)
    beside = replace(leader, difference=None, control="raw", over_control=difference(0.05, 5, 0.004))
    ends = beside.over_control.interval  # type: ignore[union-attr]
    assert ends is not None
    verdict = _verdict(beside)
    assert verdict.headline.startswith("Whether transfer helps cannot be said")
    assert verdict.sentences[0].startswith(
        "MeRLin from mnist is 5.0 points above ridge on the raw inputs, the best of the controls that transfer nothing "
    )
    assert f"{100 * ends.low:+.1f} to {100 * ends.high:+.1f} points over 5 seeds" in verdict.sentences[0]


def test_a_baseline_alone_is_told_that_nothing_else_is_there() -> None:
    assert _verdict(baseline()).headline == (
        "Whether transfer helps cannot be said, because no method of transfer has a result yet: "
        "with 600 labels, training from scratch reaches 91.2 % (90.3–92.1)."
    )


def test_sizes_with_one_recommendation_share_it() -> None:
    verdict = _verdict(
        *(baseline(n_target=n) for n in (50, 200, 600)),
        *(candidate("merlin", gain, "positive", n_target=n) for n, gain in ((50, 0.123), (200, 0.05), (600, 0.03))),
    )
    assert verdict.headline == (
        "Use MeRLin from mnist with 50 labels: +12.3 points over training from scratch (11.3 to 13.3), 20 s a run; "
        "with 200 and 600 labels the call is the same."
    )
    assert [sentence[:14] for sentence in verdict.sentences[:2]] == ["With 50 labels", "With 200 label"]


def test_numbers_of_labels_come_in_ascending_order_whatever_was_given() -> None:
    verdict = _verdict(*(candidate("merlin", 0.1, "positive", n_target=n) for n in (600, 50, 200)))
    assert list(verdict.outcomes) == [50, 200, 600]
    assert [sentence.split()[1] for sentence in verdict.sentences[:3]] == ["50", "200", "600"]


def test_sizes_with_other_outcomes_have_a_line_each() -> None:
    verdict = _verdict(
        *(baseline(n_target=n) for n in (50, 200, 600)),
        candidate("merlin", 0.1, "positive", n_target=50),
        candidate("joint", 0.05, "positive", n_target=200),
        candidate("merlin", 0.005, "undecided", n_target=600),
    )
    clauses = verdict.headline.splitlines()
    assert clauses[0].startswith("Use MeRLin from mnist with 50 labels: +10.0 points")
    assert clauses[1].startswith("Use joint training from mnist with 200 labels: +5.0 points")
    assert clauses[2].startswith("It is undecided whether transfer helps with 600 labels; ")


def test_an_incomplete_study_says_so_last() -> None:
    verdict = reach_verdict([baseline(), candidate("merlin", 0.03, "positive")], ACCURACY, Progress(30, 20, 1))
    assert verdict.sentences[-1] == (
        "The study is not complete: 9 of 30 cells are not done yet and 1 failed. This verdict rests on the others."
    )


def test_the_verdict_prints_as_lines() -> None:
    assert str(Verdict({600: "helps"}, "Transfer helps.", ("One.", "Two."))) == "Transfer helps.\nOne.\nTwo."


def _verdict(*comparisons: Comparison) -> Verdict:
    return reach_verdict(comparisons, ACCURACY, COMPLETE)
