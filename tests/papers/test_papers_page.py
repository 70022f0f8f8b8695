"""docs/results/papers.md: nothing of the papers is missing, and what it says is what the runs say."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

from transferscope_papers.catalogue import FIGURES, PAPERS

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "studies" / "theory" / "papers_page.py"))
RESULTS, ROWS, VERDICTS, page = (SCRIPT[name] for name in ("RESULTS", "ROWS", "VERDICTS", "page"))
TABLE = pd.read_csv(ROWS, keep_default_na=False)
CLAIMS = pd.read_csv(RESULTS / "runs" / "papers-claims.csv", keep_default_na=False)


def test_the_page_is_what_its_rows_and_the_claims_make() -> None:
    assert (RESULTS / "papers.md").read_text(encoding="utf-8") == page()


def test_every_figure_of_the_catalogue_has_a_row_and_no_row_another() -> None:
    listed = {(paper, figure) for paper, known in PAPERS.items() for figure in known.figures}
    assert {(row.paper, row.figure) for row in TABLE.itertuples() if row.figure} == listed


def test_every_row_has_a_verdict_a_reason_where_it_falls_short_a_page_and_its_runs() -> None:
    assert not TABLE.duplicated().any()
    for row in TABLE.itertuples():
        assert row.verdict in VERDICTS
        assert row.why or row.verdict == "reproduced"
        assert row.published
        assert row.ours
        assert (RESULTS / str(row.page)).resolve().is_file(), row.page
        assert row.runs in ("", "none") or (RESULTS / "runs" / str(row.runs)).is_file()


def test_what_does_not_hold_at_the_quick_profile_has_its_reason_in_the_row() -> None:
    failed = set(CLAIMS[CLAIMS["verdict"] == "does not hold"]["figure"])
    for row in TABLE.itertuples():
        if f"{row.paper}-{row.figure}" in failed:
            assert row.why, row.item


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
