"""`transferscope theory`: the papers' figures, theory as lines and simulation as points."""

from pathlib import Path
from typing import Annotated

import typer


def theory(
    figure: Annotated[str, typer.Argument(metavar="list|FIGURE", help="`list`, or the name of a figure.")],
    quick: Annotated[bool, typer.Option("--quick/--full", help="Small sizes, or the paper's.")] = True,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, as in --set sigma=0.5.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for SVG, PDF and CSV.")] = Path("theory"),
    store: Annotated[
        str, typer.Option(help="Where simulated points are kept; in the folder of --out by default.")
    ] = "",
    workers: Annotated[int | None, typer.Option(help="Processes; as many as the machine has room for.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show failures only.")] = False,
) -> None:
    """Regenerate a figure of the papers: SVG, PDF, CSV and a sentence on how theory and simulation agree."""
    from transferscope.cli import theory_figures  # here, because it takes a second to import

    if figure == "list":
        typer.echo(theory_figures.list_figures())
        return
    chosen = theory_figures.chosen_figure(figure, change or [], quick=quick)
    try:
        words = theory_figures.make_figure(chosen, out, store=store, workers=workers, quiet=quiet)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None
    typer.echo(words)
