import json
from dataclasses import replace

import pytest

from analyses.rank.ranked import study_ranking
from transferscope.analyses.rank.ranking import KEPT, LeftOut
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


def test_another_format_and_a_damaged_document_are_refused() -> None:
    document = KEPT.to_document(study_ranking())
    with pytest.raises(StoreError, match=r"format 7, .* reads format 2; run `transferscope rank` again$"):
        KEPT.from_document({**document, "format": 7})
    for damaged in ({"format": 2}, {**document, "rankings": 5}, {**document, "hindsight": {}}):
        with pytest.raises(StoreError, match=r"^the rankings of the study are damaged in the store; "):
            KEPT.from_document(damaged)
