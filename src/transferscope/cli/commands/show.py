"""What `transferscope show` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import OF_NETWORKS, Settings

EXAMPLES = """transferscope show
transferscope show mnist --fetch
transferscope show csv:houses.csv?label=price
transferscope show hf:models/vit --weights tuned.safetensors"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Without a name, lists the data sets of the catalogue and their locations on this machine."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA|NETWORK|FILE]",
            autocompletion=among("data", "networks"),
            help="Data, as in usps or csv:houses.csv?label=price; a network, as in lenet, hf:FOLDER, timm:NAME or "
            "file.py:factory; or a file of weights. [lists the data sets]",
        ),
    ] = None
    fetch: Annotated[bool, typer.Option("--fetch", help="Download the data set of this name first.")] = False
    network: Annotated[
        str | None,
        typer.Option(autocompletion=among("networks"), help="The architecture of a file of weights. [lenet]"),
    ] = None
    shape: Annotated[
        str | None, typer.Option(help="Shape of an input, as in 3,224,224. [its own, else 3,32,32; of texts 2,32]")
    ] = None
    weights: Annotated[Path | None, typer.Option(help="Weights to load into it: safetensors, or a state dict.")] = None
    settings: Annotated[
        Mapping[str, Any], Settings({"": (OF_NETWORKS,)}, example="widths=20,50,500 input.size=64 head=classifier.1")
    ]
    as_json: AsJson = False
