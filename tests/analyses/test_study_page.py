import base64
import hashlib
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from fabricate import Fabrication, fabricate, fabricate_regression
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.study_page import build_report
from transferscope.errors import StoreError
from transferscope.report.figures.choice import tick_name
from transferscope.report.page import QUESTIONS, ReportFiles

FIGURES = (
    "overview",
    "labels",
    "label-plan",
    "differences",
    "seeds",
    "curves",
    "classes",
    "class-changes",
    "confusion",
)
_VOID = {"meta", "link", "br", "hr", "img", "input"}


@pytest.mark.long
def test_the_page_is_light_and_stands_alone(report: ReportFiles, page: str) -> None:
    assert report.html.stat().st_size < 2_000_000
    loaded = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)', page)
    addresses = {one or other for one, other in loaded}
    files = {address for address in addresses if address.startswith("report.files/")}
    assert all(address.startswith(("#", "data:")) for address in addresses - files)


@pytest.mark.long
def test_the_page_is_well_formed_and_ids_are_unique(page: str) -> None:
    parser = _Checker()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))


@pytest.mark.long
def test_the_verdict_comes_first(report: ReportFiles, page: str) -> None:
    first = re.search(r"<section.*?</section>", page, re.DOTALL)
    assert first is not None
    assert report.verdict.headline.split(":")[0] in first[0].replace("\u00a0", " ")  # numbers keep their unit


@pytest.mark.long
def test_four_questions_are_the_headings_and_each_begins_with_a_sentence(page: str) -> None:
    found = re.findall(r"<h2>(.*?)</h2>\n<p class=\"(\w+)\">", page)
    assert found == [(title, "lead") for title in ("In short", *QUESTIONS.values())]
    why = page[page.index('<section id="why">') :]
    assert '<p class="lead">Not answered yet.</p>' in why  # nothing was diagnosed
    assert "[diagnostics.weights]" in why
    assert "transferscope theory place STUDY.toml" in why


@pytest.mark.long
def test_headings_go_down_one_level_at_a_time_and_all_are_in_the_contents(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    contents = re.findall(r'href="#([\w-]+)"', page[page.index("<nav") : page.index("</nav>")])
    assert ["verdict", *contents] == re.findall(r'<section id="([\w-]+)"', page)


@pytest.mark.long
def test_the_one_script_is_ours_and_the_policy_names_its_hash(page: str) -> None:
    assert page.count("<script") == 1
    script = page[page.index("<script>") + len("<script>") : page.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert 'http-equiv="refresh"' not in page


@pytest.mark.long
def test_each_question_is_answered_in_a_sentence_beside_its_link(page: str) -> None:
    contents = page[page.index("<nav") : page.index("</nav>")]
    for slug, sentence in re.findall(r'<section id="([a-z-]+)">\n<h2>.*?</h2>\n<p class="lead">(.*?)</p>', page):
        assert slug == "verdict" or re.search(rf'href="#{slug}">.*?</a><p>{re.escape(sentence)}</p>', contents)


@pytest.mark.long
def test_arms_have_one_order_in_tables_and_figures(page: str, summary: Summary) -> None:
    """The best over all numbers of labels first, by hand from the table of scores."""
    scores = summary.table.pivot(index=["source", "method"], columns="n_target", values="mean")
    by_hand = list((scores - scores.mean()).mean(axis=1).sort_values(ascending=False).index)
    assert list(summary.arms) == by_hand
    names = [summary.name_of(*arm) for arm in by_hand]
    for size in summary.frames.sizes:
        table = page[page.index(f"{size:,}\u00a0labels, best first") :]
        rows = re.findall(r'<th scope="row" class="">(.*?)<small>', table[: table.index("</table>")])
        assert rows == [tick_name(method) for source, method in by_hand if source]
    overview = page[page.index('id="figure-overview"') :]
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", overview[: overview.index("</svg>")])
    assert [name for name in drawn if name in names] == [name for name in names if name in drawn]
    assert len([name for name in drawn if name in names]) > 4


@pytest.mark.long
def test_marks_say_their_values_on_hover(page: str, summary: Summary) -> None:
    best = next(c for c in summary.in_order if c.difference and c.n_target == summary.frames.sizes[0])
    gain = summary.frames.metric.shown_difference(best.difference.mean) if best.difference else ""
    overview = page[page.index('id="figure-overview"') :]
    titles = re.findall(r"<title>(.*?)</title>", overview[: overview.index("</svg>")])
    assert any(f"labels: {gain} (" in title for title in titles)


@pytest.mark.long
def test_a_question_without_an_answer_says_what_would_answer_it(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "s.sqlite", small) as store:
        page = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
    how_much = page[page.index('<section id="how-much">') : page.index('<section id="why">')]
    assert "Not answered yet." in how_much
    assert "give several <code>labels</code> under <code>[target]</code>" in how_much
    assert "give several <code>sizes</code> under <code>[pretraining]</code>" in how_much
    assert "<code>transferscope scaling STUDY.toml</code>" in how_much
    assert "<h3>" not in how_much


@pytest.mark.long
def test_every_figure_has_svg_pdf_and_numbers(report: ReportFiles) -> None:
    folder = report.html.with_suffix(".files")
    expected = {f"{name}.{ending}" for name in FIGURES for ending in ("svg", "pdf", "csv")}
    assert {path.name for path in report.files} == expected | {"methods-table.csv", "failures.csv"}
    assert all(path.parent == folder and path.stat().st_size > 100 for path in report.files)
    assert (folder / "labels.pdf").read_bytes().startswith(b"%PDF")
    assert len(pd.read_csv(folder / "differences.csv")) == 3 * 8 * 5 - 1


@pytest.mark.long
def test_what_comes_from_the_study_is_escaped(page: str) -> None:
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page
    assert "Traceback &lt;b&gt;x&lt;/b&gt;" in page
    assert "nine $x$" in page


@pytest.mark.long
def test_the_page_says_what_failed_and_where_the_data_are_from(page: str) -> None:
    assert "MeRLin from mnist, 50\u00a0labels, seed 3 (non finite): the loss became NaN at step 311" in page
    assert "https://example.org/usps.bz2" in page
    assert "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d" in page
    assert "fedcba9876543210" in page


@pytest.mark.long
def test_one_size_gets_a_dot_plot_and_the_same_page_again(tmp_path: Path, small: Fabrication) -> None:
    missing = frozenset({("fashion", "joint", 600, 0)})
    with fabricate(tmp_path / "s.sqlite", replace(small, n_seeds=1, not_done=missing)) as store:
        page = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
        again = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert page == again
    assert 'id="figure-methods"' in page
    assert 'id="figure-labels"' not in page
    assert "1 cell not done yet; run the study again and only these are done." in page


@pytest.mark.long
def test_a_study_without_a_baseline_still_gets_a_report(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "s.sqlite", replace(small, baseline=False, sizes=(50, 600))) as store:
        page = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert "because nothing was trained from scratch" in page
    assert 'id="figure-differences"' not in page


def test_a_regression_gets_a_report_without_classes(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        page = build_report(store, "numbers", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert "reaches a squared error of" in page
    assert 'id="figure-classes"' not in page


@pytest.mark.long
def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, small: Fabrication) -> None:
    (tmp_path / "taken").write_text("")
    out = tmp_path / "taken" / "r.html"
    with fabricate(tmp_path / "s.sqlite", small) as store, pytest.raises(StoreError) as error:
        build_report(store, "usps", out)
    assert str(error.value) == (
        f"the report cannot be written to {out}: Not a directory; give another place with --out"
    )


class _Checker(HTMLParser):
    """Collects ids, and elements that were opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag
