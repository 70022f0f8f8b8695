"""What the five analyses say of two small finished studies, number by number, and their pages in words.

The studies lie in `studies.zip` with their stores, every outcome as it was first measured, so that no training is
repeated here and a number can only change with the analysis. TRANSFERSCOPE_GOLDEN=write writes the expected files
anew; look at the difference before it is kept.
"""

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from pdfs import HAS_POPPLER, check_pdf
from transferscope import diagnose, rank, scaling
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.summary import summarise
from transferscope.analyses.result import AnalysisResult
from transferscope.models import NetworkSettings
from transferscope.report.blocks import Figure, Section
from transferscope.report.save import INCHES, PaperWidth, drawn_for_paper
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import read_spec

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
WRITE = os.environ.get("TRANSFERSCOPE_GOLDEN") == "write"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two studies, where nothing is left to do."""
    folder = tmp_path_factory.mktemp("golden")
    with zipfile.ZipFile(HERE / "studies.zip") as archive:
        archive.extractall(folder)
    for name in ("classes", "numbers"):
        spec = read_spec(folder / f"{name}.toml")
        with Store.open(spec.store) as store:
            before = {standing.key: standing.seconds for standing in store.standings(name)}
            run_study(spec, store)  # the data lie elsewhere now
            assert {standing.key: standing.seconds for standing in store.standings(name)} == before
    return folder


def _compared(folder: Path, name: str) -> AnalysisResult:
    with Store.open(folder / f"{name}.sqlite", create=False) as store:
        return ComparisonResult(summarise(store, name), folder / f"{name}.sqlite", folder / f"{name}.toml")


def _diagnosed(folder: Path) -> AnalysisResult:
    with Store.open(folder / "classes.sqlite", create=False) as store:
        trained = [
            cell.cell
            for cell in store.cells("classes")
            if cell.cell.labels.get("method") == "fine-tune" and cell.cell.role == "method"
        ]
    end = trained[-1].key
    return diagnose(
        folder / "classes.files" / f"{end}.safetensors",
        f"npz:{folder / 'target.npz'}",
        network=NetworkSettings("mlp", (8,)),
        against=folder / "classes.files" / f"{end}.step0.safetensors",
        diagnostics=["weights", "class-separation", "curvature"],
        device="cpu",
    )


ANALYSES: dict[str, Callable[[Path], AnalysisResult]] = {
    "compare-classes": lambda folder: _compared(folder, "classes"),
    "compare-numbers": lambda folder: _compared(folder, "numbers"),
    "rank-classes": lambda folder: rank(folder / "classes.toml", device="cpu"),
    "rank-numbers": lambda folder: rank(folder / "numbers.toml", device="cpu"),
    "scaling-classes": lambda folder: scaling(folder / "classes.toml"),
    "diagnose-classes": _diagnosed,
}


_LONG = (
    "rank-classes",
    "scaling-classes",
)  # the same code is quick on the study of numbers, but for scaling


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.long] * (name in _LONG)) for name in ANALYSES]
)
def named(request: pytest.FixtureRequest, folder: Path) -> tuple[str, AnalysisResult]:
    return request.param, ANALYSES[request.param](folder)


def test_every_number_is_as_it_was(named: tuple[str, AnalysisResult]) -> None:
    name, result = named
    buffer = io.StringIO()
    result.table().to_csv(buffer, index=False, float_format="%.10g")
    _compare(EXPECTED / f"{name}.csv", buffer.getvalue(), result.kind)
    answer = json.loads(result.to_json())
    expected = pd.read_csv(EXPECTED / f"{name}.csv")
    assert (answer["analysis"], len(answer["rows"])) == (result.kind, len(expected))
    assert list(answer["rows"][0]) == list(expected.columns)


@pytest.mark.long
def test_the_page_says_what_it_said(named: tuple[str, AnalysisResult], folder: Path) -> None:
    name, result = named
    page = folder / f"{name}-page.html"
    result.report(page)
    text = _Words(page.read_text(encoding="utf-8")).text.replace(str(folder), "FOLDER")
    text = _MACHINE.sub(r"\1ANY", _VERSION.sub(r"\1VERSION", text))
    _compare(EXPECTED / f"{name}.txt", text, result.kind)


class _Words(HTMLParser):
    """The words of a page, without figures, styles, files to save and what every machine says differently."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self._silent = 0
        self.feed(re.sub(r"<(p|span) class=\"files\".*?</\1>", "", html, flags=re.DOTALL))
        self.text = re.sub(r"[ \t]+", " ", self.text)
        self.text = re.sub(r"\s*\n\s*", "\n", self.text).strip() + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("style", "svg", "script", "footer"):
            self._silent += 1
        elif tag in ("p", "div", "h1", "h2", "h3", "li", "tr", "table", "section", "figure", "details", "summary"):
            self.text += "\n"
        elif tag in ("td", "th"):
            self.text += " | "

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "svg", "script", "footer"):
            self._silent -= 1

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data


_VERSION = re.compile(r"(versions\.[\w-]+\n\| |(?:transferscope|numpy|python) )\d[\w.+]*")
"""Of a package: another machine or release has another one, and says the same otherwise."""

_MACHINE = re.compile(r"(machine\.\w+\n\| ).*")
"""What the study was last run on: cores, memory, processor and system, with the version of its kernel."""

_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_LOOSER = {"rank": 1e-4, "diagnose": 1e-4}
"""Features are computed in single precision, whose last digits differ between processors."""

_NEAR_ZERO = {"rank": 2e-5}
"""Ends of intervals that nearly cancel: a jackknife over groups takes differences of scores of order one, times their
number and the t-quantile of few degrees of freedom, and single precision leaves so much."""


def _compare(path: Path, found: str, kind: str) -> None:
    if WRITE:
        path.write_text(found, encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    assert _NUMBER.sub("#", found).splitlines() == _NUMBER.sub("#", expected).splitlines()
    tolerance = _LOOSER.get(kind, 1e-8) if path.suffix == ".csv" else 0.011  # words are rounded
    for now, before in zip(_NUMBER.findall(found), _NUMBER.findall(expected), strict=True):
        one, other = (float(number.replace("−", "-")) for number in (now, before))
        smallest = _NEAR_ZERO.get(kind, tolerance / 1e4) if path.suffix == ".csv" else tolerance / 1e4
        assert math.isclose(one, other, rel_tol=tolerance, abs_tol=smallest), (now, before)


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.skipif(not HAS_POPPLER, reason="pdftoppm and pdftotext render PDFs")
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("compare-classes", "column"),
        ("compare-classes", "text"),
        ("compare-numbers", "column"),
        ("compare-numbers", "text"),
        ("rank-classes", "column"),
        ("rank-classes", "text"),
        ("rank-numbers", "column"),
        ("rank-numbers", "text"),
        ("scaling-classes", "column"),
        ("scaling-classes", "text"),
    ],
)
def test_every_figure_is_a_pdf_of_the_width_asked_with_all_its_words(
    name: str, width: PaperWidth, folder: Path, tmp_path: Path
) -> None:
    figures = [figure for section in ANALYSES[name](folder).page() for figure in _figures(section)]
    assert figures
    for figure in figures:
        check_pdf(drawn_for_paper(figure, INCHES[width]), INCHES[width], tmp_path)


def _figures(section: Section) -> list[Figure]:
    return [*section.figures, *(figure for below in section.sections for figure in _figures(below))]
