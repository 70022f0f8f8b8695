"""What `transferscope demo` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson

EXAMPLES = """transferscope demo --out demo-out"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Every method has its default settings, without a hyperparameter search, so that it takes a minute."""

    out: Annotated[Path, typer.Option(help="Folder for the study file, the results and the report.")] = Path("demo-out")
    as_json: AsJson = False
