"""`--json`: the answer of a command as one JSON document, alone on the standard output (docs/json.md)."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from transferscope.cli.terminal import say
from transferscope.estimate import as_json

if TYPE_CHECKING:
    from pathlib import Path

    from transferscope.analyses.result import AnalysisResult

SCHEMA = "transferscope.answer"
"""Identifier of the document type."""

VERSION = 5
"""Version of the document. New keys keep it; removing a key or changing its meaning raises it."""

_answers: list[IO[str]] = []
"""Stream of the document, while other writes to standard output go to standard error."""


@contextmanager
def _only_the_answer() -> Iterator[None]:
    """Redirect standard output to standard error, including that of other processes and of C code."""
    own, kept = sys.stdout, None
    own.flush()
    with suppress(OSError, ValueError):  # a stream in memory, or a closed one, as in tests
        kept = os.dup(own.fileno())
        os.dup2(sys.stderr.fileno(), own.fileno())
    answers = own if kept is None else os.fdopen(kept, "w", encoding="utf-8", errors="backslashreplace")
    _answers.append(answers)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _answers.remove(answers)
        if kept is not None:
            answers.flush()
            os.dup2(kept, own.fileno())
            answers.close()


def _begin(context: typer.Context, wanted: bool) -> bool:
    if wanted and not context.resilient_parsing:
        context.with_resource(_only_the_answer())
    return wanted


AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON only.", callback=_begin)]
"""The option of every command that answers."""


def print_json(command: str, result: Mapping[str, Any]) -> None:
    """Print the document of a command; NaN becomes null, and infinity the text "inf" or "-inf"."""
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "transferscope": version("transferscope"),
        "command": command,
        "result": as_json(result, nan=None),
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
    text = text.encode("utf-8", "backslashreplace").decode()  # half a character of a file's name: "\\udcff" is JSON
    say(text, file=_answers[-1] if _answers else None)


def print_analysis(
    command: str, result: "AnalysisResult", written: Sequence["str | Path"] = (), **more: object
) -> None:
    """Print the result of an analysis with the written paths; `more` are further keys of the result."""
    print_json(command, {**result.to_dict(), "written": [str(path) for path in written], **more})
