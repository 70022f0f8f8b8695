"""What `transferscope export` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import StudyName

EXAMPLES = """transferscope export usps.toml --out net --method fine-tune --from mnist"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """If the study kept no network of the run, it is trained again with the same result."""

    place: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file or a store.")]
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write; created if missing.")]
    method: Annotated[
        str | None, typer.Option(autocompletion=among("methods"), help="The method's name. [the recommended arm]")
    ] = None
    source: Annotated[str | None, typer.Option("--from", help="The source. [that of the recommended arm]")] = None
    labels: Annotated[int | None, typer.Option(min=1, help="Number of labels. [the largest that is decided]")] = None
    seed: Annotated[int | None, typer.Option(min=0, help="The seed of the run. [the lowest]")] = None
    study: StudyName = None
    as_json: AsJson = False
