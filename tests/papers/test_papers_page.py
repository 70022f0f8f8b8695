"""docs/results/papers.md: nothing of the papers is missing, and what it says is what the runs say."""

import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

from papers.pages import module_of
from transferscope.errors import DataError
from transferscope_papers.catalogue import FIGURES, PAPERS

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "studies" / "theory" / "papers_page.py"))
RESULTS, ROWS, VERDICTS, page = (SCRIPT[name] for name in ("RESULTS", "ROWS", "VERDICTS", "page"))
WORDS = module_of("studies/theory/verdicts.py").WORDS
JUDGED = SCRIPT["judged_rows"]()
FIGURES_READ = {(paper, name): one.reads for paper, known in PAPERS.items() for name, one in known.figures.items()}
TABLE = pd.read_csv(ROWS, keep_default_na=False)
CLAIMS = pd.read_csv(RESULTS / "runs" / "papers-claims.csv", keep_default_na=False)


def test_the_page_is_what_its_rows_and_the_claims_make() -> None:
    assert (RESULTS / "papers.md").read_text(encoding="utf-8") == page()


def test_every_figure_of_the_catalogue_has_a_row_and_no_row_another() -> None:
    listed = {(paper, figure) for paper, known in PAPERS.items() for figure in known.figures}
    assert {(row.paper, row.figure) for row in TABLE.itertuples() if row.figure} == listed


def test_every_row_has_a_predicate_a_reason_where_it_falls_short_a_page_and_its_runs() -> None:
    assert not TABLE[["paper", "item"]].duplicated().any()
    assert set(VERDICTS) <= {(row.paper, row.item) for row in TABLE.itertuples()}
    for row in JUDGED:
        given = TABLE[(TABLE["paper"] == row["paper"]) & (TABLE["item"] == row["item"])].iloc[0]
        by_runs = (row["paper"], row["item"]) in VERDICTS
        assert by_runs or row["figure"] or row["verdict"] == "cannot be done here", row["item"]
        assert (given["verdict"] == "") == bool(by_runs or row["figure"]), row["item"]  # no word by hand
        assert not (by_runs and (given["ours"] or given["why"])), row["item"]
        assert row["verdict"] in WORDS
        assert row["why"] or row["verdict"] == "reproduced", row["item"]
        assert row["ours"]
        assert row["published"]
        assert (RESULTS / row["page"]).resolve().is_file(), row["page"]
        assert by_runs or not row["runs"], row["item"]


def test_what_does_not_hold_at_the_quick_profile_has_its_reason_in_the_row() -> None:
    for row in JUDGED:
        own = SCRIPT["claims_of"](row)
        assert row["why"] or (own["verdict"] == "holds").all(), row["item"]
        assert len(own) or not row["figure"] or FIGURES_READ[row["paper"], row["figure"]] == "study", row["item"]


def decimals(text: str) -> set[float]:
    """The numbers of a text; "2,048" is one, and so is ".47"."""
    found = re.findall(r"(?<![\w.,])-?\d*(?:,\d{3})*\.?\d+", text.replace("−", "-").replace("^", " "))
    return {abs(float(one.replace(",", ""))) for one in found}


def test_numbers_of_rows_without_runs_are_those_of_the_stored_claims() -> None:
    held = 0
    for row in JUDGED:
        if row["figure"] and (row["paper"], row["item"]) not in VERDICTS:
            own = CLAIMS[CLAIMS["figure"] == f"{row['paper']}-{row['figure']}"]
            known = decimals(" ".join([*own["text"], *own["seen"]]))
            assert decimals(row["ours"]) <= known, row["item"]
            held += len(decimals(row["ours"]))
    assert held > 40


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
    with_runs = {(row.paper, row.item) for row in TABLE.itertuples() if row.figure or row.runs}
    with_runs -= {("mikami2021", "Figure 3")}  # a drawing of the law, without a setting
    assert set(zip(rows["paper"], rows["item"], strict=True)) == with_runs  # none lacks its protocol
    compared = {(row.paper, row.item, row.name): (row.published, row.ours) for row in script["settings"]()}
    assert compared["liu2019", "Table 2", "fine-tuning at"] == ("1 x the rate", "0.1 x the rate")
    assert compared["merlin2020", "Figure 1", "inputs"] == ("32 pixels", "16 pixels")
    assert compared["liu2019", "Table 2", "fitted"] == ("100 %", "58 %")  # from scratch on CIFAR-10
    assert compared["liu2019", "Table 2", "batch statistics"] == ("not said", "those of the source")
    assert compared["merlin2020", "Figure 1", "noise of half images"][1] == "0.2, 0.447"
    assert compared["liu2019", "Figure 8c, d", "fitted"][1] == "20 %"  # brightness on SVHN, run again
    assert compared["tahir2024", "Figure 1", "d"] == ("500", "60 (500 with --full)")
    assert compared["shachaf2021", "Table 1", "samples"] == ("25", "25")  # what its row sets
    assert compared["liu2019", "Theorem 3", "width"] == ("not said", "2048 (20000 with --full)")
    assert compared["mikami2021", "Figure 5", "D"] == ("0.48 held", "0.48 held")
    assert compared["mikami2021", "Figure 7", "learnt"] == ("COCO", "CIFAR-10")


def test_published_settings_without_a_source_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = runpy.run_path(str(ROWS.with_name("protocols.py")))
    (tmp_path / "liu2019.toml").write_text('[rows."Figure 3"]\nstudy = "why"\nseeds = "3"\n', encoding="utf-8")
    monkeypatch.setitem(script["published_of"].__globals__, "PUBLISHED", tmp_path)
    with pytest.raises(DataError, match=r"liu2019\.toml has no `source`"):
        script["published_of"]("liu2019")


def test_published_settings_of_no_row_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = runpy.run_path(str(ROWS.with_name("protocols.py")))
    text = 'source = "appendix A"\n[rows."Figure 99"]\nstudy = "why"\nseeds = "3"\n'
    (tmp_path / "liu2019.toml").write_text(text, encoding="utf-8")
    monkeypatch.setitem(script["published_of"].__globals__, "PUBLISHED", tmp_path)
    with pytest.raises(DataError, match=r"published settings of liu2019 Figure 99: papers\.csv has no such row"):
        script["settings"]()
