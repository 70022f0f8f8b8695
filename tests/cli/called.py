"""What a command line answered."""

from collections.abc import Callable
from typing import Any, NamedTuple

import typer
from typer.main import get_command
from typer.testing import CliRunner

from transferscope.cli.main import app

STUDY = """
name = "digits"
seeds = 1
[target]
data = "digits"
labels = [20]
[network]
name = "linear"
[training]
steps = 2
[methods.scratch]
"""
"""A study that is done in a moment."""


class Answer(NamedTuple):
    """The exit code and what was said on both streams."""

    code: int
    out: str
    err: str

    @property
    def mistake(self) -> str:
        """The one sentence of a command that was refused, with exit code 2."""
        assert self.code == 2, self
        assert self.err.startswith("transferscope: ")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("transferscope: ").rstrip("\n")


Call = Callable[..., Answer]


def commands(of: Any = None, words: str = "") -> dict[str, Any]:
    """Every command and group by its words, those of other packages included: "", "run", "papers draw", ..."""
    command: Any = get_command(app) if of is None else of
    context, found = typer.Context(command), {words: command}
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        found |= commands(command.get_command(context, name), f"{words} {name}".strip())
    return found


def output(*words: object) -> str:
    """What a command prints that must not fail; what it refuses is raised here."""
    found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout
