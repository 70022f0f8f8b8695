"""The site of the docs, built and opened in a real browser. Needs `pip install -e '.[docs]'` and Chromium."""

import functools
import importlib.util
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browser import Opened, chromium

pytestmark = [pytest.mark.browser, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "": "Does transfer help? Which method works best?",
    "howto/images/": "Your own images",
    "commands/": "transferscope compare",
    "api/": "Bases: Protocol",
    "theory/errata/": "Errata",
}
"""Addresses of the landing page, a how-to, two pages of reference and one of theory, with words that each has."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for package in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed, so the site was not built")
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(site)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Requests are not worth a line."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_without_complaint_and_asks_no_other_machine(address: str, page: str, tmp_path: Path) -> None:
    opened = Opened(chromium(), address + page, tmp_path)
    dom = opened.dom()
    assert PAGES[page] in re.sub(r"<[^>]+>", "", dom)
    assert 'class="md-tabs"' in dom
    assert 'class="md-search__input"' in dom
    assert "__palette" in dom  # light and dark
    assert opened.console() == []
    own = opened.requests()
    assert own
    assert all(url.startswith(address) for url in own), own


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (500, False)])
def test_the_landing_page_is_painted(address: str, width: int, dark: bool, tmp_path: Path) -> None:
    picture = Opened(chromium(), address, tmp_path).picture(width=width, height=1400, dark=dark)
    colours = picture.getcolors(maxcolors=2**24)
    assert colours is not None
    assert len(colours) > 100
