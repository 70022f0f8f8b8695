"""What `transferscope diagnose` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import (
    MACHINE,
    NETWORK,
    HeadOption,
    InputOption,
    NetworkOption,
    OutOption,
    QuietOption,
    StudyName,
    Takes,
    TransformsOption,
    WidthsOption,
    of,
)
from transferscope.settings.engine import EngineSettings
from transferscope.settings.questions import DiagnoseQuestion

EXAMPLES = """transferscope diagnose net.safetensors --data usps --against start.safetensors
transferscope diagnose net.pt --data usps --from mnist --diagnostics curvature
transferscope diagnose usps.toml --map --out maps"""

PANELS = {NETWORK: "source_transforms scaling"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Without --diagnostics it measures what applies and is quick; --against and --from make more apply."""

    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="NETWORK|STUDY",
            help="Trained weights: safetensors, or a state dict; with --map a finished study or its store.",
        ),
    ]
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", autocompletion=among("data"), help="What to measure on, as in usps or npz:PATH."),
    ] = None
    against: Annotated[Path | None, typer.Option(metavar="FILE", help="The weights that training started from.")] = None
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="DATA", autocompletion=among("data"), help="The source data, to compare tasks."),
    ] = None
    diagnostics: Annotated[
        list[str] | None,
        typer.Option(autocompletion=among("diagnostics"), help="By name. [all that apply and are quick]"),
    ] = None
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME.SETTING=VALUE ...", help="Settings of them, as in curvature.k=5."),
    ] = None
    transforms: TransformsOption = None
    source_transforms: Annotated[
        list[str] | None, typer.Option(help="Transformations of the source data. [those of the data]")
    ] = None
    network: NetworkOption = "lenet"
    widths: WidthsOption = None
    input: InputOption = None
    head: HeadOption = None
    scaling: Annotated[
        str | None,
        of(DiagnoseQuestion, "scaling", default="as the file says, else own", metavar="own|none|MEAN/STD"),
    ] = None
    asked: Annotated[
        Mapping[str, Any], Takes(DiagnoseQuestion, "examples part labels seed", defaults={"labels": "all"})
    ]
    weight_map: Annotated[bool, typer.Option("--map", help="A t-SNE map of the networks of a study.")] = False
    study: StudyName = None
    engine: Annotated[Mapping[str, Any], Takes(EngineSettings, "device", MACHINE)]
    out: OutOption = None
    quiet: QuietOption = False
    as_json: AsJson = False
