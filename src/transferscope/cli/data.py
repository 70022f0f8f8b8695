"""`transferscope data`: which data sets there are, where they are, and fetching them."""

from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.complete import DATA, among


def data(
    name: Annotated[
        str | None,
        typer.Argument(
            autocompletion=among(DATA), help="Data to look at, as in csv:houses.csv?label=price. [lists the catalogue]"
        ),
    ] = None,
    fetch: Annotated[
        list[str] | None,
        typer.Option(autocompletion=among(DATA), help="Download these data sets, as in --fetch mnist usps."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets of the catalogue and where they are on this machine; download some with --fetch.

    With a name, say what its labels and inputs are taken for, and of a table what each column becomes.
    """
    if name is not None:
        _show(name, as_json=as_json)
        return
    from transferscope.data.catalogue import CATALOGUE, locate
    from transferscope.data.catalogue import fetch as fetch_entry
    from transferscope.data.places import cache_folder, data_folder
    from transferscope.errors import unknown_name

    for name in fetch or []:
        if name not in CATALOGUE:
            raise unknown_name("data set", name, CATALOGUE)
        fetch_entry(CATALOGUE[name])
    located = {name: locate(entry) for name, entry in CATALOGUE.items()}
    if as_json:
        sets = [
            {
                "name": name,
                "title": CATALOGUE[name].title,
                "licence": CATALOGUE[name].licence,
                "state": found.form,
                "files": [str(file) for file in found.files.values()],
            }
            for name, found in located.items()
        ]
        folder = data_folder()
        folders = {"cache": str(cache_folder()), "data_folder": None if folder is None else str(folder)}
        print_json("data", {"data_sets": sets, **folders})
        return
    for name, found in located.items():
        entry = CATALOGUE[name]
        place = {"absent": f"absent; transferscope data --fetch {name}", "bundled": "comes with scikit-learn"}
        typer.echo(f"{name:<15}{place.get(found.form) or ', '.join(str(file) for file in found.files.values())}")
        typer.echo(f"{'':<15}{entry.title}; licence: {entry.licence}")
    typer.echo(f"\nDownloads go to {cache_folder()}; TRANSFERSCOPE_DATA is {data_folder() or 'not set'}.")
    typer.echo(
        "Your own data: npz:PATH, folder:PATH, csv:PATH?label=COLUMN, parquet:PATH?label=COLUMN, text:PATH, "
        "hf-dataset:PATH; and glyphs. What one is taken for: transferscope data NAME"
    )


def _show(name: str, *, as_json: bool) -> None:
    import json

    from transferscope.data import load

    found = load(name)
    understood = found.provenance.get("understood", f"{found.train.kind}, {found.train.n_outputs} outputs")
    columns = json.loads(found.provenance.get("columns", "[]"))
    if as_json:
        classes = found.train.classes
        facts = {
            "name": found.name,
            "kind": found.train.kind,
            "train": len(found.train),
            "test": len(found.test),
            "input_shape": list(found.train.input_shape),
            "outputs": found.train.n_outputs,
            "classes": None if classes is None else list(classes),
            "understood": understood,
            "columns": [{"column": column, "read_as": words, "features": n} for column, words, n in columns],
        }
        print_json("data", facts)
        return
    shape = " x ".join(map(str, found.train.input_shape))
    typer.echo(f"{found.name}: {len(found.train):,} training and {len(found.test):,} test examples, inputs {shape}")
    typer.echo(understood)
    widest = max((len(column) for column, _, _ in columns), default=0)
    for column, words, n in columns:
        typer.echo(f"  {column:<{widest}}  {n:>3} {'feature ' if n == 1 else 'features'}  {words}")
