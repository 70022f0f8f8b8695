"""Commands that other packages add to `transferscope`, by entry points of the group "transferscope.commands".

Such an entry point leads to a `typer.Typer`. It is loaded when its command is called, or when all commands are listed.
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from transferscope import consent
from transferscope.errors import SettingsError

GROUP = "transferscope.commands"
TRUST_CODE = "--trust-code"


class CommandsWithPlugins(TyperGroup):
    """The commands of transferscope, followed by those of other packages; a name of its own always means its own.

    While one runs, the code is allowed that was typed, and no other that a file or store names without `--trust-code`,
    which may stand before or after the command.
    """

    def main(self, args: Sequence[str] | None = None, *further: Any, **options: Any) -> Any:
        """Run what was typed; see `click.Group.main`."""
        words = list(sys.argv[1:] if args is None else args)
        typed = [word for word in words if word != TRUST_CODE]
        with consent.typed(typed, trust_code=len(typed) < len(words)):
            return super().main(typed, *further, **options)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of the help."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in sorted(_offered()) if name not in own)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands with their first sentence, whole rather than cut to one line."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in found.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called, if no option of one value is given twice, the first of which would be lost."""
        name, command, rest = super().resolve_command(ctx, args)
        called: Any = command
        words = list(rest)
        while words and hasattr(called, "commands") and (below := called.get_command(ctx, words[0])) is not None:
            called, words = below, words[1:]
        _refuse_repeats(getattr(called, "params", ()), words)
        return name, command, rest

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None if there is none. One that cannot be loaded says so when it is called."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in (offered := _offered()):
            return own
        try:
            found = offered[cmd_name]
        except SettingsError as error:
            return _refusing(cmd_name, str(error))
        command = get_command(found)
        command.name = cmd_name
        return command


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
            raise SettingsError(f"{word.partition('=')[0]} is given twice and takes one value; give it once")
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
    from transferscope.registry import Registry  # here, because transferscope's own commands need none

    return Registry("command", GROUP, {}, _checked)


def _checked(found: object) -> typer.Typer:
    if not isinstance(found, typer.Typer):
        raise ValueError(f"it is a {type(found).__name__}, and no typer.Typer")
    return found
