"""`transferscope data`: which data sets there are, where they are, and fetching them."""

from typing import Annotated

import typer


def data(
    fetch: Annotated[list[str] | None, typer.Option(help="Download these data sets, as in --fetch mnist usps.")] = None,
) -> None:
    """List the data sets of the catalogue and where they are on this machine; download some with --fetch."""
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
    typer.echo("Your own data: npz:PATH, folder:PATH, csv:PATH?label=COLUMN, parquet:PATH?label=COLUMN; and glyphs.")
