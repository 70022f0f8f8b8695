import base64
import hashlib
import io
import itertools
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fabricate import Fabrication, fabricate, fabricate_regression
from pages import Tags, held_tables
from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.statements import which
from transferscope.analyses.compare.study_page import build_report
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.cli.left_out import race_in_words
from transferscope.errors import StoreError
from transferscope.report.page import QUESTIONS, ReportFiles
from transferscope.study.race_state import NotBegun, RaceState, keep_state

FIGURES = (
    "arms",
    "label-plan",
    *(f"{name}-{n}" for name in ("runs", "time") for n in (50, 200, 600)),
    "curves",
    "confusion",
)


@pytest.mark.long
def test_the_page_is_light_and_stands_alone(report: ReportFiles, page: str) -> None:
    assert report.html.stat().st_size < 2_000_000
    loaded = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)', page)
    addresses = {one or other for one, other in loaded}
    assert all(address.startswith(("#", "data:")) for address in addresses)


@pytest.mark.long
def test_the_page_is_well_formed_and_ids_are_unique(page: str) -> None:
    tags = Tags(page)
    assert tags.left_open == []
    assert len(tags.ids) == len(set(tags.ids))


@pytest.mark.long
def test_the_verdict_comes_first(report: ReportFiles, page: str) -> None:
    first = re.search(r"<section.*?</section>", page, re.DOTALL)
    assert report.verdict.headline.splitlines()[0] in first[0].replace("\u00a0", " ")  # numbers keep their unit


@pytest.mark.long
def test_the_questions_that_are_answered_are_the_headings_and_their_answers_are_on_the_first_screen(page: str) -> None:
    found = re.findall(r"<h2>(.*?)</h2>", page)
    assert found == ["In short", *list(QUESTIONS.values())[:-1], "The study"]
    first = page[: page.index('<section id="whether">')]
    linked = re.findall(r'<p><a href="#([\w-]+)">', first)
    assert linked == ["whether", "which", "how-much"]
    assert set(linked) <= set(re.findall(r'<section id="([\w-]+)"', page))
    assert "[diagnostics.weights]" in page[page.index('<section id="study">') :]


@pytest.mark.long
def test_headings_go_down_one_level_at_a_time_and_everything_below_the_first_screen_is_folded(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(re.findall(r'<details class="part">', page)) == levels.count(3)


@pytest.mark.long
def test_no_sentence_is_said_twice(page: str) -> None:
    told = page[: page.index('<section id="data">')]  # sources may be alike
    said = re.findall(r"<(p|li|figcaption)\b[^>]*>(.*?)</\1>", told, re.DOTALL)
    plain = [re.sub(r"<span class=.files.*?</span>|<[^>]+>", "", text, flags=re.DOTALL).strip() for _, text in said]
    sentences = [one for text in plain for one in text.split(". ")]
    assert len(sentences) > 20
    assert [one for one in sentences if sentences.count(one) > 1] == []


@pytest.mark.long
def test_the_one_script_is_ours_and_the_policy_names_its_hash(page: str) -> None:
    assert page.count("<script") == 1
    script = page[page.index("<script>") + len("<script>") : page.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert 'http-equiv="refresh"' not in page


@pytest.mark.long
def test_tables_are_sorted_by_their_scores_and_figures_of_all_sizes_by_the_mean(page: str, summary: Summary) -> None:
    """By hand from the table of scores."""
    scores = summary.table.pivot(index=["source", "method"], columns="n_target", values="mean")
    by_hand = list((scores - scores.mean()).mean(axis=1).sort_values(ascending=False).index)
    assert list(summary.frames.arms) == by_hand
    for size in summary.frames.sizes:
        table = page[page.index(f"{size:,}\u00a0labels, best first") :]
        rows = re.findall(r'<th scope="row" class="">(.*?)<small>', table[: table.index("</table>")])
        ordered = scores[size].sort_values(ascending=False, kind="stable").index
        assert rows == [summary.frames.tick_name(method) for source, method in ordered if source]
    figure = draw_arms(summary)
    axes = figure.canvas.axes[0]
    ticks = [(at, tick.get_text()) for at, tick in enumerate(axes.get_yticklabels())]
    headings = [(text.get_position()[1], text.get_text()) for text in axes.texts]
    drawn = [name for _, name in sorted(ticks + headings)]
    for source in summary.frames.sources:
        below = drawn[drawn.index(f"From {source}") + 1 :]
        own = [summary.frames.tick_name(method) for one, method in by_hand if one == source]
        assert [name for name in below if name in own][: len(own)] == own


@pytest.mark.long
@pytest.mark.parametrize("source", ["data", "network"])
def test_a_question_without_an_answer_says_what_would_answer_it(
    source: str, tmp_path: Path, small: Fabrication
) -> None:
    """Pretraining of other sizes is no way out where there is nothing to pre-train on."""
    with fabricate(tmp_path / "s.sqlite", small) as store:
        row = store.study("usps")
        store.plan(
            replace(row, spec={**row.spec, "sources": {"fashion": {source: "mlp"}}}),
            [one.cell for one in store.cells("usps")],
        )
        page = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert '<section id="how-much">' not in page
    study = page[page.index('<section id="study">') : page.index("<h3>", page.index('<section id="study">'))]
    assert "give three <code>labels</code> or more under <code>[target]</code>" in study
    assert ("<code>transferscope scaling " in study) == (source == "data")


def test_what_a_race_left_out_is_named_beside_the_choice(tmp_path: Path, small: Fabrication) -> None:
    file = tmp_path / "usps.toml"
    file.write_text('name = "usps"\nstore = "s.sqlite"\n', encoding="utf-8")
    with fabricate(tmp_path / "s.sqlite", small) as store:
        whole = summarise(store, "usps")
        size = whole.frames.sizes[0]
        left = (("soup", "mnist", size, 540.0), ("bss", "mnist", size + 1, 9.0))  # with that many nothing was run
        keep_state(store, "usps", RaceState("time", tuple(NotBegun(*arm) for arm in left)))
        no_race_any_more, row = summarise(store, "usps"), store.study("usps")
        assert not list(race_in_words(file))
        store.plan(replace(row, spec={**row.spec, "race": {}}), [one.cell for one in store.cells("usps")])
        summary = summarise(store, "usps")
        assert list(race_in_words(file))
    said = {one.kind: one.facts for one in which(summary.frames, summary.decided)}
    assert said["not begun"] == {"arms": [("soup", "mnist")], "seconds": 540.0, "end": "time"}
    for other in (whole, no_race_any_more):  # which makes all runs
        assert "not begun" not in {one.kind for one in which(other.frames, other.decided)}


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_of_two_sources_it_is_said_which_is_better(tmp_path: Path, small: Fabrication, gap: float) -> None:
    """As the method of one of the sources alone against that of the other: a gap of many standard errors, or none."""
    gains = {"mnist": {"fine-tune": 0.05 + gap}, "fashion-mnist": {"fine-tune": 0.05}}
    with fabricate(tmp_path / "s.sqlite", replace(small, gains=gains, sizes=(50,), n_seeds=5)) as store:
        summary = summarise(store, "usps")
    said = {one.kind: one.facts for one in which(summary.frames, summary.decided)}
    facts = said["between sources"]
    low, high = facts["ends"]
    assert (gap > 0) == (low > 0)
    assert low < facts["gain"] < high
    if gap:
        assert (facts["best"][1], facts["other"][1]) == ("mnist", "fashion-mnist")


@pytest.mark.long
def test_the_page_holds_the_numbers_of_every_figure_and_table(page: str) -> None:
    held = held_tables(page)
    assert set(held) == {*FIGURES, "methods-table", "runs", "study", "failures"}
    assert len(pd.read_csv(io.StringIO(held["arms"]))) == 3 * 9


@pytest.mark.long
def test_figures_of_a_paper_have_its_width_and_type(report: ReportFiles) -> None:
    """A column of 3.25 inches is 234 points."""
    folder = report.html.with_name("report-figures")
    expected = {f"{name}.{ending}" for name in FIGURES for ending in ("svg", "pdf", "csv")}
    assert {path.name for path in report.files} == expected
    assert all(path.parent == folder and path.stat().st_size > 100 for path in report.files)
    assert (folder / "arms.pdf").read_bytes().startswith(b"%PDF")
    for name in FIGURES:
        drawn = (folder / f"{name}.svg").read_text(encoding="utf-8")
        assert float(re.findall(r'<svg[^>]* width="([\d.]+)pt"', drawn)[0]) == pytest.approx(234)
        assert set(re.findall(r"font-size: ([\d.]+)px", drawn)) == {"8"}


@pytest.mark.long
def test_what_comes_from_the_study_is_escaped(page: str) -> None:
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page
    assert "Traceback &lt;b&gt;x&lt;/b&gt;" in page
    assert "nine $x$" in page


@pytest.mark.long
def test_the_same_study_gives_the_same_page_again(tmp_path: Path, small: Fabrication) -> None:
    missing = frozenset({("fashion", "joint", 600, 0)})
    with fabricate(tmp_path / "s.sqlite", replace(small, n_seeds=1, not_done=missing)) as store:
        page = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
        again = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert page == again
    assert 'id="figure-arms"' in page
    assert 'id="figure-label-plan"' not in page
    assert "1 is missing; the answer is based on the others" in page


@pytest.mark.long
def test_a_study_without_a_baseline_still_gets_a_report(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "s.sqlite", replace(small, baseline=False, sizes=(50, 600))) as store:
        page = build_report(store, "usps", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert "no baseline has a result" in page
    assert 'id="figure-arms"' not in page


@pytest.mark.long
def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, small: Fabrication) -> None:
    (tmp_path / "taken").write_text("")
    out = tmp_path / "taken" / "r.html"
    with fabricate(tmp_path / "s.sqlite", small) as store, pytest.raises(StoreError) as error:
        build_report(store, "usps", out)
    assert str(error.value) == (
        f"the report cannot be written to {out} (Not a directory); give another file with --out"
    )


def test_a_regression_gets_a_report_without_classes(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        page = build_report(store, "numbers", tmp_path / "r.html").html.read_text(encoding="utf-8")
    assert "R² " in page
    assert 'id="figure-classes"' not in page
