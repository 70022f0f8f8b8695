"""Commands built from their options, with help that fits a screen."""

import re
import sys
import time
from functools import lru_cache
from importlib import import_module
from inspect import Parameter, Signature, getdoc
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from transferscope.cli.commands import COMMANDS
from transferscope.cli.complete import Tables
from transferscope.cli.options import parameters_of, read_options, settings_of
from transferscope.once import once

SCREEN = 40
"""Most lines of `_WIDEST` columns in the help of a command."""

_WIDEST = 100
_NAMES = 24
"""Columns of the widest help, and of the names of options, beside which their meaning stands."""

_TYPE = re.compile(
    r"<(?:str|path|(int|float)(?: range)?|list\[(?:(int|float)|\w+)\])>|TEXT|PATH|(INTEGER|FLOAT)(?: RANGE)?"
)
"""Type notations of several versions of typer: text, or a number in one of the groups."""

_NoSuchOption: Any = sys.modules[typer.BadParameter.__module__].NoSuchOption
"""Exception of click; some versions of typer have their own copy of click."""

_OPTIONS = "Options"


class Command(TyperCommand):
    """A command whose help fits a screen: its options by group (`rich_help_panel`), and examples (`epilog`) last."""

    tables: Tables = MappingProxyType({})
    """Tables that `--set` can change; see `options.Settings`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; see `click.Command.parse_args`."""
        typed = list(args)
        known = {name for one in self.get_params(ctx) for name in (*one.opts, *one.secondary_opts)}
        unknown = [name for word in typed if (name := word.partition("=")[0]).startswith("--") and name not in known]
        try:
            return super().parse_args(ctx, args)
        except _NoSuchOption as first:
            names = dict.fromkeys([first.option_name, *unknown])
            first.message = f"No such option: {', '.join(names)}{''.join(map(self._meant, names))}"
            raise
        except typer.BadParameter as first:
            values, _, _ = self.make_parser(ctx).parse_args(typed)
            wrong = [first.message]
            for one in (one for one in self.get_params(ctx) if one.callback is None):  # what one begins is begun once
                try:
                    one.handle_parse_result(ctx, values, [])
                except typer.BadParameter as error:
                    wrong += [] if error.param is first.param else [error.format_message()]
            first.message = "; ".join(one.rstrip(".") for one in wrong)
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line without hidden ones; see `click.Command.collect_usage_pieces`."""
        shown = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        return [self.options_metavar or "", *(piece for one in shown for piece in one.get_usage_pieces(ctx))]

    def _meant(self, option: str) -> str:
        """Suggest a replacement for an unknown option: a key of `--set`, or an option of another command."""
        from transferscope.cli.keys import keys_of_option  # with what checks values

        if keys := keys_of_option(option, self.tables):
            return f"; {option} is a setting: --set {' or '.join(f'{key}=VALUE' for key in keys)}"
        others = [name for name in COMMANDS if any(option in one.opts for one in own_command(name).params)]
        return f"; {option} is one of `transferscope {'`, `'.join(others)}`" if others else ""

    def _groups(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        groups: dict[str, list[tuple[str, str]]] = {_OPTIONS: []}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx) if one.param_type_name == "option" else None
            if record is not None:
                group = getattr(one, "rich_help_panel", None) or _OPTIONS
                groups.setdefault(group, []).append((_short(record[0]), record[1]))
        return groups

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, and options by group."""
        given = [one.get_help_record(ctx) for one in self.get_params(ctx) if one.param_type_name == "argument"]
        arguments = [(_short(record[0]), record[1]) for record in given if record is not None]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        for group, records in self._groups(ctx).items():
            with formatter.section(group):
                formatter.write_dl(records, col_max=_NAMES)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples, one per line."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")


@lru_cache
def own_command(name: str) -> Any:
    """Return a command by its name: its options are in `commands/NAME.py`, its function in `NAME.py`."""
    module = import_module(f"transferscope.cli.commands.{name}")

    def call(context: typer.Context, **typed: Any) -> None:
        context.obj = time.monotonic()  # before what takes seconds to import
        work = getattr(import_module(f"transferscope.cli.{name}"), name)
        with once():
            work(read_options(module.Options, typed), context)

    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += parameters_of(module.Options)
    described: Any = call
    described.__signature__ = Signature(parameters)
    described.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    sentences = f"{COMMANDS[name]}\n\n{getdoc(module.Options)}"
    width = {"max_content_width": _WIDEST}
    app.command(name, cls=Command, help=sentences, epilog=module.EXAMPLES, context_settings=width)(call)
    command: Any = get_command(app)
    command.tables = settings_of(module.Options).tables
    return command


def _short(name: str) -> str:
    """Return an argument or option with N for a number, and without type for text."""
    short = _TYPE.sub(lambda kind: "N" if any(kind.groups()) else "TEXT", name)
    return short if name.startswith("-") else short.removesuffix(" TEXT")
