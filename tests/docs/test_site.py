"""The pages of the site as a reader meets them: links lead somewhere, and pages have what the code has."""

import importlib.util
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cli.called import commands
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import METHODS
from transferscope.models.fields import FIELDS
from transferscope.registry import Registry
from transferscope.settings.data import TargetSettings, TuningSettings
from transferscope.settings.engine import DecisionSettings, EngineSettings, RaceSettings
from transferscope.study.commands.settings import RunSettings
from transferscope.study.settings import SourceSettings
from transferscope.study.tables import setting_names
from transferscope.training import TrainingSettings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "design").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def _anchors(page: Path) -> set[str]:
    """Addresses of the headings of a page, as MkDocs makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower())) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_pages_and_headings_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        place = page if not name else (page.parent / name).resolve()
        assert place.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in _anchors(place), f"{target}: no such heading"


def _hook(name: str) -> Any:
    spec = importlib.util.spec_from_file_location("hook", ROOT / f"docs/_hooks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _filled(hook: str, page: str) -> str:
    """A page as the build fills it in."""
    filled = _hook(hook).on_page_markdown((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert f"<!-- {hook}" not in filled
    return str(filled)


def test_the_picture_and_the_ten_lines_are_those_of_the_demo_of_today() -> None:
    """Otherwise `make picture`."""
    hook = _hook("picture")
    facts = json.loads(hook.FACTS.read_text(encoding="utf-8"))
    assert facts["demo"] == hook.demo_of_today()
    assert len(facts["lines"].splitlines()) <= 12  # with the loss of the recommended arm, which is said since
    assert facts["lines"] in _filled("picture", "index.md")
    assert hook.PICTURE.name in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_of_commands_has_every_command_and_option() -> None:
    page = _filled("commands", "commands.md")
    for words, command in commands().items():
        if hasattr(command, "list_commands"):
            continue
        section = page.split(f"## {words}\n")[1].split("\n## ")[0]
        for parameter in (each for each in command.params if not getattr(each, "hidden", False)):
            named = str(parameter.metavar or parameter.name.upper()).strip("[]").replace("|", "\\|")
            shown = named if parameter.param_type_name == "argument" else parameter.opts[0]
            assert f"`{shown}" in section


def test_pages_give_commands_no_option_that_they_have_not() -> None:
    known: dict[str, set[str]] = {}
    for words, command in commands().items():
        options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        known.setdefault(words.partition(" ")[0], {"--help"}).update(options)
    for page in PAGES:
        for name, line in re.findall(r"transferscope ([a-z]+)\b([^\n`#|;]*)", page.read_text(encoding="utf-8")):
            if name in known:
                unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)) - known[""] - known[name]
                assert not unknown, f"{page.name}: {name}{line}"


@pytest.mark.parametrize(
    "kind",
    [
        RunSettings,
        TargetSettings,
        SourceSettings,
        TrainingSettings,
        TuningSettings,
        DecisionSettings,
        RaceSettings,
        EngineSettings,
    ],
)
def test_tables_of_settings_have_every_setting(kind: type) -> None:
    page = _filled("settings", "studies.md")
    for name in setting_names(kind):
        assert re.search(rf"^\| `{name}` \| \S.+ \|$", page, flags=re.MULTILINE), name


@pytest.mark.parametrize(("page", "family"), [("methods.md", METHODS), ("diagnostics.md", DIAGNOSTICS)])
def test_the_page_of_a_family_has_every_member_with_its_settings_and_limits(page: str, family: Registry[Any]) -> None:
    filled = _filled("members", page)
    for name in family.own:
        section = filled.split(f"### {name}\n")[1].split("\n##")[0]
        for setting in (field for field in fields(family[name]) if field.init):
            assert f"| `{setting.name}` | " in section, (name, setting.name)
        if meaning := getattr(family[name], "meaning", None):
            assert meaning.limits in section


def test_the_page_of_networks_has_every_field_that_is_read() -> None:
    page = _filled("fields", "networks.md")
    for field in FIELDS:
        names = ", ".join("all others" if name == "*" else f"`{name}`" for name in field.names)
        assert f"| `{field.file}` | {names} | {field.treatment} | {field.what} |" in page
