"""The command line: one thin file per command, and what its errors look like.

Exit codes: 0 all went well; 1 some cells of a study failed; 2 something given cannot be used, said in one sentence;
130 stopped by Ctrl-C.
"""

import sys
from typing import Annotated

import typer

from transferscope.cli import compare, data, demo, diagnose, rank, report, run, scaling, status, theory
from transferscope.cli.lists import one_option_per_value
from transferscope.errors import TransferscopeError

LIST_OPTIONS = (
    "--labels",
    "--methods",
    "--fetch",
    "--by",
    "--transforms",
    "--source-transforms",
    "--widths",
    "--diagnostics",
    "--scores",
)
"""Options that take several values, as in --labels 100 600."""

_LIST_OPTIONS_OF_RANK = (*LIST_OPTIONS, "--checkpoint")

_LONGEST_PATH = 200

app = typer.Typer(
    name="transferscope",
    help="Whether transfer learning helps your task, which way, how much pre-training it takes, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(compare.compare)
app.command()(run.run)
app.command()(status.status)
app.command()(report.report)
app.command()(data.data)
app.command()(demo.demo)
app.command()(theory.theory)
app.command()(scaling.scaling)
app.command()(diagnose.diagnose)
app.command()(rank.rank)


def _show_version(wanted: bool | None) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"transferscope {version('transferscope')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = None,
) -> None:
    """What holds for every command."""


def main() -> None:
    """The entry point: mistakes are one sentence and exit code 2; only what is a bug shows a traceback.

    What the operating system refuses (a path, a permission, space, memory) is no bug either.
    """
    try:
        app(one_option_per_value(sys.argv[1:], _LIST_OPTIONS_OF_RANK if "rank" in sys.argv[1:2] else LIST_OPTIONS))
    except TransferscopeError as error:
        _refuse(str(error))
    except OSError as error:
        place = "" if error.filename is None else f" {str(error.filename)[:_LONGEST_PATH]!r}"
        _refuse(
            f"the operating system refused{place}: {error.strerror or error}; check the path, your permission there "
            "and the space left; what was stored is safe"
        )
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):  # how torch says it
            raise
        reason = str(error) or "no more is free"
        _refuse(f"the memory of this machine does not suffice ({reason}); use smaller data or networks")


def _refuse(sentence: str) -> None:
    typer.echo(f"transferscope: {sentence}", err=True)
    sys.exit(2)
