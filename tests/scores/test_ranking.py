import json
from dataclasses import replace

import pytest

from ranked import study_ranking
from transferscope.errors import StoreError
from transferscope.records import FinishedRuns
from transferscope.scores.ranking import from_document, to_document


def test_a_ranking_comes_back_from_json_as_it_was() -> None:
    ranking = study_ranking(FinishedRuns(12, "abc"))
    document = json.loads(json.dumps(to_document(ranking), allow_nan=False))
    assert repr(from_document(document)) == repr(ranking)  # NaN is not equal to itself
    unmeasured = replace(ranking, hindsight=None)
    assert repr(from_document(json.loads(json.dumps(to_document(unmeasured))))) == repr(unmeasured)


def test_another_format_is_refused() -> None:
    document = {**to_document(study_ranking()), "format": 7}
    with pytest.raises(
        StoreError,
        match=r"^the ranking of the study is kept in format 7, and this version of transferscope reads format 2; run "
        r"`transferscope rank` again$",
    ):
        from_document(document)
