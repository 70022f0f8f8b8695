"""`transferscope theory bounds`: bounds on the risk of fine-tuning that rank a user's own sources."""

from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.command import Command
from transferscope.cli.options import OutOption, TransformsOption

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def theory() -> None:
    """What exact models say of your own pair of tasks."""


@app.command(cls=Command)
def bounds(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Data, as in usps or csv:houses.csv?label=price.")],
    source: Annotated[
        list[str], typer.Option("--from", metavar="SOURCE ...", help="Data with the same inputs and labels.")
    ],
    labels: Annotated[int, typer.Option(help="Target labels n that fine-tuning sees.")] = 100,
    transforms: TransformsOption = None,
    examples: Annotated[int, typer.Option(help="Source examples, and target examples for its teacher.")] = 1000,
    repeats: Annotated[int, typer.Option(help="Draws of the n labels; errors are those of their mean.")] = 5,
    constant: Annotated[float, typer.Option(help="c of Theorem 4.2, which the theorem leaves open.")] = 1.0,
    out: OutOption = None,
    as_json: AsJson = False,
) -> None:
    """Bound the risk of fine-tuning from each source.

    The bounds (Shachaf et al. 2021, Theorems 4.2 and 6.1, Corollary 6.3) are loose as numbers; they are for ranking
    sources. Teachers, covariance and the trained network are estimated from the data.
    """
    # here, because it takes a second to import
    from transferscope.cli.answer import conclude
    from transferscope_papers.bounds import bounds as bound

    result = bound(
        target,
        source,
        labels=labels,
        transforms=transforms or (),
        examples=examples,
        repeats=repeats,
        constant=constant,
    )
    conclude(result, out, f"{target}-bounds", as_json=as_json)
