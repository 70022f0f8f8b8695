"""Commands of other packages: found by entry point, and harmless where they are broken."""

from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from cli.called import output
from transferscope.cli.main import app
from transferscope.cli.plugins import GROUP
from transferscope.errors import SettingsError

greet = typer.Typer()
data = typer.Typer()
no_command = {"a": 1}


@greet.command()
def say(name: str, *, loud: bool = False) -> None:
    """Greet somebody."""
    typer.echo(f"good day, {name}{'!' if loud else ''}")


@data.command()
def other_data() -> None:
    """A stranger's idea of `data`."""
    typer.echo("not transferscope's")


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        "greet": f"{__name__}:greet",
        "data": f"{__name__}:data",
        "no-command": f"{__name__}:no_command",
        "missing": "no_such_package.of_anybody:app",
    }
    points = [EntryPoint(name, value, GROUP) for name, value in places.items()]
    monkeypatch.setattr("transferscope.registry.entry_points", lambda group: points if group == GROUP else ())


def test_a_command_of_another_package_is_called_with_its_arguments() -> None:
    assert output("greet", "Ada", "--loud") == "good day, Ada!\n"


def test_the_help_lists_it_and_survives_those_that_are_broken() -> None:
    help_text = output("--help")
    assert "Greet somebody." in help_text
    assert "missing" in help_text
    assert "compare" in help_text


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing", "No module named 'no_such_package'"), ("no-command", "it is a dict, not a typer.Typer")],
)
@pytest.mark.parametrize("words", [(), ("list",), ("draw", "a", "--full", "-x", "3")])
def test_a_broken_one_is_one_sentence_whatever_it_is_given(name: str, reason: str, words: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError) as broken:
        output(name, *words)
    assert str(broken.value).startswith(f"the entry point '{name}' of {GROUP} cannot be loaded: {reason}; ")


def test_a_name_of_transferscope_means_its_own_command() -> None:
    assert "not transferscope's" not in output("show")


def test_a_reference_is_no_command() -> None:
    result = CliRunner().invoke(app, [f"{__name__}:greet", "Ada"])
    assert result.exit_code == 2
    assert "good day" not in result.output
