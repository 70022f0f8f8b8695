"""The lowest versions that pyproject.toml allows: everything is imported, and every command says what it takes.

torch, of which a build may be of 2 GB, and the packages that it needs itself are those of this environment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

SMOKE = """
import contextlib, importlib, io, json, pkgutil
import transferscope, transferscope_papers

faults, n = [], 0
for package in (transferscope, transferscope_papers):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in ("mlflow", "tensorboard", "wandb"):
                faults.append(f"{module.name}: {error!r}")
        except Exception as error:
            faults.append(f"{module.name}: {error!r}")

import typer
from typer.main import get_command
from transferscope.cli.main import app

def commands(command, words):
    yield words
    context = typer.Context(command)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from commands(command.get_command(context, name), [*words, name])

for words in commands(get_command(app), []):
    n += 1
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            app([*words, "--help"], prog_name="transferscope", standalone_mode=False)
        assert "Usage:" in said.getvalue()
    except Exception as error:
        faults.append(f"{' '.join(words)} --help: {error!r}")
print(json.dumps([n, faults]))
"""


@pytest.mark.long
def test_the_lowest_versions_import_everything_and_answer_help(tmp_path: Path) -> None:
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        pytest.skip("uv is not installed")
    python = tmp_path / "env/bin/python"
    needed = [one for one in PROJECT["dependencies"] if not one.startswith("torch>")]
    _uv(uv, "venv", "--python", sys.executable, tmp_path / "env")
    _uv(uv, "pip", "install", "--resolution", "lowest-direct", "--python", python, *needed)
    (packages,) = (tmp_path / "env/lib").glob("python*/site-packages")
    for part in {part for found in (*_with_needs("torch"), distribution("transferscope")) for part in _parts(found)}:
        if not (packages / part.name).exists():
            (packages / part.name).symlink_to(part)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-c", SMOKE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    n, faults = json.loads(done.stdout.splitlines()[-1])
    assert faults == []
    assert n > 12


def _uv(*words: str | Path) -> None:
    done = subprocess.run([*map(str, words), "--quiet"], capture_output=True, text=True, check=False)
    if re.search(r"(?i)failed to fetch|error sending request|dns error|could not connect", done.stderr):
        pytest.skip(f"no package index is reached: {done.stderr[:200]}")
    assert done.returncode == 0, done.stderr[-2000:]


def _with_needs(name: str) -> Iterator[Distribution]:
    """A distribution of this environment, and those that it needs."""
    found = distribution(name)
    yield found
    for need in found.requires or ():
        if "extra ==" not in need and "nvidia" not in need:
            try:
                yield from _with_needs(re.match(r"[\w.-]+", need)[0])  # type: ignore[index]  # it begins with a name
            except ModuleNotFoundError:  # for another system
                continue


def _parts(found: Distribution) -> set[Path]:
    """Its folders and files in site-packages; of an editable one what describes it."""
    names = {path.parts[0] for path in found.files or () if path.suffix != ".pth"} - {".."}
    return {Path(str(found.locate_file(name))) for name in names if not name.startswith("__")}
