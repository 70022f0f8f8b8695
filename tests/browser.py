"""Headless Chromium for tests of pages."""

import re
import shutil
import subprocess
from functools import cached_property
from pathlib import Path

import pytest
from PIL import Image


def chromium() -> str:
    """The browser's command; the test is skipped where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium is installed, so the page was not opened in a browser")


class Opened:
    """A page opened in headless Chromium, which can reach no other machine."""

    def __init__(self, chromium: str, address: str, folder: Path) -> None:
        self._address, self._folder = address, folder
        self._command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
        ]

    @cached_property
    def _loaded(self) -> tuple[str, str, str]:
        """The document, the console and the log of the network, of one visit."""
        log = self._folder / "net.json"
        found = self._run("--dump-dom", "--v=0", f"--log-net-log={log}")
        return found.stdout, found.stderr, log.read_text(errors="replace")

    def dom(self) -> str:
        """The document as the browser has it after loading."""
        return self._loaded[0]

    def console(self) -> list[str]:
        """What the page wrote to the console: script errors, refused requests."""
        return re.findall(r".*CONSOLE.*", self._loaded[1])

    def requests(self) -> set[str]:
        """Addresses that the page asked the network for, but for those of the browser itself."""
        found = set(re.findall(r'"url":"(https?://[^"]+)"', self._loaded[2]))
        return {address for address in found if not re.search(r"google|gstatic|chrome", address)}

    def picture(self, *, width: int, height: int, dark: bool = False) -> Image.Image:
        """A screenshot of the top of the page."""
        path = self._folder / f"{width}.png"
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        self._run(f"--window-size={width},{height}", f"--screenshot={path}", *scheme)
        with Image.open(path) as image:
            return image.convert("RGB")

    def _run(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [*self._command, *options, self._address]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
