from dataclasses import replace

from analyses.rank.ranked import bounded, choice, hindsight, ranking, score
from transferscope.analyses.rank.ranking import RANDOM, LeftOut
from transferscope.analyses.rank.words import hindsight_in_words, in_words


def test_one_network_is_first_by_most_scores_and_some_cannot_tell() -> None:
    found = in_words(
        ranking(
            score("logme", {"a": 0.9, "b": 0.5, RANDOM: 0.1}),
            score("leep", {"a": 0.9, "b": 0.85, RANDOM: 0.1}),
            score("knn", {"a": 0.5, "b": 0.9, RANDOM: 0.45}),
        )
    )
    assert found == (
        "With 100 labels (3 draws) a is first by 2 of 3 scores, b by 1.",
        "leep cannot tell a from b.",
        "a is not clearly above random features by knn.",
    )


def test_a_clear_winner() -> None:
    one = score("logme", {"a": 0.9, "b": 0.5, RANDOM: 0.1})
    assert in_words(ranking(one)) == (
        "With 100 labels (3 draws) a is first by logme.",
        "Every pretrained network is clearly above random features by every score.",
    )
    two = ranking(one, replace(one, score="leep"))
    assert in_words(two)[0] == "With 100 labels (3 draws) a is first by all 2 scores."


def test_disagreement_and_nothing_to_offer() -> None:
    found = in_words(
        replace(
            ranking(
                score("logme", {"a": 0.9, "b": 0.1, RANDOM: 0.89}),
                score("knn", {"a": 0.1, "b": 0.2, RANDOM: 0.9}),
            ),
            seeds=(0,),
            left_out=(LeftOut("leep", "for classes"),),
        )
    )
    assert found == (
        "With 100 labels the scores disagree: of 2, a by 1 and random features by 1 are first.",
        "a and b are not clearly above random features by any score.",
        "leep is for labels that are classes, so it is left out.",
    )


def test_hindsight_says_what_choosing_costs() -> None:
    assert hindsight_in_words(hindsight()) == (
        "Held against what fine-tune gave in 6 cases (a number of labels and a seed), choosing by logme loses 1.0 "
        "points of accuracy against the best source on average, and picking at random 5.0.",
        "Clearly better than picking at random: logme.",
    )
    bad = replace(hindsight(), choices=(choice("knn", 0.08, bounded(-0.03, 0.01)), choice("", 0.05, None)))
    assert hindsight_in_words(bad)[1:] == (
        "No score is clearly better than picking at random.",
        "Clearly worse than picking at random: knn.",
    )
