import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cli.called import output
from fabricate import Fabrication, fabricate
from transferscope.cli.report import report_study
from transferscope.errors import TransferscopeError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, Store

SMALL = Fabrication(gains={"fashion": {"joint": -0.10}}, sizes=(600,), n_seeds=2, n_test=100)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "runs" / "usps.sqlite"
    path.parent.mkdir()
    fabricate(path, SMALL).close()
    return path


def test_a_store_with_one_study_needs_no_name(store: Path, tmp_path: Path) -> None:
    output = _run(str(store))
    assert (tmp_path / "usps.html").exists()
    assert output.splitlines()[-1] == "Report: usps.html"


def test_a_study_file_leads_to_its_store(store: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('name = "usps"\n', encoding="utf-8")
    _run("study.toml", "--out", "page.html")
    _run("study.toml", "--out", "folder")
    assert (tmp_path / "folder" / "usps.html").exists()
    assert (tmp_path / "page.html").exists()
    assert not list(tmp_path.glob("page*/"))  # one file to send


def test_the_page_of_a_study_file_lies_beside_it(store: Path, tmp_path: Path) -> None:
    (tmp_path / "runs/study.toml").write_text('name = "usps"\nstore = "usps.sqlite"\n', encoding="utf-8")
    assert _run("runs/study.toml").splitlines()[-1] == "Report: runs/usps.html"


def test_a_study_that_cannot_be_chosen_is_one_sentence(store: Path, tmp_path: Path) -> None:
    fabricate(store, replace(SMALL, name="mnist")).close()
    Store.open(tmp_path / "empty.sqlite").close()
    for options, message in (
        ([str(store)], r"has 2 studies .usps, mnist.; choose one with --study$"),
        ([str(store), "usp"], f"unknown study in {store} 'usp': did you mean 'usps'"),
        (["empty.sqlite"], "the store empty.sqlite has no study; run `transferscope run`"),
        (["none.sqlite"], "there is no store none.sqlite"),
    ):
        with pytest.raises(TransferscopeError, match=message):
            report_study(*options)
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.long
def test_a_watched_page_is_written_anew_until_the_study_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last run ends while the page is watched: before it the page reads itself again, after it no more."""
    monkeypatch.chdir(tmp_path)
    last = ("fashion", "joint", 600, 1)
    with fabricate(tmp_path / "s.sqlite", replace(SMALL, not_done=frozenset({last}))) as store:
        (key,) = [cell.cell.key for cell in store.cells("usps") if cell.state == "planned"]
        outcome = Outcome((Record("accuracy", Estimate(0.75)),), Cost(seconds=1.0))
    pages = []

    def finish_the_last_run(seconds: float) -> None:
        pages.append((seconds, (tmp_path / "usps.html").read_text(encoding="utf-8")))
        with Store.open(tmp_path / "s.sqlite") as other:
            other.finish(key, outcome)

    monkeypatch.setattr("transferscope.cli.report.time.sleep", finish_the_last_run)
    output = _run("s.sqlite", "--watch")
    ((seconds, running),) = pages
    assert f'<meta http-equiv="refresh" content="{seconds}">' in running
    assert re.search(r"Of \d runs, 1 is missing", running)
    complete = (tmp_path / "usps.html").read_text(encoding="utf-8")
    assert 'http-equiv="refresh"' not in complete
    assert "is missing" not in complete
    assert "Report: usps.html" in output


_run = partial(output, "report")
