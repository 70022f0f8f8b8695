import json
from dataclasses import replace
from typing import Any

import pytest

from analyses.golden import stored_document
from analyses.rank.ranked import study_ranking
from transferscope.analyses.rank.ranking import KEPT, LeftOut
from transferscope.analyses.rank.words import left_out_in_words
from transferscope.errors import StoreError
from transferscope.records import FinishedRuns


def test_a_ranking_comes_back_from_json_as_it_was() -> None:
    ranking = study_ranking(FinishedRuns(12, "abc"))
    left_out = replace(ranking.rankings[0], left_out=(LeftOut("knn", "too few examples"),))
    ranking = replace(ranking, rankings=(left_out, *ranking.rankings[1:]))
    document = json.loads(json.dumps(KEPT.to_document(ranking), allow_nan=False))
    assert repr(KEPT.from_document(document)) == repr(ranking)  # NaN is not equal to itself
    unmeasured = replace(ranking, hindsight=None)
    assert repr(KEPT.from_document(json.loads(json.dumps(KEPT.to_document(unmeasured))))) == repr(unmeasured)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("study", ["classes", "numbers"])
def test_a_document_of_an_earlier_version_is_read_without_its_sentences(study: str) -> None:
    earlier = stored_document(study, "ranking")
    assert earlier["format"] == 2
    assert earlier["rankings"][0]["words"]
    found = KEPT.from_document(earlier)
    now = json.loads(json.dumps(KEPT.to_document(found), allow_nan=False))
    assert not [text for text in _texts(now) if text.endswith(".") or len(text) > 32]  # names and codes, no sentence
    for before, ranking, after in zip(earlier["rankings"], found.rankings, now["rankings"], strict=True):
        said = [left_out_in_words(one, ranking.n_target) for one in ranking.left_out]
        assert said == [f"{one['score']} {one['why']}" for one in before["left_out"]]
        for score, kept in zip(before["scores"], after["scores"], strict=True):
            for one, again in zip(score["rated"], kept["rated"], strict=True):
                assert again["score"] == {**one["score"]["estimate"], "interval": one["score"]["interval"]}
                assert (again["place"], again["probability_best"]) == (one["place"], one["probability_best"])
    hindsight = earlier["hindsight"]
    assert (found.hindsight is None) == (hindsight is None)
    if found.hindsight is not None:
        assert [one.regret.value for one in found.hindsight.choices] == [
            one["regret"]["estimate"]["value"] for one in hindsight["choices"]
        ]


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("is for labels that are numbers", "for numbers"),
        ("is for labels that are classes", "for classes"),
        ("reads what a head of source classes says, and fewer than two networks have one", "no source head"),
        ("has too few examples in 12", "too few examples"),
        ("is not determined by 12 examples of so many features", "not determined"),
        ("has no value for these features", "no value"),
    ],
)
def test_why_an_earlier_version_left_a_score_out_is_kept(why: str, reason: str) -> None:
    earlier = stored_document("numbers", "ranking")
    earlier["rankings"][0]["left_out"] = [{"score": "leep", "why": why}]
    assert KEPT.from_document(earlier).rankings[0].left_out == (LeftOut("leep", reason),)  # type: ignore[arg-type]


def test_another_format_and_a_damaged_document_are_refused() -> None:
    document = KEPT.to_document(study_ranking())
    with pytest.raises(
        StoreError,
        match=r"^the rankings of the study are kept in format 7, and this version of transferscope reads formats 2 and "
        r"3; run `transferscope rank` again$",
    ):
        KEPT.from_document({**document, "format": 7})
    for damaged in (
        {"format": 3},
        {**document, "rankings": 5},
        {**document, "hindsight": {}},
        {"format": 2},
        {"format": 2, "rankings": [{"left_out": [3]}]},
    ):
        with pytest.raises(
            StoreError, match=r"^the rankings of the study are damaged in the store; run `transferscope rank` "
        ):
            KEPT.from_document(damaged)
