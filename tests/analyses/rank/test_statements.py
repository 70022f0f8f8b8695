"""What is said of a ranking: the kinds of statements and their facts, and words for all of them."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from analyses.rank.ranked import bounded, choice, hindsight, ranking, score, study_ranking
from transferscope.analyses.rank.ranking import RANDOM, LeftOut, Ranking, ScoreRanking, in_order
from transferscope.analyses.rank.statements import WORDS, answer, notes, reasons


def with_chances(name: str, chances: Mapping[str, float | None]) -> ScoreRanking:
    """A score that puts its candidates first with these chances."""
    made = score(name, {candidate: chance or 0.0 for candidate, chance in chances.items()})
    rated = tuple(replace(one, probability_best=chances[one.candidate]) for one in made.rated)
    return replace(made, rated=rated)


def of(*chances: Mapping[str, float | None]) -> Ranking:
    return ranking(*(with_chances(f"score {i}", one) for i, one in enumerate(chances)))


def test_the_order_is_that_of_the_mean_chance_over_scores_that_rate_all() -> None:
    found = in_order(
        of(
            {"a": 0.2, "b": 0.7, RANDOM: 0.1},
            {"a": 0.5, "b": 0.4, RANDOM: 0.1},
            {"a": 1.0, "b": None, RANDOM: 0.0},  # says nothing of b, and so nothing of who is first
        )
    )
    assert [one.candidate for one in found] == ["b", "a", RANDOM]
    assert [one.chance for one in found] == pytest.approx([0.55, 0.35, 0.1])
    assert [(one.best_place, one.worst_place) for one in found] == [(1, 2), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("chances", "kind", "facts"),
    [
        ([{"a": 0.95, "b": 0.05, RANDOM: 0.0}], "start with", {"first": "a", "chance": 0.95}),
        ([{"a": 0.89, "b": 0.11, RANDOM: 0.0}], "open", {"leading": [("a", 0.89), ("b", 0.11)]}),
        (
            [{"a": 1.0, "b": 0.0, RANDOM: 0.0}, {"a": 0.0, "b": 1.0, RANDOM: 0.0}],  # two scores, each sure of another
            "open",
            {"leading": [("a", 0.5), ("b", 0.5)]},
        ),
        ([{"a": 0.03, "b": 0.02, RANDOM: 0.95}], "random features", {"chance": 0.95}),
        ([{"a": None, "b": None, RANDOM: None}], "no spread", {}),
    ],
)
def test_one_network_is_named_only_where_its_chance_calls_for_it(
    chances: list[Mapping[str, float | None]], kind: str, facts: Mapping[str, object]
) -> None:
    found = answer(of(*chances))
    assert found.kind == kind
    assert facts.items() <= found.facts.items()


def test_a_network_that_no_score_puts_above_random_features_is_not_called() -> None:
    unsure = with_chances("logme", {"a": 0.95, RANDOM: 0.05})
    rated = tuple(replace(one, above_random=one.above_random and bounded(0.9, 1.0)) for one in unsure.rated)
    assert answer(ranking(replace(unsure, rated=rated))).kind == "first, not above random"


def test_networks_with_nothing_to_offer_and_scores_left_out_are_named() -> None:
    one = ranking(score("logme", {"a": 0.9, "b": 0.12, RANDOM: 0.1}))
    out = (LeftOut("leep", "for classes"), LeftOut("knn", "no value"), LeftOut("nce", "for classes"))
    found = notes(replace(study_ranking(), rankings=(replace(one, left_out=out),), hindsight=None))
    assert [(each.kind, dict(each.facts)) for each in found] == [
        ("not above random", {"names": ["b"]}),
        ("left out", {"scores": ["leep", "nce"], "reason": "for classes"}),
        ("left out", {"scores": ["knn"], "reason": "no value"}),
    ]
    every = reasons([LeftOut("leep", reason) for reason in LeftOut.__annotations__["reason"].__args__])
    assert all("None" not in sentence for sentence in WORDS.all_of(every))


def test_hindsight_is_what_choosing_costs() -> None:
    chosen, better = list(notes(study_ranking()))[-2:]
    assert (chosen.kind, chosen.facts["best"], chosen.facts["worst"]) == ("chosen", ["logme"], ["leep"])
    assert (chosen.facts["least"], chosen.facts["most"], chosen.facts["at_random"]) == (0.01, 0.07, 0.05)
    assert (better.kind, better.facts["scores"]) == ("better than random", ["logme"])
    bad = replace(hindsight(), choices=(choice("knn", 0.08, bounded(-0.03, 0.01)), choice("", 0.05, None)))
    *_, last = notes(replace(study_ranking(), hindsight=bad))
    assert (last.kind, last.facts["scores"]) == ("better than random", [])


def test_scores_are_compared_over_the_same_cases() -> None:
    partial = replace(choice("transrate", 0.2, None), n_cases=2)
    seen = replace(hindsight(), choices=(partial, *hindsight().choices))
    chosen = next(one for one in notes(replace(study_ranking(), hindsight=seen)) if one.kind == "chosen")
    assert (chosen.facts["worst"], chosen.facts["most"]) == (["leep"], 0.07)
