"""`transferscope theory`: the papers' figures, and a user's own pair on the linear-transfer diagram."""

from pathlib import Path
from typing import Annotated

import typer

from transferscope.errors import SettingsError


def theory(
    figure: Annotated[
        str, typer.Argument(metavar="list|FIGURE|place", help="`list`, the name of a figure, or `place` with a study.")
    ],
    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY.toml]", help="With `place`: a finished study, or its store.")
    ] = None,
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
    examples: Annotated[int, typer.Option(help="With `place`: target examples to estimate from.")] = 2000,
    directions: Annotated[
        float | None, typer.Option(help="With `place`: d, the directions of the inputs. [estimated]")
    ] = None,
) -> None:
    """Regenerate a figure of the papers, with a sentence on how theory and simulation agree; or place a study.

    `theory place STUDY.toml` puts the pairs of a finished study on the linear-transfer diagram: whether that model
    describes them, what it says, how surely, and how far the measured transferability is from it. Both write SVG, PDF
    and CSV.
    """
    if figure == "place":
        _place(study, out, examples, directions)
        return
    if study is not None:
        raise SettingsError(f"theory {figure} takes no study, and {study} was given; give it to `theory place`")
    from transferscope_papers import make as theory_figures  # here, because it takes a second to import

    if figure == "list":
        typer.echo(theory_figures.list_figures())
        return
    chosen = theory_figures.chosen_figure(figure, change or [], quick=quick)
    try:
        made = theory_figures.make_figure(chosen, out, store=store, workers=workers, quiet=quiet)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None
    typer.echo(made.words)
    if made.n_failed:
        raise typer.Exit(1)


def _place(study: str | None, out: Path, examples: int, directions: float | None) -> None:
    if study is None:
        raise SettingsError("theory place needs a study; give its file, as in `transferscope theory place usps.toml`")
    from transferscope.cli.theory_place import place

    typer.echo(place(study, out, examples=examples, directions=directions))
