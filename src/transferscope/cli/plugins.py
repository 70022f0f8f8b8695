"""Lookup and help of commands: built-in ones, and those of other packages.

A built-in command is imported when it or its help is called (`commands/`); the overview needs its line there.

A package adds a command by an entry point of the group "transferscope.commands", which leads to a `typer.Typer`. It is
loaded when its command is called, or when all commands are listed.
"""

import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from transferscope import consent
from transferscope.cli.commands import COMMANDS, GROUPS
from transferscope.errors import SettingsError
from transferscope.registry import Registry

GROUP = "transferscope.commands"
TRUST_CODE = "--trust-code"

_OPTIONS_OF_NAMES = ("--methods", "--diagnostics", "--scores")
"""Options of names, which hold no comma and may be given with commas between them."""

_FURTHER = "Further commands"


class CommandsWithPlugins(TyperGroup):
    """The built-in commands, followed by those of other packages; built-in names take precedence.

    While one runs, only code named on the command line is allowed; other code named by a file or store needs
    `--trust-code`, before or after the command.
    """

    def main(self, args: Sequence[str] | None = None, *further: Any, **options: Any) -> Any:
        """Run the command line; see `click.Group.main`."""
        words = list(sys.argv[1:] if args is None else args)
        typed = [word for word in words if word != TRUST_CODE]
        with consent.typed(typed, trust_code=len(typed) < len(words)):
            return super().main(one_option_per_value(typed, self.several_valued(typed)), *further, **options)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return names, in the order of the help."""
        return [*COMMANDS, *(name for name in sorted(_offered()) if name not in COMMANDS)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, with their complete first sentence."""
        further = [
            (name, self.get_command(ctx, name).get_short_help_str(limit=1000))
            for name in self.list_commands(ctx)
            if name not in COMMANDS
        ]
        own = [(group, list(named.items())) for group, named in GROUPS.items()]
        for group, records in [*own, *([(_FURTHER, further)] if further else [])]:
            with formatter.section(group):
                formatter.write_dl(records)

    def several_valued(self, words: Sequence[str]) -> set[str]:
        """Return the options of the called command that take several values, as in --labels 100 600."""
        command, context = self, typer.Context(self)
        for word in words:
            if hasattr(command, "get_command") and (below := command.get_command(context, word)) is not None:
                command = below
            elif not word.startswith("-"):
                break
        params = getattr(command, "params", ())
        return {option for one in params if getattr(one, "multiple", False) for option in one.opts}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the called command, after refusing repeated options of one value."""
        name, command, rest = super().resolve_command(ctx, args)
        called: Any = command
        words = list(rest)
        while words and hasattr(called, "get_command") and (below := called.get_command(ctx, words[0])) is not None:
            called, words = below, words[1:]
        _refuse_repeats(getattr(called, "params", ()), words)
        return name, command, rest

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; None if there is none. One that cannot be loaded fails when called."""
        if cmd_name in COMMANDS:
            from transferscope.cli.command import own_command  # with settings, which the help of all does not need

            return own_command(cmd_name)
        if cmd_name not in (offered := _offered()):
            return None
        try:
            command = get_command(offered[cmd_name])
        except SettingsError as error:
            return _refusing(cmd_name, str(error))
        command.name = cmd_name
        return command


def one_option_per_value(arguments: Sequence[str], options: Collection[str]) -> list[str]:
    """Repeat an option before each of its values: `--labels 100 600` becomes `--labels 100 --labels 600`.

    So does `--methods scratch,fine-tune`. Numbers are not split at commas, since 1,000 is a number. Values are all
    words up to the next that begins with "-".
    """
    spread: list[str] = []
    current: str | None = None
    for argument in arguments:
        if argument.startswith("-"):
            current = argument if argument in options else None
            if current is None:
                spread.append(argument)
        elif current is not None:
            names = argument.split(",") if current in _OPTIONS_OF_NAMES else []
            values = [name for name in names if name] or [argument]
            spread += [word for value in values for word in (current, value)]
        else:
            spread.append(argument)
    return spread


def _refuse_repeats(parameters: Iterable[Any], words: Sequence[str]) -> None:
    single = {
        option: one.name
        for one in parameters
        if one.param_type_name == "option" and not one.multiple and not one.is_flag
        for option in one.opts
    }
    seen: set[str] = set()
    for word in takewhile(lambda word: word != "--", words):
        name = single.get(word.partition("=")[0])
        if name in seen:
            raise SettingsError(f"{word.partition('=')[0]} is given twice; give it once")
        seen |= {name} if name is not None else set()


def _refusing(name: str, sentence: str) -> Any:
    def refuse() -> None:
        raise SettingsError(sentence)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=sentence, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
        refuse
    )
    return get_command(app)


def _offered() -> Any:
    return Registry("command", GROUP, {}, _checked)


def _checked(offered: object) -> typer.Typer:
    if not isinstance(offered, typer.Typer):
        raise ValueError(f"it is a {type(offered).__name__}, not a typer.Typer")
    return offered
