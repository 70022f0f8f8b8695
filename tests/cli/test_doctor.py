import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from transferscope.cli.main import app


def _lines(text: str) -> dict[str, str]:
    """The state of each topic."""
    return {line.split()[1]: line.split()[0] for line in text.splitlines() if line[:1] in "oaW" and line.split()}


def test_every_requirement_folder_and_extra_has_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(tmp_path))
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "features").mkdir(parents=True)
    (tmp_path / "cache" / "features" / "a.safetensors").write_bytes(bytes(3_000_000))
    answer = CliRunner().invoke(app, ["doctor"])
    assert "cache, 3 MiB in it, which may be deleted at any time" in answer.output
    states = _lines(answer.output)
    assert answer.exit_code == 0
    needed = {name for name in metadata.requires("transferscope") or () if "extra ==" not in name}
    assert all(states[name.split(">")[0].split("=")[0].strip()] == "ok" for name in needed)
    assert {states[topic] for topic in ("cache", "data", "results", "memory", "processors")} == {"ok"}
    held = {one.name.lower() for one in metadata.distributions()}
    extras = {"[postgresql]": "psycopg", "[hf]": "transformers", "[mlflow]": "mlflow-skinny", "[wandb]": "wandb"}
    assert {topic: states[topic] == "ok" for topic in extras} == {topic: own in held for topic, own in extras.items()}


def test_what_keeps_it_from_working_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = metadata.version

    def lacking(name: str) -> str:
        if name == "pooch":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", lacking)
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(tmp_path / "gone"))
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", "/proc/version/cache")
    answer = CliRunner().invoke(app, ["doctor"])
    states = _lines(answer.output)
    assert answer.exit_code == 1
    assert {topic for topic, state in states.items() if state == "WRONG"} == {"pooch", "cache", "data"}
    assert "pip install" in answer.output
    assert "set TRANSFERSCOPE_CACHE" in answer.output
    assert answer.output.endswith("3 of these must be fixed first.\n")


@pytest.mark.long
def test_a_package_that_cannot_be_imported_has_the_line_that_mends_it(tmp_path: Path) -> None:
    """As of a torchvision for CUDA beside a torch for processors, and of timm, which imports it."""
    broken = {
        "torchvision": "raise RuntimeError('operator torchvision::nms does not exist')",
        "timm": "import torchvision",
        "transformers": "import a_package_that_nobody_has",
        "tensorboard": "raise OSError('libcudart.so.13: cannot open shared object file')",
    }
    for name, code in broken.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(code)
        (tmp_path / f"{name}-9.dist-info").mkdir()
        (tmp_path / f"{name}-9.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9\n")
    own = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "TRANSFERSCOPE_DATA": ""}
    own["TRANSFERSCOPE_CACHE"] = str(tmp_path / "cache")
    typed = [sys.executable, "-m", "transferscope", "doctor", "--json"]
    answer = subprocess.run(typed, env={**os.environ, **own}, capture_output=True, text=True, timeout=120, check=True)
    found = {one["topic"]: one for one in json.loads(answer.stdout)["result"]["findings"]}
    version, _, build = torch.__version__.partition("+")
    torchvision = f"pip install torch=={version} torchvision"
    torchvision += f" --index-url https://download.pytorch.org/whl/{build}" if build else ""
    mends = {
        "[torchvision]": torchvision,
        "[timm]": torchvision,
        "[hf]": "pip install 'transferscope[hf]'",
        "[tensorboard]": "pip install --force-reinstall tensorboard",
    }
    assert {topic: found[topic]["text"].rpartition("; ")[2] for topic in mends} == mends
    assert {found[topic]["state"] for topic in mends} == {"absent"}
