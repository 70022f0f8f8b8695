"""The conda recipe and the container name what pyproject.toml names."""

import re
import tomllib
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def conda_recipe() -> str:
    return (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")


def required(part: str) -> set[str]:
    """What the recipe requires in a part, as in {"pip", "python>=3.11"}."""
    listed = conda_recipe().split(f"  {part}:\n")[1].partition("\n\n")[0]
    return {
        line.removeprefix("    - ").replace(" ", "")
        for line in takewhile(lambda line: line.startswith("    - "), listed.splitlines())
    }


def test_the_conda_recipe_has_every_requirement_with_its_version() -> None:
    needed = {
        re.sub(r"^[\w-]+", lambda name: CONDA_NAMES.get(name[0], name[0]), one) for one in PROJECT["dependencies"]
    }
    python = f"python{PROJECT['requires-python']}"
    assert required("run") == needed | {python}
    assert required("host") == {*PYPROJECT["build-system"]["requires"], "pip", python}


def test_the_conda_recipe_has_the_words_and_the_version_of_the_project() -> None:
    said = dict(re.findall(r'^  (version|summary|license): "?(.+?)"?$', conda_recipe(), flags=re.MULTILINE))
    assert said == {
        "version": PROJECT["version"],
        "summary": PROJECT["description"],
        "license": PROJECT["license"],
    }
    assert re.findall(r"- (\S+) = (\S+)\n", conda_recipe()) == list(PROJECT["scripts"].items())


def test_the_container_installs_extras_that_there_are() -> None:
    named = re.search(r'ARG EXTRAS="(.+)"', (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert named is not None
    assert set(named[1].split(",")) <= PROJECT["optional-dependencies"].keys()


def test_workflows_call_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    called = re.findall(r"make ([\w-]+)", (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert called
    assert set(called) <= targets
