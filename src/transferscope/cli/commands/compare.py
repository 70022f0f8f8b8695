"""What `transferscope compare` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import OF_STUDIES, Settings, Short

EXAMPLES = """transferscope compare digits --from glyphs mnist --labels 50 200
transferscope compare npz:mine.npz --from hf:models/vit --labels 200 --minutes 20
transferscope compare usps --from mnist --set training.lr=0.01 engine.device=cuda"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Make the most informative runs, per second, until it is decided whether transfer helps and which arm to use.
    After Ctrl-C, the same command resumes; so does `transferscope run` with the study file.
    """

    target: Annotated[
        str, typer.Argument(metavar="TARGET", autocompletion=among("data"), help="Data, as in usps or npz:PATH.")
    ]
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="SOURCE ...", autocompletion=among("data"), help="Data, and networks such as hf:FOLDER."
        ),
    ] = None
    methods: Annotated[
        list[str] | None, typer.Option(autocompletion=among("methods"), help="Methods by name. [usual methods]")
    ] = None
    diagnostics: Annotated[
        list[str] | None, typer.Option(autocompletion=among("diagnostics"), help="Diagnostics by name.")
    ] = None
    recipe: Annotated[
        Literal["field", "equal"], typer.Option(help="The usual recipe of each method, or equal budgets for all.")
    ] = "field"
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {name: kind for name, kind in OF_STUDIES.items() if name},
            {
                "labels": Short("target.labels"),
                "seeds": Short("seeds", int, "Repetitions. [until decided, 12 at most]", least=1),
                "minutes": Short("race.minutes", default="no limit"),
                "margin": Short("decision.margin", default="1"),
                "metric": Short("target.metric", default="by labels"),
                "network": Short(
                    "network.name",
                    str,
                    "The architecture. [that of the first pretrained source; or lenet, mlp]",
                    completes=("networks",),
                ),
                "steps": Short("training.steps", default="by recipe"),
                "workers": Short("engine.workers", default="by machine"),
            },
            "training.lr=0.01 engine.device=cuda race.runs=20 methods.l2-sp.beta=1",
        ),
    ]
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for study file, results and report.")] = Path(
        "runs"
    )
    as_json: AsJson = False
