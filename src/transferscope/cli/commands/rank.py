"""What `transferscope rank` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import (
    DeviceOption,
    HeadOption,
    InputOption,
    NetworkOption,
    OutOption,
    StudyName,
    TransformsOption,
    WidthsOption,
)

EXAMPLES = """transferscope rank usps --from a.safetensors b.safetensors --labels 100
transferscope rank folder:photos --from timm:resnet18.a1_in1k hf:models/vit
transferscope rank usps.toml"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Of a finished study, also how well each score would have chosen, given what transfer really gave; its report
    shows this from then on.
    """

    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET|STUDY",
            autocompletion=among("data"),
            help="Data to transfer to, as in usps or npz:PATH; or alone, a finished study or its store.",
        ),
    ]
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="NETWORK ...", help="Files of weights, and networks such as hf:FOLDER or timm:NAME."
        ),
    ] = None
    labels: Annotated[int | None, typer.Option(min=1, help="Labelled examples to compute scores on. [100]")] = None
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions: draws of so many labels.")] = 3
    scores: Annotated[list[str] | None, typer.Option(autocompletion=among("scores"), help="Scores by name. [all]")] = (
        None
    )
    transforms: TransformsOption = None
    network: NetworkOption = "lenet"
    widths: WidthsOption = None
    input: InputOption = None
    head: HeadOption = None
    method: Annotated[
        str | None, typer.Option(help="Of a study: the method that scores are held against. [fine-tune, if any]")
    ] = None
    study: StudyName = None
    device: DeviceOption = None
    out: OutOption = None
    as_json: AsJson = False
