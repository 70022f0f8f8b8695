"""`transferscope data`: which data sets there are, where they are, and fetching them."""

from typing import Annotated

import typer


def data(
    name: Annotated[
        str | None, typer.Argument(help="Data to look at, as in csv:houses.csv?label=price. [lists the catalogue]")
    ] = None,
    fetch: Annotated[list[str] | None, typer.Option(help="Download these data sets, as in --fetch mnist usps.")] = None,
) -> None:
    """List the data sets of the catalogue and where they are on this machine; download some with --fetch.

    With a name, say what its labels and inputs are taken for, and of a table what each column becomes.
    """
    if name is not None:
        _show(name)
        return
    from transferscope.data.catalogue import CATALOGUE, locate
    from transferscope.data.catalogue import fetch as fetch_entry
    from transferscope.data.places import cache_folder, data_folder
    from transferscope.errors import unknown_name

    for name in fetch or []:
        if name not in CATALOGUE:
            raise unknown_name("data set", name, CATALOGUE)
        fetch_entry(CATALOGUE[name])
    for name, entry in CATALOGUE.items():
        found = locate(entry)
        place = {"absent": f"absent; transferscope data --fetch {name}", "bundled": "comes with scikit-learn"}
        typer.echo(f"{name:<15}{place.get(found.form) or ', '.join(str(file) for file in found.files.values())}")
        typer.echo(f"{'':<15}{entry.title}; licence: {entry.licence}")
    typer.echo(f"\nDownloads go to {cache_folder()}; TRANSFERSCOPE_DATA is {data_folder() or 'not set'}.")
    typer.echo(
        "Your own data: npz:PATH, folder:PATH, csv:PATH?label=COLUMN, parquet:PATH?label=COLUMN, text:PATH, "
        "hf-dataset:PATH; and glyphs. What one is taken for: transferscope data NAME"
    )


def _show(name: str) -> None:
    """What a data set is taken for."""
    import json

    from transferscope.data import load

    found = load(name)
    shape = " x ".join(map(str, found.train.input_shape))
    typer.echo(f"{found.name}: {len(found.train):,} training and {len(found.test):,} test examples, inputs {shape}")
    typer.echo(found.provenance.get("understood", f"{found.train.kind}, {found.train.n_outputs} outputs"))
    columns = json.loads(found.provenance.get("columns", "[]"))
    widest = max((len(column) for column, _, _ in columns), default=0)
    for column, words, n in columns:
        typer.echo(f"  {column:<{widest}}  {n:>3} {'feature ' if n == 1 else 'features'}  {words}")
