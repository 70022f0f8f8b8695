"""What `transferscope diagnose` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import (
    OF_NETWORKS,
    NetworkOption,
    OutOption,
    QuietOption,
    Settings,
    Short,
    StudyName,
    TransformsOption,
)
from transferscope.settings.data import DataSettings
from transferscope.settings.questions import DiagnoseQuestion

EXAMPLES = """transferscope diagnose usps.toml
transferscope diagnose net.safetensors --data usps --against start.safetensors
transferscope diagnose net.pt --data usps --from mnist --set diagnostics.curvature.k=5"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """For a study, it takes the best transfer arm. Without --diagnostics, it measures the fast ones that apply."""

    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="NETWORK|STUDY",
            help="Trained weights: safetensors, or a state dict; or a finished study or its store.",
        ),
    ]
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", autocompletion=among("data"), help="Data to measure a network on, as in usps or npz:PATH."
        ),
    ] = None
    against: Annotated[Path | None, typer.Option(metavar="FILE", help="The initial weights, before training.")] = None
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="DATA", autocompletion=among("data"), help="The source data, to compare tasks."),
    ] = None
    diagnostics: Annotated[
        list[str] | None,
        typer.Option(autocompletion=among("diagnostics"), help="Diagnostics by name. [all that apply and are fast]"),
    ] = None
    transforms: TransformsOption = None
    network: NetworkOption = "lenet"
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {"": (DiagnoseQuestion,), "diagnostics.NAME": (), "network": (OF_NETWORKS,), "source": (DataSettings,)},
            {"labels": Short("labels", default="all"), "seed": Short("seed")},
            "part=target_test diagnostics.curvature.k=5 network.widths=8,4",
        ),
    ]
    study: StudyName = None
    out: OutOption = None
    quiet: QuietOption = False
    as_json: AsJson = False
