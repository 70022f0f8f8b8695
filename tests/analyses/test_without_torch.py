"""A report is built from a copied file on a machine without torch."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricate import Fabrication, fabricate

_SCRIPT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "torchvision", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())

from transferscope.cli.main import app
app(["report", sys.argv[1], "--out", sys.argv[2]])
"""


@pytest.mark.long
def test_a_copied_store_is_enough(tmp_path: Path, small: Fabrication) -> None:
    fabricate(tmp_path / "made.sqlite", small).close()
    copied, out = tmp_path / "elsewhere" / "copy.sqlite", tmp_path / "elsewhere" / "report.html"
    copied.parent.mkdir()
    shutil.copy(tmp_path / "made.sqlite", copied)
    command = [sys.executable, "-c", _SCRIPT, str(copied), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "fine-tuning from fashion" in " ".join(done.stdout.split())
    page = out.read_text(encoding="utf-8")
    assert "fine-tuning from fashion" in page.split("<title>usps: ")[1].split("</title>")[0]
