"""The wheel, installed into an empty environment: the commands of a first day, away from the sources."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow  # it downloads and installs every dependency


def call(*words: str | Path, folder: Path) -> str:
    """What a command prints, run in a folder with nothing of the sources to be seen."""
    hidden = ("PYTHONPATH", "TRANSFERSCOPE_UNCHECKED", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    found = subprocess.run([*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"{words}: {found.stdout[-2000:]}{found.stderr[-2000:]}"
    return found.stdout + found.stderr


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder / "dist", ROOT, folder=folder)
    (wheel,) = (folder / "dist").glob("transferscope-*.whl")
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    call(programs / "python", "-m", "pip", "install", "-c", ROOT / "constraints.txt", wheel, folder=folder)
    return programs


def test_the_commands_of_a_first_day(bin_folder: Path, tmp_path: Path) -> None:
    command, python = bin_folder / "transferscope", bin_folder / "python"
    where = call(python, "-c", "import transferscope; print(transferscope.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(bin_folder.parent)
    version = call(command, "--version", folder=tmp_path)
    assert version == call(python, "-m", "transferscope", "--version", folder=tmp_path)
    assert version.startswith("transferscope ")
    call(python, "-c", "from transferscope import compare, export, load_model", folder=tmp_path)
    assert "papers" in call(command, "--help", folder=tmp_path)
    source, target = "glyphs?n_train=200&n_test=50", "digits"
    few = ["--labels", "50", "--seeds", "1", "--steps", "20", "--set", "pretraining.steps=20"]
    said = call(
        command, "compare", target, "--from", source, *few, "--methods", "fine-tune", "--workers", "1", "--out", "runs",
        folder=tmp_path,
    )  # fmt: skip
    assert "Report: runs/glyphs-to-digits.html" in said
    assert (tmp_path / "runs/glyphs-to-digits.html").stat().st_size > 10_000
    said = call(command, "export", "runs/glyphs-to-digits.toml", "--out", "best", folder=tmp_path)
    assert "its predictions of the test examples are those of the study, all of them" in said
    assert json.loads((tmp_path / "best/card.json").read_text())["n_labels"] == 50
    call(command, "predict", "best", target, "--out", "predictions.csv", folder=tmp_path)
    assert (tmp_path / "predictions.csv").read_text().startswith("input,prediction,p_0")


def test_the_demo(bin_folder: Path, tmp_path: Path) -> None:
    study = next((bin_folder.parent / "lib").glob("python*/site-packages/transferscope/cli/demo.toml"))
    text = study.read_text(encoding="utf-8")
    assert "[methods." in text
    (tmp_path / "demo.toml").write_text("\n".join(_shortened(line) for line in text.splitlines()), encoding="utf-8")
    call(bin_folder / "transferscope", "run", "demo.toml", "--workers", "2", folder=tmp_path)
    call(bin_folder / "transferscope", "report", "demo.toml", folder=tmp_path)


def _shortened(line: str) -> str:
    """The study of the demo with a few steps and one seed."""
    for name, few in (("steps", "5"), ("seeds", "1")):
        if line.partition("=")[0].strip() == name:
            return f"{name} = {few}"
    return line
