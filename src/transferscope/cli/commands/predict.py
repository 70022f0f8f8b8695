"""What `transferscope predict` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among

EXAMPLES = """transferscope predict net photos/ --out predictions.csv"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Inputs are read like the data of the study."""

    folder: Annotated[Path, typer.Argument(help="A folder written by `transferscope export`.")]
    data: Annotated[
        str,
        typer.Argument(
            autocompletion=among("data"),
            help="A folder of images, one image, npz:PATH, csv:PATH, or other data by name.",
        ),
    ]
    out: Annotated[Path, typer.Option(metavar="FOLDER|FILE.csv", help="The table to write, one row per input.")]
    as_json: AsJson = False
