"""The demo's picture and ten lines: `python docs/_hooks/picture.py demo-out` (`make picture`) writes both.

When the site is built, the lines are filled in, and a demo that has changed since is said.
"""

import hashlib
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from PIL import Image

MARK = "<!-- demo -->"
FACTS = Path(__file__).parents[1] / "img/demo.json"
PICTURE = FACTS.with_name("demo.png")

_WINDOW = (1280, 805)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def on_config(config: Any) -> Any:
    """Called by MkDocs first; a warning ends a strict build."""
    if json.loads(FACTS.read_text(encoding="utf-8"))["demo"] != demo_of_today():
        logging.getLogger("mkdocs").warning(f"{PICTURE.name} shows an earlier demo: run `make picture`")
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(MARK, json.loads(FACTS.read_text(encoding="utf-8"))["lines"])


def demo_of_today() -> str:
    """Return a digest of what the demo rests on: study file, recipes, versions of methods and pre-training."""
    from transferscope.methods import METHODS, PRETRAINING_VERSION
    from transferscope.methods.recipes import RECIPES

    study = tomllib.loads((files("transferscope.cli") / "demo.toml").read_text(encoding="utf-8"))
    versions = {name: METHODS[name].version for name in study["methods"]}
    parts = [study, PRETRAINING_VERSION, versions, str(RECIPES["small-cnn"])]  # the demo's network is LeNet
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def write(folder: Path) -> None:
    """Make the picture and the lines from the folder that `transferscope demo --out FOLDER` has filled.

    Without a browser the picture is the page's first figure alone.
    """
    from transferscope import open_result

    result = open_result(folder / "demo.toml")
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        result.page()[0].figures[0].canvas.savefig(PICTURE, dpi=150, facecolor="white")
    else:
        page = result.report(folder / "demo.html").html.resolve()
        with tempfile.TemporaryDirectory() as profile:
            size = ",".join(map(str, _WINDOW))
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
            command = [browser, *options, f"--window-size={size}", f"--screenshot={PICTURE}", page.as_uri()]
            subprocess.run(command, check=True, capture_output=True)
        with Image.open(PICTURE) as image:
            small = image.convert("RGB").quantize(128)  # a third of the bytes
        small.save(PICTURE, optimize=True)
    facts = {"demo": demo_of_today(), "lines": result.verdict.shown}
    FACTS.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
