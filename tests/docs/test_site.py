"""The pages of the site as a reader meets them: links lead somewhere, every page is in the navigation."""

import importlib.util
import re
from pathlib import Path

import pytest
from typer.main import get_command

from transferscope.cli.main import app
from transferscope.study.commands.settings import RunSettings
from transferscope.study.tables import setting_names

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


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


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    lacking = [
        name for page in PAGES[2:] if (name := page.relative_to(ROOT / "docs").as_posix()) not in nav.split("nav:")[1]
    ]
    assert lacking == []


def test_the_page_of_commands_has_every_command_and_option() -> None:
    spec = importlib.util.spec_from_file_location("hook", ROOT / "docs/_hooks/commands.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    page = hook.on_page_markdown((ROOT / "docs/commands.md").read_text(encoding="utf-8"))
    group = get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        for path, inner in getattr(command, "commands", {"": command}).items():
            section = page.split(f"## {f'{name} {path}'.strip()}\n")[1].split("\n## ")[0]
            for parameter in (each for each in inner.params if not getattr(each, "hidden", False)):
                named = str(parameter.metavar or parameter.name.upper()).strip("[]").replace("|", "\\|")
                shown = named if parameter.param_type_name == "argument" else parameter.opts[0]
                assert f"`{shown}" in section


def test_tables_of_settings_have_every_setting() -> None:
    spec = importlib.util.spec_from_file_location("settings_hook", ROOT / "docs/_hooks/settings.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    page = hook.on_page_markdown((ROOT / "docs/studies.md").read_text(encoding="utf-8"))
    assert "<!-- settings" not in page
    for name in setting_names(RunSettings):
        assert re.search(rf"^\| `{name}` \| \w.+ \|$", page, flags=re.MULTILINE), name
