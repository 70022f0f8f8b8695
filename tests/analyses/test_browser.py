"""The page in a real browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from fabricate import HOSTILE
from transferscope.report.page import ReportFiles

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium is installed, so the page was not opened in a browser")


@pytest.fixture(scope="module")
def opened(chromium: str, report: ReportFiles, tmp_path_factory: pytest.TempPathFactory) -> "Opened":
    return Opened(chromium, report.html, tmp_path_factory.mktemp("browser"))


class Opened:
    """A page opened in headless Chromium, without a network."""

    def __init__(self, chromium: str, page: Path, folder: Path) -> None:
        self._page, self._folder = page, folder
        self._command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
        ]

    def dom(self) -> str:
        """The document as the browser has it after loading."""
        return self._run("--dump-dom").stdout

    def console(self) -> list[str]:
        """What the page wrote to the console: script errors, refused requests."""
        return re.findall(r".*CONSOLE.*", self._run("--dump-dom", "--v=0").stderr)

    def requests(self) -> set[str]:
        """Addresses that the page asked the network for."""
        log = self._folder / "net.json"
        self._run("--dump-dom", f"--log-net-log={log}")
        return set(re.findall(r'"url":"(https?://[^"]+)"', log.read_text(errors="replace")))

    def picture(self, *, width: int, height: int, dark: bool = False) -> Image.Image:
        """A screenshot of the top of the page."""
        path = self._folder / f"{width}.png"
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        self._run(f"--window-size={width},{height}", f"--screenshot={path}", *scheme)
        with Image.open(path) as image:
            return image.convert("RGB")

    def _run(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [*self._command, *options, self._page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def test_the_browser_reads_the_page_as_it_was_meant(opened: Opened, page: str) -> None:
    dom = opened.dom()
    assert dom.count("<script") == 1
    assert dom.count('aria-label="Filter the rows of') >= 3  # the script has run
    assert dom.count('<button type="button">') > dom.count("<table")
    assert "&lt;script&gt;alert(1)" in dom
    assert dom.count("<figure ") == page.count("<figure ") >= 7
    assert dom.count("<table") == page.count("<table") >= 6
    assert HOSTILE not in dom


def test_the_page_loads_nothing_and_complains_about_nothing(opened: Opened) -> None:
    assert opened.console() == []
    own = {address for address in opened.requests() if not re.search(r"google|gstatic|chrome", address)}
    assert own == set()


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
