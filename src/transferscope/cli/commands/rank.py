"""What `transferscope rank` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import (
    OF_NETWORKS,
    NetworkOption,
    OutOption,
    Settings,
    Short,
    StudyName,
    TransformsOption,
)
from transferscope.settings.questions import RankQuestion

EXAMPLES = """transferscope rank usps --from a.safetensors b.safetensors --labels 100
transferscope rank folder:photos --from timm:resnet18.a1_in1k hf:models/vit
transferscope rank usps.toml"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """For a finished study, also reports the regret of choosing by each score, given the actual results; its report
    then shows this.
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
    transforms: TransformsOption = None
    network: NetworkOption = "lenet"
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {"": (RankQuestion,), "network": (OF_NETWORKS,)},
            {
                "labels": Short("labels"),
                "seeds": Short("seeds"),
                "scores": Short("scores", default="all", completes=("scores",)),
            },
            "device=cuda network.input.size=64; of a study, method=l2-sp",
        ),
    ]
    study: StudyName = None
    out: OutOption = None
    as_json: AsJson = False
