"""The conda recipe and the container name what pyproject.toml names."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def test_the_conda_recipe_has_every_requirement_with_its_version() -> None:
    recipe = (ROOT / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    listed = {line.removeprefix("    - ").replace(" ", "") for line in run.splitlines()}
    needed = {
        re.sub(r"^[\w-]+", lambda name: CONDA_NAMES.get(name[0], name[0]), one) for one in PROJECT["dependencies"]
    }
    assert listed == needed | {f"python{PROJECT['requires-python']}"}


def test_the_container_installs_extras_that_there_are() -> None:
    named = re.search(r'ARG EXTRAS="(.+)"', (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert named is not None
    assert set(named[1].split(",")) <= PROJECT["optional-dependencies"].keys()


def test_workflows_call_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    called = re.findall(r"make ([\w-]+)", (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert called
    assert set(called) <= targets
