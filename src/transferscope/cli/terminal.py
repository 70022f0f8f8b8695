"""Output to a terminal, without control characters and passwords of URLs."""

import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import IO

import typer

from transferscope.wording import signs_shown

_PASSWORD = re.compile(r"""((?:[A-Za-z][\w+.-]*:/{1,2}|//)[^\s:/?#@'"]*:)[^\s'"]*(?=@)""")
"""The first group is the text before the password of a URL; up to the last @ of a word, since a password may contain
one. A path has one slash where a URL has two."""

_PARAMETER = re.compile(r"""([?&][\w.-]*pass[\w.-]*=)[^\s&'"]+""", re.IGNORECASE)

_HIDDEN = "***"
_ANY = 100_000
_LEAST = 4  # signs of a password that is hidden without its URL too

_typed: list[re.Pattern[str]] = []
"""Patterns of passwords given to this process, which may contain any sign and may be truncated in messages."""


def hide_passwords(arguments: Sequence[str]) -> None:
    """Replace the passwords of all URLs in a command line by `***`."""
    _typed.clear()
    for argument in arguments:
        for before, password in re.findall(r"(?::/{1,2}|//)([^\s:/?#@]*:)(.+)@", argument, re.DOTALL):
            for form in {password, repr(password)[1:-1]}:
                cut_off = "|".join(re.escape(form[:n]) for n in range(min(len(form), 200), 0, -1))
                _typed.append(re.compile(f"(?<={re.escape(before)})(?:{re.escape(form)}|{cut_off})", re.IGNORECASE))
                if len(form) >= _LEAST:
                    _typed.append(re.compile(rf"(?<!\w){re.escape(form)}(?!\w)", re.IGNORECASE))


def shown(text: str) -> str:
    """Return a text without passwords, and with control characters escaped as in JSON."""
    for known in _typed:
        text = known.sub(_HIDDEN, text)
    text = _PARAMETER.sub(rf"\1{_HIDDEN}", _PASSWORD.sub(rf"\1{_HIDDEN}", text))
    return signs_shown(text)


def say(text: str = "", *, err: bool = False, nl: bool = True, file: IO[str] | None = None) -> None:
    """Write a text to standard output, standard error or a file, converted by `shown`."""
    typer.echo(shown(text), err=err, nl=nl, file=file)


def terminal_width() -> int:
    """Return the width of the terminal; unlimited without a terminal or COLUMNS."""
    return shutil.get_terminal_size((_ANY, 0)).columns


def wrapped(text: str) -> str:
    """Wrap lines at the width of the terminal without breaking words, keeping each indentation."""
    width = terminal_width()
    lines = (
        textwrap.wrap(
            line,
            width,
            break_long_words=False,
            break_on_hyphens=False,
            subsequent_indent=" " * (len(line) - len(line.lstrip())),
        )
        for line in text.splitlines()
    )
    return "\n".join("\n".join(parts) for parts in lines)
