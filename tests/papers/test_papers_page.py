"""docs/results/papers.md: nothing of the papers is missing, and what it says is what the runs say."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from transferscope.errors import DataError
from transferscope_papers.catalogue import FIGURES, PAPERS

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "studies" / "theory" / "papers_page.py"))
RESULTS, ROWS, WORDS, VERDICTS, page = (SCRIPT[name] for name in ("RESULTS", "ROWS", "ALL_WORDS", "VERDICTS", "page"))
TABLE = pd.read_csv(ROWS, keep_default_na=False)
CLAIMS = pd.read_csv(RESULTS / "runs" / "papers-claims.csv", keep_default_na=False)


def test_the_page_is_what_its_rows_and_the_claims_make() -> None:
    assert (RESULTS / "papers.md").read_text(encoding="utf-8") == page()


def test_every_figure_of_the_catalogue_has_a_row_and_no_row_another() -> None:
    listed = {(paper, figure) for paper, known in PAPERS.items() for figure in known.figures}
    assert {(row.paper, row.figure) for row in TABLE.itertuples() if row.figure} == listed


def test_every_row_has_a_verdict_a_reason_where_it_falls_short_a_page_and_its_runs() -> None:
    assert not TABLE[["paper", "item"]].duplicated().any()
    judged = set()
    for row in TABLE.itertuples():
        by_predicate = VERDICTS.get((row.paper, row.item))
        judged |= {(row.paper, row.item)} if by_predicate else set()
        found = by_predicate() if by_predicate else SimpleNamespace(word=row.verdict, ours=row.ours, why=row.why)
        assert found.word in WORDS
        assert found.why or found.word == "reproduced"
        assert found.ours
        assert row.published
        assert not (by_predicate and (row.verdict or row.ours or row.why)), row.item
        assert (RESULTS / str(row.page)).resolve().is_file(), row.page
    assert judged == set(VERDICTS)


def test_no_word_is_stronger_than_the_claims_of_its_figure() -> None:
    for row in TABLE[TABLE["figure"] != ""].itertuples():
        own = CLAIMS[(CLAIMS["figure"] == f"{row.paper}-{row.figure}") & (CLAIMS["what"] == "claim")]
        if len(own) and not (own["verdict"] == "holds").any():
            assert row.verdict in ("not reproduced", "corrected"), row.item


def test_what_does_not_hold_at_the_quick_profile_has_its_reason_in_the_row() -> None:
    failed = set(CLAIMS[CLAIMS["verdict"] == "does not hold"]["figure"])
    for row in SCRIPT["judged_rows"]():
        if f"{row['paper']}-{row['figure']}" in failed:
            assert row["why"], row["item"]


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_the_stored_claims_are_those_of_the_figure(name: str) -> None:
    own = CLAIMS[(CLAIMS["figure"] == name) & (CLAIMS["what"] == "claim")]
    figure = FIGURES[name].configured(quick=True, changes={})
    assert set(zip(own["text"], own["source"], strict=True)) == {(one.sentence, one.source) for one in figure.claims()}


def test_quick_figures_take_less_than_half_a_minute() -> None:
    seconds = pd.to_numeric(CLAIMS["seconds"], errors="coerce").dropna()
    assert len(seconds) == len(FIGURES)
    assert seconds.max() < 30


def test_the_page_of_agreement_quotes_the_stored_sentences() -> None:
    text = (RESULTS / "theory-agreement.md").read_text(encoding="utf-8")
    assert len(text.split()) < 2_500
    for score in CLAIMS[CLAIMS["what"] == "agreement"]["text"].str.extract(r"largest \|z\| (\d\.\d\d)")[0].dropna():
        assert score in text


def test_the_page_of_protocols_is_what_studies_and_published_settings_make() -> None:
    script = runpy.run_path(str(ROWS.with_name("protocols.py")))
    assert (RESULTS / "protocols.md").read_text(encoding="utf-8") == script["page"]()
    rows = pd.DataFrame(script["settings"]())
    assert rows.equals(pd.read_csv(script["TABLE"], dtype=str, keep_default_na=False))  # what the command prints
    assert set(zip(rows["paper"], rows["item"], strict=True)) <= {(row.paper, row.item) for row in TABLE.itertuples()}
    compared = {(row.paper, row.item, row.name): (row.published, row.ours) for row in script["settings"]()}
    assert compared["liu2019", "Table 2", "fine-tuning at"] == ("1 x the rate", "0.1 x the rate")
    assert compared["merlin2020", "Figure 1", "inputs"] == ("32 pixels", "16 pixels")
    assert compared["liu2019", "Table 2", "fitted"][1] == "not kept"
    assert compared["tahir2024", "Figure 1", "d"] == ("500", "60 (500 with --full)")
    assert compared["shachaf2021", "Table 1", "samples"] == ("25", "25")  # what its row sets
    assert {paper for paper, *_ in compared} == set(PAPERS)


def test_published_settings_without_a_source_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = runpy.run_path(str(ROWS.with_name("protocols.py")))
    (tmp_path / "liu2019.toml").write_text('[rows."Figure 3"]\nstudy = "why"\nseeds = "3"\n', encoding="utf-8")
    monkeypatch.setitem(script["published_of"].__globals__, "PUBLISHED", tmp_path)
    with pytest.raises(DataError, match=r"liu2019\.toml has no `source`"):
        script["published_of"]("liu2019")
