"""Fills the page of all commands when the site is built, from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from transferscope.cli.main import app

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """Every command with its arguments and options, as Markdown."""
    return "\n\n".join(_section(name, command) for name, command in _commands(get_command(app), "transferscope"))


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    context = group.make_context(path, [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _section(path: str, command: Any) -> str:
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [_argument(p) for p in shown if p.param_type_name == "argument"]
    usage = "\n".join([" ".join([path, *arguments, "[OPTIONS]"]), *(command.epilog or "").splitlines()])
    rows = "\n".join(_row(parameter) for parameter in shown)
    table = f"\n\n| | what it says |\n|---|---|\n{rows}" if rows else ""
    return f"## {path.removeprefix('transferscope ')}\n\n{_text(command.help)}\n\n```text\n{usage}\n```{table}"


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper()).strip("[]")


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = _argument(parameter)
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
    said = _text(getattr(parameter, "help", None))
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    name = name.replace("|", "\\|")
    return f"| `{name}` | {said}{f' Default: `{default}`.' if plain else ''} |"


def _text(help_text: str | None) -> str:
    """Help as one line of Markdown; backslashes before brackets are for the terminal alone."""
    return re.sub(r"\s+", " ", (help_text or "").replace("\\[", "[")).replace("|", "\\|").strip()
