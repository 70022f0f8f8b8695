"""`transferscope theory place`: a user's own pair on the linear-transfer diagram."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.plugins import refusing


class _Theory(TyperGroup):
    """What exact models say; names of figures are answered with the command that draws them now."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or refusing(
            cmd_name,
            f"theory has no command {cmd_name!r}: `transferscope theory place STUDY.toml` places a study, and the "
            "figures of the papers are drawn by `transferscope papers draw PAPER FIGURE` (`transferscope papers list` "
            "names them)",
        )


app = typer.Typer(
    cls=_Theory, help="What an exact model says of a finished study.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _theory() -> None:
    """A callback keeps `place` a word of the command line although it is the only one."""


@app.command()
def place(
    finished: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A finished study, or its store.")],
    out: Annotated[Path, typer.Option(help="Folder for SVG, PDF and CSV.")] = Path("theory"),
    examples: Annotated[int, typer.Option(help="Target examples to estimate from.")] = 2000,
    directions: Annotated[float | None, typer.Option(help="d, the directions of the inputs. [estimated]")] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put the pairs of a finished study on the linear-transfer diagram.

    Whether that model describes them, what it says, how surely, and how far the measured transferability is from it.
    Writes SVG, PDF and CSV.
    """
    from transferscope.analyses.place.question import place as ask  # here, because it takes a second to import
    from transferscope.cli.answer import as_text, counted_progress, in_a_line, write_files

    out.mkdir(parents=True, exist_ok=True)
    with counted_progress("Estimating from pretrained features", "parts") as on_progress:
        result = ask(finished, examples=examples, input_dimension=directions, study=study, on_progress=on_progress)
    written = write_files(out, result.figures())
    if as_json:
        print_analysis("theory place", result, written, kept=result.kept)
        return
    typer.echo(f"{as_text(result.answer())}\n\n{in_a_line(written)}\n{result.kept}")
