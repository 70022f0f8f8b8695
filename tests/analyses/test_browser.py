"""The page in a real browser."""

import base64
import csv
import html
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from PIL import Image

from browser import Opened, chromium
from fabricate import HOSTILE
from transferscope.report.page import ReportFiles

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def opened(report: ReportFiles, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return Opened(chromium(), report.html.as_uri(), tmp_path_factory.mktemp("browser"))


def test_the_browser_reads_the_page_as_it_was_meant(opened: Opened, page: str) -> None:
    dom = opened.dom()
    assert dom.count("<script") == 1
    assert dom.count('aria-label="Filter the arms') == 1  # the script has run
    assert dom.count('<button type="button">') > dom.count("<table")
    assert "&lt;script&gt;alert(1)" in dom
    assert dom.count("<figure ") == page.count("<figure ") >= 4
    assert dom.count("<table") == page.count("<table") >= 4
    assert HOSTILE not in dom


def test_the_page_loads_nothing_and_complains_about_nothing(opened: Opened) -> None:
    assert opened.console() == []
    assert opened.requests() == set()


@pytest.mark.parametrize(("width", "height"), [(1200, 1400), (500, 1400)])
def test_the_page_is_painted(opened: Opened, width: int, height: int) -> None:
    picture = opened.picture(width=width, height=height)
    assert picture.size == (width, height)
    colours = picture.getcolors(maxcolors=width * height)
    assert colours is not None
    assert len(colours) > 50


def test_in_the_dark_nothing_but_text_is_as_bright_as_paper(opened: Opened) -> None:
    """Hollow marks are hollow on a dark page too: pure white appears nowhere on it."""
    light, dark = (opened.picture(width=1200, height=4500, dark=dark) for dark in (False, True))
    white = [sum(n for n, colour in (p.getcolors(2**24) or []) if colour == (255, 255, 255)) for p in (light, dark)]
    assert white[0] > 1_000_000
    assert white[1] < 100


def test_a_reader_chooses_a_number_of_labels_and_filters_arms(page: str, tmp_path: Path) -> None:
    """What is seen afterwards is counted in the browser: columns, pictures and tables of labels, and arms."""
    choose = """<script>
      const change = (place, event) => document.querySelector(place).dispatchEvent(new Event(event));
      const choice = document.querySelector(".filter select");
      const options = [...choice.options].map((one) => one.value);
      choice.value = options[2];
      change(".filter select", "change");
      document.querySelector(".filter input").value = "MNIST fine";
      change(".filter input", "input");
      const seen = (place) => [...document.querySelectorAll(place)].filter((one) => !one.closest("[hidden]"));
      const cells = (row) => [...row.cells].filter((one) => !one.hidden);
      const grid = document.querySelector("table[data-arms]");
      document.body.dataset.seen = JSON.stringify({
        options,
        labels: seen("[data-labels]").map((one) => one.dataset.labels),
        heads: cells(grid.tHead.rows[0]).map((one) => one.textContent),
        rows: seen("table[data-arms] tbody tr").map((row) => cells(row).length + row.cells[0].textContent),
        status: document.querySelector(".filter span").textContent,
      });
    </script></body>"""
    policy = re.search(r"<meta http-equiv=.Content-Security-Policy[^>]*>", page)
    (tmp_path / "page.html").write_text(page.replace(policy[0], "").replace("</body>", choose), encoding="utf-8")
    dom = Opened(chromium(), (tmp_path / "page.html").as_uri(), tmp_path).dom()
    seen = json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', dom)[1]))
    assert len(seen["options"]) == 4
    wanted = seen["options"][2]
    assert set(seen["labels"]) == {wanted}
    assert seen["heads"] == ["Arm", wanted]
    grid, *others = seen["rows"]
    assert grid.startswith("1From mnist")  # its heading stays
    assert others[0] == "2Fine-tuning"
    assert len(others) == 2  # in the grid, and in the table of that number of labels
    assert seen["status"] == "1 of 9 arms"


def test_figures_and_tables_are_saved_from_the_page_alone(page: str, tmp_path: Path) -> None:
    """Every button is clicked, and the addresses that links are given are kept."""
    catch = """<script>
      HTMLAnchorElement.prototype.click = function () {
        const held = document.createElement("i");
        held.title = this.download;
        held.textContent = this.href;
        document.body.append(held);
      };
      document.querySelectorAll(".files button").forEach((button) => button.click());
    </script></body>"""
    policy = re.search(r"<meta http-equiv=.Content-Security-Policy[^>]*>", page)
    (tmp_path / "page.html").write_text(page.replace(policy[0], "").replace("</body>", catch), encoding="utf-8")
    dom = Opened(chromium(), (tmp_path / "page.html").as_uri(), tmp_path).dom()
    saved = dict(re.findall(r'<i title="([^"]*)">([^<]*)</i>', dom))
    names = re.findall(r'<figure id="figure-([^"]*)"', page)
    assert {f"{name}.{ending}" for name in names for ending in ("svg", "png")} <= set(saved)
    assert sum(name.endswith(".csv") for name in saved) == page.count("<table")
    drawn = ElementTree.fromstring(unquote(saved["arms.svg"].partition(",")[2]))
    assert drawn.tag.endswith("svg")
    assert "var(" not in ElementTree.tostring(drawn, encoding="unicode")
    with Image.open(io.BytesIO(base64.b64decode(saved["arms.png"].partition(",")[2]))) as image:
        assert image.width > 1500
        assert len(image.convert("RGB").getcolors(2**24) or []) > 20
    methods = next(name for name in saved if name.startswith("methods-") and name.endswith(".csv"))
    table = list(csv.reader(unquote(saved[methods].partition(",")[2]).splitlines()))
    assert table[0][:2] == ["Method", "Method, detail"]
    assert len({len(row) for row in table}) == 1
    assert table[1][0] in page
