"""The command line and its error messages.

Exit codes: 0 success; 1 runs of a study failed, or a bug; 2 invalid input, with one sentence; 130 stopped by Ctrl-C.
"""

import io
import logging
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, NoReturn, TextIO

import typer
from platformdirs import user_log_path

from transferscope.cli.plugins import TRUST_CODE, CommandsWithPlugins
from transferscope.cli.terminal import hide_passwords, say, shown
from transferscope.errors import TransferscopeError

_LONGEST_PATH = 200
_LONGEST_WORD = 400

app = typer.Typer(
    name="transferscope",
    cls=CommandsWithPlugins,
    help="Find out whether transfer learning helps your task, which method, how much pretraining, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would take "[all]" for markup and leave it out
)


class _ToStandardError(logging.Handler):
    """Writes to the current standard error stream, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        say(self.format(record), err=True)


def show_log(*, verbose: bool) -> None:
    """Show the package's log: warnings as one line, and with `verbose` every step with its time."""
    log = logging.getLogger("transferscope")
    for handler in log.handlers[:]:
        if isinstance(handler, _ToStandardError):
            log.removeHandler(handler)
    handler = _ToStandardError()
    times = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    handler.setFormatter(logging.Formatter(times if verbose else "transferscope: %(message)s"))
    log.addHandler(handler)
    logging.lastResort = _ToStandardError(logging.WARNING)  # of other packages
    warnings.showwarning = _show_warning
    log.setLevel(logging.INFO if verbose else logging.NOTSET)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say(warnings.formatwarning(message, category, filename, lineno, line), err=file is None, nl=False, file=file)


def _show_version(wanted: bool | None) -> None:
    if wanted:
        say(f"transferscope {version('transferscope')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug. [TRANSFERSCOPE_DEBUG]")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every step with its time.")] = False,
    trust_code: Annotated[bool, typer.Option(TRUST_CODE, help="Allow code that a file or store names.")] = False,
) -> None:
    """Define the options of all commands."""


def main() -> None:
    """Run the command line: mistakes print one sentence and exit with 2, bugs with 1, Ctrl-C with 130.

    Errors of the operating system (path, permission, space, memory) count as mistakes. The traceback of a bug is
    written to a file named in the message, or shown with --debug or TRANSFERSCOPE_DEBUG.
    """
    for stream in (sys.stdout, sys.stderr):  # so that names that are not UTF-8 can be shown
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:]
    hide_passwords(arguments)
    debug = bool(os.environ.get("TRANSFERSCOPE_DEBUG")) or "--debug" in arguments
    show_log(verbose="--verbose" in arguments)
    arguments = [argument for argument in arguments if argument not in ("--debug", "--verbose")]
    try:
        code = app(arguments, prog_name="transferscope", standalone_mode=False)
    except TransferscopeError as error:
        _refuse(str(error))
    except OSError as error:
        place = "" if error.filename is None else f" {str(error.filename)[:_LONGEST_PATH]!r}"
        _refuse(
            f"the operating system refused{place}: {error.strerror or error}; check the path, your permission there "
            "and the space left; what was stored is safe"
        )
    except (KeyboardInterrupt, typer.Abort):
        _end(130, "stopped")
    except Exception as error:
        if isinstance(error, _UsageError):
            _refuse_usage(error)
        if isinstance(error, MemoryError) or "allocate memory" in str(error):  # how torch says it
            reason = str(error) or "no more is free"
            _refuse(f"the memory of this machine does not suffice ({reason}); use smaller data or networks")
        if debug:
            say(traceback.format_exc(), err=True)
            sys.exit(1)
        _end(1, f"this is a bug of transferscope ({type(error).__name__}); {_written_down(arguments)}")
    sys.exit(code if isinstance(code, int) else 0)


_UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""Exception of click for invalid options; some versions of typer have their own copy of click."""


def _refuse_usage(error: Any) -> NoReturn:
    """Report a mistake in a command or option; without any, list the commands."""
    if "NoArgsIsHelp" in type(error).__name__:
        error.show()
        sys.exit(2)
    command = "transferscope" if error.ctx is None else error.ctx.command_path
    _refuse(f"{error.format_message().rstrip('.')}; `{command} --help` says what it takes")


def _refuse(sentence: str) -> NoReturn:
    _end(2, sentence)


def _end(code: int, sentence: str) -> NoReturn:
    # a word without end hides the sentence
    cut = re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: f"{word[0][: _LONGEST_WORD // 2]}...", shown(sentence))
    say(f"transferscope: {cut}", err=True)
    sys.exit(code)


def _written_down(arguments: Sequence[str]) -> str:
    """Write the traceback of a bug to a file and return the message for the user."""
    try:
        folder = user_log_path("transferscope", ensure_exists=True)
        descriptor, name = tempfile.mkstemp(".txt", "error-", folder if os.access(folder, os.W_OK) else None, text=True)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(shown(f"transferscope {' '.join(arguments)}\n\n{traceback.format_exc()}"))
    except OSError as error:
        return f"its traceback could not be written ({error.strerror}): run it again with --debug to see it"
    return f"its traceback is in {name}: please report it with that file; what was stored is safe"
